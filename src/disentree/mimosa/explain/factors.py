"""Factors of a product: categoricals beside each other at the root, each with its own reason and support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linear_sum_assignment

from disentree.hierarchy import Hierarchy


def factor_columns(hierarchy: Hierarchy) -> list[int]:
    """Columns of the categoricals that are chosen independently of each other at the root.

    Parameters
    ----------
    hierarchy : Hierarchy

    Returns
    -------
    list of int
        Empty if there are fewer than two.
    """
    found = [v.index for v in hierarchy.variables if v.kind == "categorical" and v.parent is None]
    return found if len(found) > 1 else []


def factors_of(hierarchy: Hierarchy) -> list[dict[str, Any]]:
    """The factors of a product as they stand in its hierarchy.

    Parameters
    ----------
    hierarchy : Hierarchy

    Returns
    -------
    list of dict
        `name`, `column`, `options` and `variables` (how many each option adds); empty if it is not a product.
    """
    return [
        {
            "name": hierarchy.variables[column].name,
            "column": column,
            "options": list(hierarchy.variables[column].options),
            "variables": [
                _opened(hierarchy, column, k).count("continuous")
                for k in range(hierarchy.variables[column].n_options)
            ],
        }
        for column in factor_columns(hierarchy)
    ]


def describe_factors(
    hierarchy: Hierarchy,
    splits: Mapping[tuple[int, int], Mapping[str, Any]],
    what_varies: Callable[[int], list[tuple[str, int, float]]],
) -> list[dict[str, Any]]:
    """What each factor of a product decides.

    Parameters
    ----------
    hierarchy : Hierarchy
    splits : dict
        What is said about each option, by column and number: `name`, `share` and `columns`.
    what_varies : callable
        From the column of a categorical to columns of the data that vary more for one of its options, with the
        option and how many times the variance: asked for choices that no column by itself tells.

    Returns
    -------
    list of dict
        `name`, `column`, `options`, `variables` (how many each option adds), `columns` (those that the reasons for
        its options name), `reason` (what varies with it, if they name none) and `text`; empty if the tree is not a
        product.
    """
    factors, out = factors_of(hierarchy), []
    for factor in factors:
        column = factor["column"]
        variable = hierarchy.variables[column]
        own = [splits[column, k] for k in range(variable.n_options)]
        below = [_opened(hierarchy, column, k) for k in range(variable.n_options)]
        options = [f"{s['name']} ({s['share']:.1%}) {_adds(b)}" for s, b in zip(own, below, strict=True)]
        told = list(dict.fromkeys(name for split in own for name in split["columns"]))
        reason = ""
        if not told and (varying := what_varies(column)):
            told = [name for name, _, _ in varying]
            more = ", ".join(f"{name} ({times:.1f} times the variance)" for name, _, times in varying)
            reason = f"Where {own[varying[0][1]]['name']}, these vary more: {more}."
        parts = ", ".join(options)
        beside = f"{len(factors) - 1} other choice{'s' * (len(factors) > 2)}"
        out.append(
            {
                **factor,
                "columns": told,
                "reason": reason,
                "text": f"{variable.name}, beside {beside}: {parts}. {reason}".strip(),
            }
        )
    return out


def _opened(hierarchy: Hierarchy, column: int, option: int) -> list[str]:
    """Kinds of the variables of the group that an option opens."""
    return [v.kind for v in hierarchy.variables if (v.parent, v.option) == (column, option)]


def _adds(kinds: Sequence[str]) -> str:
    parts = []
    for kind, word in (("continuous", "variable"), ("categorical", "choice")):
        n = kinds.count(kind)
        if n:
            parts.append(f"{n} {word}{'s' * (n != 1)}")
    return f"adds {' and '.join(parts)}" if parts else "adds nothing"


def factor_likeness(
    hierarchy: Hierarchy, again: Hierarchy, both: Float[np.ndarray, "paths again"]
) -> list[float | None]:
    """How alike each factor is to the categorical of another tree that divides the same rows most like it.

    Two categoricals are as alike as their least alike options are (Jaccard index of their rows), once options are
    paired. One with fewer options is not like it at all, wherever in the other tree it stands.

    Parameters
    ----------
    hierarchy, again : Hierarchy
    both : array of shape (paths, again's paths)
        Rows by their path in either tree.

    Returns
    -------
    list of float or None
        One for each of `factor_columns`; None for a factor of which rows have fewer than two options.
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
    """Of unions of paths: rows that two have in common, as a part of those that either has.

    Parameters
    ----------
    both : array of shape (paths, again)
        Rows by their path in either tree.
    groups : array of bool of shape (paths, a)
        Which paths of the first tree are in which union.
    others : array of bool of shape (again, b)
        The same of the second.

    Returns
    -------
    array of shape (a, b)
    """
    common = groups.T.astype(float) @ both @ others.astype(float)
    either = (both.sum(axis=1) @ groups)[:, None] + (both.sum(axis=0) @ others)[None, :] - common
    return common / np.maximum(either, 1.0)
