"""What is free in a leaf, in terms of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.formatting import category_text, empty_columns
from disentree.mimosa.explain.relations import Relation, find_relations
from disentree.mimosa.explain.sentences import leaf_sentence


@dataclass(frozen=True)
class LeafText:
    """What is said about a leaf."""

    text: str
    columns: tuple[str, ...]  # that tell where in the leaf a row is
    relations: tuple[str, ...]


def describe_leaf(columns: Columns, rows: Int[np.ndarray, " m"], dimension: int) -> LeafText:
    """The columns that are constant in a leaf of some free directions, those that follow from others, and those
    that vary."""
    relations, least = find_relations(columns, rows), 1 - FIT.least_share
    fixed = [r for r in relations if r.kind == "constant"]
    tied = [r for r in relations if r.kind != "constant"]
    empty = columns.empty[rows].mean(axis=0) >= least if len(rows) else np.ones(len(columns.names), bool)
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
        if counts.max() >= least * len(rows):
            same.append(f"{name} is {category_text(columns.levels[j][int(counts.argmax())])}")
        else:
            levels.append(name)
    picked = _telling(columns.numbers[rows][:, vary], dimension)
    names = [columns.number_names[vary[k]] for k in picked]
    gone = [columns.names[j] for j in np.flatnonzero(empty)]
    constants = [*(r.text for r in fixed), *same]
    rest = [[r.text for r in tied], constants, [empty_columns(gone)] if gone else []]
    text = leaf_sentence(dimension, names, len(vary), len(levels), rest)
    return LeafText(text, tuple(names), tuple(r.text for r in relations))


def _followers(relation: Relation) -> tuple[int, ...]:
    """The columns of a relation that follow from the others."""
    return relation.columns[1:] if relation.kind == "equal" else relation.columns[:1]


def _telling(X: Float[np.ndarray, "m k"], dimension: int) -> list[int]:
    """Columns that say most about where a row is: each the one with the largest part that those before it do not
    explain."""
    if X.shape[1] <= dimension or not len(X):
        return list(range(X.shape[1]))
    there = ~np.isnan(X)
    X = np.where(there, X, np.nanmedian(np.where(there.any(axis=0), X, 0.0), axis=0))
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    X = X / np.where(spread > 1e-12 * np.abs(X).max(axis=0, initial=1e-300), spread, np.inf)
    # The first pivot is the column most like all others, of equal ones the first: all have the same size.
    first = int(np.round(np.square(X.T @ X / len(X)).sum(axis=0), 9).argmax())
    rest = X - np.outer(X[:, first], X[:, first] @ X / max(float(X[:, first] @ X[:, first]), 1e-300))
    rest[:, first] = 0.0
    _, order = cast(Any, qr(rest, mode="r", pivoting=True))
    return [first, *(int(j) for j in order if j != first)][:dimension]
