"""What the variables of a COFHAE do, in terms of columns."""

import numpy as np
import pandas as pd
import pytest

from disentree import COFHAE, Hierarchy
from disentree.cofhae.explain import explain_variables
from disentree.mimosa.explain.columns import read_columns

H = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "z1"},
            {
                "kind": "categorical",
                "name": "c1",
                "options": [
                    {"name": "stop", "variables": []},
                    {"name": "branch1", "variables": [{"kind": "continuous", "name": "z2"}]},
                ],
            },
        ]
    }
)


def decoded(codes: np.ndarray) -> np.ndarray:
    """Size moves area and, less, rooms; what only some have moves their garage."""
    size, garage = codes[:, 0], np.nan_to_num(codes[:, 2])
    return np.stack([100 + 10 * size, 4 + 0.5 * size + 0 * garage, 20 * garage], axis=1)


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    out = np.stack([rng.uniform(0, 10, 400), np.arange(400) % 2, rng.uniform(1, 2, 400)], axis=1)
    out[out[:, 1] == 0, 2] = np.nan
    return out


def test_moves_from_the_tenth_to_the_ninetieth_percentile(codes):
    names = ["area", "rooms", "garage"]
    columns = read_columns(decoded(codes), names)
    size, garage = explain_variables(H, codes, decoded, columns, lambda rows: read_columns(rows, names))
    here = codes[codes[:, 1] == codes[0, 1]]
    low, high = np.percentile(here[:, 0], [10, 90])
    assert [move["column"] for move in size["moves"]] == ["area", "rooms"]
    assert size["moves"][0]["from"] == pytest.approx(100 + 10 * low, rel=1e-3)
    assert size["moves"][0]["to"] == pytest.approx(100 + 10 * high, rel=1e-3)
    assert size["text"].startswith("z1: area from 1")
    assert size["group"] == []
    assert garage["group"] == ["branch1"]
    assert [move["column"] for move in garage["moves"]] == ["garage"]


def test_a_variable_of_several_paths_is_told_on_each(codes):
    codes[codes[:, 1] == 1, 0] += 20
    names = ["area", "rooms", "garage"]
    columns = read_columns(decoded(codes), names)
    size, garage = explain_variables(H, codes, decoded, columns, lambda rows: read_columns(rows, names))
    assert [there["path"] for there in size["on"]] == [0, 1]
    for there in size["on"]:
        low, high = np.percentile(codes[codes[:, 1] == there["path"], 0], [10, 90])
        assert there["moves"][0]["column"] == "area"
        assert there["moves"][0]["from"] == pytest.approx(100 + 10 * low, rel=1e-3)
        assert there["moves"][0]["to"] == pytest.approx(100 + 10 * high, rel=1e-3)
        assert there["text"].startswith("z1: area from ")
    assert size["moves"] == size["on"][0]["moves"]
    assert "on" not in garage  # one path has it


def test_columns_without_names_leave_the_variables_theirs(codes):
    columns = read_columns(decoded(codes))
    size, _ = explain_variables(H, codes, decoded, columns, read_columns)
    assert size["text"].startswith("z1: x1 from 1")


def test_images_by_their_pixels(codes):
    def images(z):
        out = np.zeros((len(z), 2, 2))
        out[:, 0, 0] = z[:, 0]
        return out

    size, garage = explain_variables(H, codes, images, None, read_columns)
    assert size["text"] == "z1: changes 25% of the pixels"
    assert garage["text"] == "z2: changes 0% of the pixels"


def test_of_a_model(tmp_path):
    rng = np.random.default_rng(0)
    size = rng.uniform(50, 150, 300)
    frame = pd.DataFrame({"area": size, "rent": 9 * size + rng.normal(size=300), "age": rng.uniform(0, 80, 300)})
    model = COFHAE(device="cpu").fit(frame, hierarchy=Hierarchy.flat(2), paths=np.zeros(300, int))
    found = model.explain()
    assert [variable["name"] for variable in found.variables] == ["z1", "z2"]  # the tree is the user's
    first = {variable["moves"][0]["column"] for variable in found.variables}
    assert first in ({"age", "area"}, {"age", "rent"})
    assert "Variables, from their 10th to their 90th percentile:" in str(found)
    model.rename({"z1": "size"}).save(tmp_path)
    loaded = COFHAE.load(tmp_path)
    assert loaded.hierarchy_.variables[0].name == "size"
    with pytest.raises(ValueError, match="has no rows: give X"):
        loaded.explain()
    assert len(loaded.explain(frame).variables) == 2
