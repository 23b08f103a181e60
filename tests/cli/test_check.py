"""`disentree check`, and options that do not apply to any command (`options.py`)."""

import re

import numpy as np
import pandas as pd
import pytest

from disentree.cli import app as cli
from disentree.cli.options import settings_from, types_from
from disentree.datasets.files import sampling
from disentree.errors import UserError
from shell import invoke, is_one_sentence


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(300),
            "price": [f"${value:,.2f}" for value in rng.lognormal(9, 1, 300)],
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.integers(20, 80, 300),
            "note": [f"text {i}" for i in range(300)],
            "day": pd.date_range("2020-01-01", periods=300).astype(str),
            "gone": "",
        }
    )
    frame.loc[::3, "age"] = None
    frame.to_csv("t.csv", index=False)
    return frame


def rows_of(stdout):
    return {line.split()[0]: line for line in stdout.splitlines() if line.strip()}


def test_one_table_says_what_each_column_is(table, tmp_path):
    result = invoke("check", "t.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("t.csv: 300 rows, 7 columns\n")
    rows = rows_of(result.stdout)
    assert "left out (identifier)" in rows["id"]
    assert re.search(r"number .*logarithm", rows["price"])
    assert "2 values: f, m" in rows["sex"]
    assert re.search(r"integer +100", rows["age"])
    assert "left out (identifier)" in rows["note"]
    assert "date" in rows["day"]
    assert "left out (empty)" in rows["gone"]
    assert "column 'price': '$' and thousands separators left out" in result.stdout
    assert "`disentree run t.csv --out FOLDER` would find the tree" in result.stdout
    assert "--types COLUMN=KIND" in result.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]  # nothing is written


def test_it_can_be_told_otherwise(table):
    words = "--types id=integer,age=category --drop price --drop sex,note --max-missing .5"
    rows = rows_of(invoke("check", "t.csv", *words.split()).stdout)
    assert "integer" in rows["id"]
    assert "category" in rows["age"]
    assert all("left out (dropped)" in rows[name] for name in ("price", "sex", "note"))


def test_of_a_large_file_the_head_is_read_and_told(table, monkeypatch):
    monkeypatch.setattr(sampling, "HEAD_CELLS", 10)
    pd.concat([table] * 4).to_csv("long.csv", index=False)
    result = invoke("check", "long.csv")
    assert "the first 1,000 rows, which stand for all others here" in result.stdout


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(200, 3)))
    result = invoke("check", tmp_path / "a.npy")
    assert result.exit_code == 0, result.stderr
    assert "(3 features)" in result.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("none.csv", "there is no file none.csv"),
        ("t.csv --drop z", "there is no column 'z'"),
        ("t.csv --types sex=thing", "--types takes COLUMN=KIND"),
        ("t.csv --log sex", "no logarithm of 'sex'"),
        ("t.csv --image-size 9", "--image-size does not apply: t.csv is a table"),
        ("few.csv", "has 2 usable rows; at least 3 are needed"),
    ],
)
def test_mistakes_are_one_sentence(table, words, sentence):
    table[["age", "sex"]][1:4].to_csv("few.csv", index=False)
    result = invoke("check", *words.split())
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result)


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("datasets spaceshapes --seed 3", "--seed is for data that is written or drawn"),
        ("datasets --seed 3", "give the name of a data set"),
        ("study --seeds 3", "give the name of a study"),
        ("study report --seeds 3", "--seeds is not an option of `disentree study report`"),
        ("study table1 --address tcp://a:1", "--address is that of a Dask scheduler"),
        ("score r --force", "--force is for the file named by --out"),
        ("explore r --export p.html --port 80", "--port is for a server, and --export starts none"),
        ("mimosa t.csv --out r --structure true", "--structure must be mimosa or mimosa-paper"),
        ("run t.csv --out r --hierarchy h --labels l --structure mimosa", "--structure says where the tree comes"),
    ],
)
def test_options_that_do_nothing_are_refused(table, words, sentence):
    result = invoke(*words.split())
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result)


def test_one_thing_has_one_name():
    for command in cli.COMMANDS:
        text = invoke(command, "--help").stdout
        assert "<bool>" not in text
        for old in ("--jobs", "--mimosa", "--paper", "--max-rows", "--categorical"):
            assert f"{old} " not in text
    for command in ("run", "mimosa", "score", "study"):
        assert "--n-jobs" in invoke(command, "--help").stdout
    for command in ("run", "mimosa"):
        assert "--set" in invoke(command, "--help").stdout


def test_words_of_options():
    assert types_from(["a=category,b c=number", "x=1=date"]) == {"a": "category", "b c": "number", "x=1": "date"}
    assert settings_from(["a=1", "mimosa.b=[2]", "c=x=y"]) == ({"a": 1, "c": "x=y"}, {"b": [2]})
    for wrong in ("a", "mimosa.=3", "a b=3"):
        with pytest.raises(UserError, match="--set takes NAME=VALUE"):
            settings_from([wrong])
