"""Hypothesis strategies: any hierarchy at all, and codes that fit it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from disentree import Hierarchy

MAX_PATHS = 60
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def trees(draw: st.DrawFn, *, max_depth: int = 2, max_categoricals: int = 2, named: bool | None = None):
    """A dict for `Hierarchy.from_dict`. Some names are left out, or all (`named=False`), or none (`True`)."""

    def name() -> dict[str, str]:
        given = draw(st.booleans()) if named is None else named
        return {"name": draw(names)} if given else {}

    def group(depth: int) -> dict[str, Any]:
        n_continuous = draw(st.integers(0, 2))
        n_categorical = draw(st.integers(0, max_categoricals)) if depth < max_depth else 0
        kinds = draw(st.permutations(["continuous"] * n_continuous + ["categorical"] * n_categorical))
        variables: list[dict[str, Any]] = []
        for kind in kinds:
            variable: dict[str, Any] = {"kind": kind, **name()}
            if kind == "categorical":
                n_options = draw(st.integers(1, 3))
                variable["options"] = [{**name(), **group(depth + 1)} for _ in range(n_options)]
            variables.append(variable)
        return {"variables": variables}

    return group(0)


def hierarchies(**kwargs: Any) -> st.SearchStrategy[Hierarchy]:
    """Any hierarchy; `max_categoricals=1` for those of the paper, which have at most one in a group."""
    made = trees(**kwargs).map(Hierarchy.from_dict)
    return made.filter(lambda h: h.root.n_paths <= MAX_PATHS)


@st.composite
def coded(draw: st.DrawFn, *, min_rows: int = 0, max_rows: int = 40, **kwargs: Any):
    """A hierarchy and codes for it."""
    hierarchy = draw(hierarchies(**kwargs))
    n_rows = draw(st.integers(min_rows, max_rows))
    return hierarchy, hierarchy.sample(n_rows, np.random.default_rng(draw(st.integers(0, 2**32))))


def shuffled(tree: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same tree with variables and options in another order."""
    variables = []
    for variable in tree["variables"]:
        variable = dict(variable)
        if "options" in variable:
            variable["options"] = [shuffled(option, rng) for option in variable["options"]]
            rng.shuffle(variable["options"])
        variables.append(variable)
    rng.shuffle(variables)
    return {**tree, "variables": variables}
