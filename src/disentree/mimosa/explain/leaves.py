"""What is free in a leaf, in terms of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr

from disentree.mimosa.explain.columns import Columns, level_text, listed
from disentree.mimosa.explain.relations import HOLDS, Relation, find_relations

MOST_TOLD = 8  # directions that are told by a column each
MOST_ROWS = 2000  # of a leaf that its directions are read from
MOST_RELATIONS = 4  # in one sentence


@dataclass(frozen=True)
class LeafText:
    """What is said about a leaf."""

    text: str
    columns: tuple[str, ...]  # that tell where in the leaf a row is
    relations: tuple[str, ...]


def describe_leaf(columns: Columns, rows: Int[np.ndarray, " m"], dimension: int) -> LeafText:
    """The columns that are constant in a leaf, those that follow from others, and those that vary.

    Parameters
    ----------
    columns : Columns
    rows : array of shape (m,)
        Of the leaf.
    dimension : int
        Its free directions.

    Returns
    -------
    LeafText
    """
    relations = find_relations(columns, rows)
    fixed = [r for r in relations if r.kind == "constant"]
    tied = [r for r in relations if r.kind != "constant"]
    empty = columns.empty[rows].mean(axis=0) >= HOLDS if len(rows) else np.ones(len(columns.names), bool)
    p = len(columns.number_names)
    follow = {j for r in tied for j in _followers(r)}
    constant = {j for r in fixed for j in r.columns}
    vary = [j for j in range(p) if not empty[j] and j not in constant | follow]
    levels, same = [], []
    for j, name in enumerate(columns.category_names):
        if empty[p + j]:
            continue
        values = columns.categories[rows, j]
        counts = np.bincount(values[values >= 0], minlength=1)
        if counts.max() >= HOLDS * len(rows):
            same.append(f"{name} is {level_text(columns.levels[j][int(counts.argmax())])}")
        else:
            levels.append(name)
    picked = _telling(columns.numbers[rows][:, vary], dimension)
    names = [columns.number_names[vary[k]] for k in picked]
    parts = [_directions(dimension, names, len(vary), len(levels))]
    if tied:
        parts.append(listed([r.text for r in tied], MOST_RELATIONS))
    if fixed or same:
        parts.append(listed([*(r.text for r in fixed), *same], MOST_RELATIONS))
    if empty.any():
        gone = [columns.names[j] for j in np.flatnonzero(empty)]
        parts.append(f"{listed(gone)} {'is' if len(gone) == 1 else 'are'} empty")
    return LeafText("; ".join(parts) + ".", tuple(names), tuple(r.text for r in relations))


def _followers(relation: Relation) -> tuple[int, ...]:
    """The columns of a relation that follow from the others."""
    return relation.columns[1:] if relation.kind == "equal" else relation.columns[:1]


def _directions(dimension: int, names: list[str], n_varying: int, n_levels: int) -> str:
    many = f"{dimension} free direction{'s' * (dimension != 1)}"
    if not dimension:
        return "Nothing varies here"
    categories = f", and {n_levels} column{'s' * (n_levels != 1)} of categories" if n_levels else ""
    if not names:
        return f"{many}{' among ' + categories[6:] if n_levels else ''}"
    if n_varying <= dimension:
        return f"{many}: {listed(names, 6)} {'varies' if len(names) == 1 else 'vary'} freely{categories}"
    told = f", best told by {listed(names, MOST_TOLD)}" if dimension <= MOST_TOLD else ""
    return f"{many} among {n_varying} columns of numbers{categories}{told}"


def _telling(X: Float[np.ndarray, "m k"], dimension: int) -> list[int]:
    """Columns that say most about where a row is: each the one with the largest part that those before it do not
    explain."""
    if X.shape[1] <= dimension or not len(X):
        return list(range(X.shape[1]))
    X = X[np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(int)]
    there = ~np.isnan(X)
    X = np.where(there, X, np.nanmedian(np.where(there.any(axis=0), X, 0.0), axis=0))
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    X = X / np.where(spread > 1e-12 * np.abs(X).max(axis=0, initial=1e-300), spread, np.inf)
    # The first pivot is the column most like all others: the sizes of standardized columns say nothing.
    first = int(np.round(np.square(X.T @ X).sum(axis=0), 9).argmax())
    rest = X - np.outer(X[:, first], X[:, first] @ X / max(float(X[:, first] @ X[:, first]), 1e-300))
    rest[:, first] = 0.0
    _, order = cast(Any, qr(rest, mode="r", pivoting=True))
    return [first, *(int(j) for j in order if j != first)][:dimension]
