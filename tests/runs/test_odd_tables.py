"""Tables as they come, from the command line: a tree, or one clear sentence. Covers `data.py` and `reading.py`."""

from importlib import resources

import numpy as np
import pandas as pd
import pytest

from disentree.runs import Run
from shell import invoke, is_one_sentence


def tables(rng):
    """By name: a table, and what must be said about it."""
    plain = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    commas = plain.round(3).astype(str)
    commas["a"] = [s.replace(".", ",") if i % 2 else s for i, s in enumerate(commas["a"])]
    typo = plain.copy()
    typo.loc[5, "a"] = 1e12
    gaps = plain.assign(b=plain["b"].mask(rng.random(200) < 0.3))
    words = pd.DataFrame({name: rng.choice(list("xyz"), 200) for name in "abc"})
    return {
        "categories": (words, "3 columns: 3 of categories"),
        "one column": (plain[["a"]], "1 column standardized"),
        "one category": (words[["a"]], "1 column: 1 of categories"),
        "a hundred rows": (plain[:100], "3 columns standardized"),
        "an empty column": (plain.assign(e=np.nan), "left out column 'e': every cell is empty"),
        "decimal commas": (commas, "column 'a': decimal commas and decimal points"),
        "a typing mistake": (typo, "column 'a': 1 cell as far out as 1e+12"),
        "dates": (plain.assign(day=pd.date_range("2020-01-01", periods=200)), "1 of dates"),
        "gaps": (gaps, "1 column with empty cells, which stay empty"),
        "large numbers": (plain * 1e300, "3 columns standardized"),
    }


@pytest.mark.parametrize("name", tables(np.random.default_rng(0)))
def test_a_table_ends_in_a_tree(name, tmp_path):
    frame, sentence = tables(np.random.default_rng(0))[name]
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    ask = ("run", tmp_path / "t.csv", "--out", tmp_path / "r", "--preset", "quick", "--device", "cpu")
    result = invoke(*ask, "--no-report")
    assert result.exit_code == 0, result.stderr
    assert sentence in result.stderr
    run = Run.open(tmp_path / "r")
    assert run.about_data["n_rows"] == len(frame)  # no row is lost
    assert np.isfinite(run.metrics["scores_without_truth"]["reconstruction_r2"])
    assert run.metrics["scores_without_truth"]["reconstruction_r2"] > -1
    result = invoke("apply", run.folder, tmp_path / "t.csv", "--out", tmp_path / "z.csv")
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(tmp_path / "z.csv")
    assert len(found) == len(frame)
    if name != "a typing mistake":  # which is believed in a new file
        paths = run.hierarchy.path_of(run.model("cpu").transform(run.data.X))
        np.testing.assert_array_equal(found["path"], paths)


def test_penguins_with_text_and_empty_cells(tmp_path):
    with resources.as_file(resources.files("disentree.datasets").joinpath("data/penguins.csv")) as path:
        ask = ("run", path, "--out", tmp_path / "r", "--preset", "quick", "--device", "cpu", "--no-report")
        result = invoke(*ask, "--drop", "species")
        assert result.exit_code == 0, result.stderr
        run = Run.open(tmp_path / "r")
        assert run.about_data["n_rows"] == 344
        invoke("apply", run.folder, path, "--out", tmp_path / "z.csv", "--keep", "species")
    found = pd.read_csv(tmp_path / "z.csv")
    assert (found["path"] >= 0).all()
    assert set(found["species"]) == {"Adelie", "Chinstrap", "Gentoo"}


def test_a_real_table_by_its_name_is_compared_with_its_label(tmp_path):
    result = invoke("run", "iris", "--out", tmp_path / "r", "--preset", "quick", "--device", "cpu", "--no-report")
    assert result.exit_code == 0, result.stderr
    assert "agreement with the classes" in result.stdout
    run = Run.open(tmp_path / "r")
    scores = run.metrics["scores"]
    assert scores["class_agreement"] > 0.5
    for name in ("class_nmi", "class_accuracy", "dendrogram_purity"):
        assert 0.5 < scores[name] <= 1
    assert "target" not in run.about_data["feature_names"]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"a": [""] * 200, "b": ["x"] * 200}, "has no column to work with"),
        ({"a": ["5"] * 200}, "has no column to work with: left out column 'a': 5 in every row"),
        ({"key": [f"k{i}" for i in range(200)]}, "left out column 'key': an identifier"),
        ({"a": ["1", "2"]}, "has 2 usable rows; at least 3 are needed"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path, cells, sentence):
    pd.DataFrame(cells).to_csv(tmp_path / "t.csv", index=False)
    result = invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r", "--no-report")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert sentence in result.stderr
