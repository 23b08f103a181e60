"""The page in every folder that a model is saved to."""

import re

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.saving.model_card import CARD, model_card


@pytest.fixture(scope="module")
def model():
    X = load_dataset("blobs", n_samples=300, seed=0).X
    return MIMOSA(n_neighbors=30).fit(pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])]))


def test_it_says_what_the_model_is(model):
    card = model_card(model)
    assert card.startswith("---\nlibrary_name: disentree\n")
    n = len(model.hierarchy_.paths)
    assert f"# MIMOSA with {n} leaves" in card
    assert model.verdict_ in card
    assert "- rows: 300" in card
    assert "`g0`" in card
    assert "- `n_neighbors=30`" in card
    assert "random_state" not in card  # the default
    assert f"{model.saved_bits_:.2f} ± {model.saved_bits_doubt_:.2f}" in card


def test_its_example_runs(model, tmp_path):
    model.save(tmp_path)
    card = (tmp_path / CARD).read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", card, re.DOTALL).group(1).replace("this folder", str(tmp_path))
    X = pd.DataFrame(model._rows)
    names = {"X": X}
    exec(code, names)
    np.testing.assert_array_equal(names["model"].predict(X), model.labels_)
    assert model_card(names["model"]) == card  # the same for a loaded model


def test_many_columns_are_counted():
    X = np.random.default_rng(0).normal(size=(60, EXPLAIN.many + 3))
    model = MIMOSA().fit(pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])]))
    card = model_card(model)
    assert f"`g{EXPLAIN.many - 1}` and 3 more" in card
    assert "# MIMOSA with 1 leaf\n" in card


def test_names_stay_in_their_place():
    X = np.random.default_rng(0).normal(size=(60, 3))
    names = ["a`b", "c\n\n# Title\n<script>", "```\n[x](http://x)"]
    model = MIMOSA().fit(pd.DataFrame(X, columns=names))
    model.rename({model.hierarchy_.variables[0].name: "```\n# Out"})
    card = model_card(model)
    assert "- columns: `a'b`, `c # Title <script>`, `''' [x](http://x)`\n" in card
    assert card.count("```") == 4  # the tree, and the example
    assert re.search(r"## What was found\n\n.*```\n.*# Out.*?\n```\n\n.*## Data", card, re.DOTALL)
    assert "\n# Out" not in card.partition("```")[0]
