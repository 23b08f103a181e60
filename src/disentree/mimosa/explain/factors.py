"""Factors of a product: categoricals beside each other at the root, each with its own reason and support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linear_sum_assignment

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.sentences import factor_sentence, variance_sentence


def factor_columns(hierarchy: Hierarchy) -> list[int]:
    """Columns of the categoricals that are chosen independently of each other at the root; none if there are fewer
    than two."""
    found = [v.index for v in hierarchy.variables if v.kind == "categorical" and v.parent is None]
    return found if len(found) > 1 else []


def factors_of(hierarchy: Hierarchy) -> list[dict[str, Any]]:
    """The factors of a product: `name`, `column`, `options` and `variables` (how many each option adds)."""
    out = []
    for column in factor_columns(hierarchy):
        variable = hierarchy.variables[column]
        added = [_opened(hierarchy, column, k).count("continuous") for k in range(variable.n_options)]
        about = {"name": variable.name, "column": column, "options": list(variable.options), "variables": added}
        out.append(about)
    return out


def describe_factors(
    hierarchy: Hierarchy,
    splits: Mapping[tuple[int, int], Mapping[str, Any]],
    what_varies: Callable[[int], list[tuple[str, int, float]]],
) -> list[dict[str, Any]]:
    """`factors_of` with `columns` (those that the reasons for a factor's options name), `reason` (what varies with
    it, if they name none) and `text`.

    `splits` has what is said about each option by column and number. `what_varies` gives, for the column of a
    categorical, columns of the data that vary more for one of its options, with the option and how many times the
    variance: it is asked for choices that no column by itself tells.
    """
    factors, out = factors_of(hierarchy), []
    for factor in factors:
        column = factor["column"]
        own = [splits[column, k] for k in range(len(factor["options"]))]
        named = list(dict.fromkeys(name for split in own for name in split["columns"]))
        reason = ""
        if not named and (varying := what_varies(column)):
            named = [name for name, _, _ in varying]
            reason = variance_sentence(own[varying[0][1]]["name"], varying)
        options = [(s["name"], s["share"], _opened(hierarchy, column, k)) for k, s in enumerate(own)]
        text = factor_sentence(factor["name"], len(factors), options, reason)
        out.append({**factor, "columns": named, "reason": reason, "text": text})
    return out


def _opened(hierarchy: Hierarchy, column: int, option: int) -> list[str]:
    """Kinds of the variables of the group that an option opens."""
    return [v.kind for v in hierarchy.variables if (v.parent, v.option) == (column, option)]


def factor_likeness(
    hierarchy: Hierarchy, again: Hierarchy, both: Float[np.ndarray, "paths again"]
) -> list[float | None]:
    """How alike each factor is to the categorical of another tree that divides the same rows most like it.

    `both` counts rows by their path in either tree. Two categoricals are as alike as their least alike options are
    (Jaccard index of their rows), once options are paired. One with fewer options is not like it at all, wherever
    in the other tree it stands. None for a factor of which rows have fewer than two options.
    """
    theirs = [_options_of(again, v.index) for v in again.variables if v.kind == "categorical"]
    out: list[float | None] = []
    for column in factor_columns(hierarchy):
        mine = _options_of(hierarchy, column)
        mine = mine[:, (both.sum(axis=1) @ mine) > 0]
        if mine.shape[1] < 2:
            out.append(None)
            continue
        out.append(max((_likeness(both, mine, other) for other in theirs), default=0.0))
    return out


def _options_of(hierarchy: Hierarchy, column: int) -> Bool[np.ndarray, "paths options"]:
    """Which paths have which option of a categorical."""
    n = hierarchy.variables[column].n_options
    chosen = [dict(path.choices).get(column, -1) for path in hierarchy.paths]
    return np.array(chosen)[:, None] == np.arange(n)


def _likeness(
    both: Float[np.ndarray, "paths again"], mine: Bool[np.ndarray, "paths a"], theirs: Bool[np.ndarray, "again b"]
) -> float:
    if theirs.shape[1] < mine.shape[1]:
        return 0.0
    alike = jaccard(both, mine, theirs)
    return float(alike[linear_sum_assignment(-alike)].min())


def jaccard(
    both: Float[np.ndarray, "paths again"],
    groups: Bool[np.ndarray, "paths a"],
    others: Bool[np.ndarray, "again b"],
) -> Float[np.ndarray, "a b"]:
    """Of unions of paths, `groups` of one tree and `others` of another: rows that two have in common, as a part of
    those that either has. `both` counts rows by their path in either tree."""
    common = groups.T.astype(float) @ both @ others.astype(float)
    either = (both.sum(axis=1) @ groups)[:, None] + (both.sum(axis=0) @ others)[None, :] - common
    return common / np.maximum(either, 1.0)
