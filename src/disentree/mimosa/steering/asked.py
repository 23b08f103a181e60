"""A fit that is told what is known beforehand: how often rows count, which rows to look in, and which are of one
kind."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.validation import _check_sample_weight

from disentree.mimosa.tree.steering import Steering


def rows_drawn(
    n: int, sample_weight: Any = None, within: Any = None, random_state: int | None = 0
) -> Int[np.ndarray, " m"] | None:
    """The rows that a tree is looked for in, each as often as it counts; None for all rows once.

    Whole weights are numbers of equal rows. Other weights are taken in proportion: as many rows as there are
    inside are drawn, each as often as its share says, rounded up or down by chance.

    Examples
    --------
    >>> rows_drawn(4, [1, 0, 2, 1]), rows_drawn(4, within=[False, True, True, False])
    (array([0, 2, 2, 3]), array([1, 2]))
    """
    inside = np.ones(n, bool) if within is None else _inside(within, n)
    if sample_weight is None:
        return None if within is None else np.flatnonzero(inside)
    weights = np.asarray(_check_sample_weight(sample_weight, np.zeros((n, 1)), dtype=np.float64))
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be numbers, 0 or more")
    weights = np.where(inside, weights, 0.0)
    if (weights > 0).sum() < 2:
        raise ValueError("sample_weight must be above 0 for two rows or more")
    if (weights == np.round(weights)).all() and weights.sum() <= 100 * n:
        return np.repeat(np.arange(n), weights.astype(np.int64))
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(5,)))
    m = int(inside.sum())
    ends = np.cumsum(weights) / weights.sum() * m
    return np.searchsorted(ends, np.arange(m) + rng.uniform(), side="right").clip(max=n - 1)


def _inside(within: Any, n: int) -> np.ndarray:
    """Which rows to look in, given as truth values or numbers of rows."""
    rows = np.asarray(within)
    if rows.dtype == bool and rows.shape == (n,):
        inside = rows
    elif rows.dtype.kind in "iu" and rows.ndim == 1 and len(rows) and 0 <= rows.min() <= rows.max() < n:
        inside = np.zeros(n, bool)
        inside[rows] = True
    else:
        raise ValueError(
            f"within must be truth values for all {n} rows, or numbers of rows, or a leaf of the tree that was "
            f"found before, got {rows.dtype} of shape {rows.shape}"
        )
    if inside.sum() < 2:
        raise ValueError(f"within must have two rows or more, got {int(inside.sum())}")
    return inside


def check_partial_labels(labels: Any, n: int) -> Int[np.ndarray, " n"]:
    """Labels as whole numbers, -1 for unknown ones."""
    out = np.asarray(labels)
    if out.shape != (n,) or out.dtype.kind not in "iu" or (len(out) and out.min() < -1):
        got = f"{out.dtype} of shape {out.shape}"
        raise ValueError(f"partial_labels must be a whole number for each of {n} rows, -1 if unknown, got {got}")
    return out.astype(np.int64)


def with_labels(model: Any, labels: Int[np.ndarray, " n"]) -> Any:
    """A fitted estimator whose leaves agree with labels that some rows have, as far as the data lets them.

    A leaf with rows of two labels is divided: in what is found inside, or else by the Gaussians that fit its
    labels best. Leaves of one label are merged, unless rows of both are over a thousand times likelier apart.
    `told_` says what could not be done.
    """
    told: list[str] = []
    for _ in range(len(np.unique(labels[labels >= 0]))):
        mixed = next((path for path, own in enumerate(_labels_of(model, labels)) if len(own) > 1), None)
        if mixed is None:
            break
        own = model.labels_ == mixed
        finer = _divided(model, mixed, labels[own])
        if finer is None:
            both = _listed(_labels_of(model, labels)[mixed])
            told.append(f"labels {both} are on one leaf, {model.leaf_names_[mixed]}: no column tells them apart")
            labels = np.where(own, -1, labels)
            continue
        model = finer
    for label in np.unique(labels[labels >= 0]).tolist():
        while len(paths := [path for path, own in enumerate(_labels_of(model, labels)) if label in own]) > 1:
            bits, a, b = min((_bits_apart(model, a, b), a, b) for a, b in combinations(paths, 2))
            why = f"apart, a row takes {bits:.0f} bits less"
            if bits <= np.log2(1000):
                try:
                    model = model.merge([a, b])
                    continue
                except ValueError as error:
                    why = str(error)
            told.append(f"label {label} stays on {len(paths)} leaves, {_listed(model.leaf_names_[paths])}: {why}")
            break
    model.told_ = told
    return model


def steered_in_words(steering: Steering | None) -> list[str]:
    """What was done to a tree since it was found, if anything."""
    if steering is None:
        return []
    n, now = len(steering.found.paths), len(steering.tree.paths)
    done = [word for word, some in (("merged", steering.merges), ("split", steering.splits)) if some]
    return [f"The search found {n} leaves, of which some were {' and '.join(done)}: now {now}."]


def _labels_of(model: Any, labels: Int[np.ndarray, " n"]) -> list[list[int]]:
    """For each leaf the labels that have a tenth of their rows there."""
    known = labels >= 0
    n_labels, n_paths = int(labels.max(initial=-1)) + 1, len(model.hierarchy_.paths)
    counts = np.zeros((n_paths, n_labels))
    on = known & (model.labels_ >= 0)
    np.add.at(counts, (model.labels_[on], labels[on]), 1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    return [np.flatnonzero(own >= 0.1).tolist() for own in shares]


def _divided(model: Any, path: int, labels: Int[np.ndarray, " m"]) -> Any:
    """The estimator with a leaf divided so that its labels are apart; None if that is not to be had."""
    before = len(model.hierarchy_.paths)
    tries: list[Any] = [lambda: model.split(path), lambda: model._split_by(path, labels)]
    own = np.flatnonzero(model.labels_ == path)
    for attempt in tries:
        try:
            finer = attempt()
        except ValueError:
            continue
        whole = np.full(len(model.labels_), -1)
        whole[own] = labels
        if len(finer.hierarchy_.paths) > before and all(len(found) < 2 for found in _labels_of(finer, whole)):
            return finer
    return None


def _bits_apart(model: Any, a: int, b: int) -> float:
    """What a row of two leaves loses if they are one Gaussian and not two, of the covariance within leaves."""
    fitted = model.embedding_ if model.features_ is None else model.features_
    rows = [fitted[model.sample_labels_ == path] for path in (a, b)]
    shares = np.array([len(own) for own in rows]) / sum(map(len, rows))
    gap: Float[np.ndarray, " D"] = rows[0].mean(axis=0) - rows[1].mean(axis=0)
    within = sum(share * np.atleast_2d(np.cov(own.T, bias=True)) for share, own in zip(shares, rows, strict=True))
    away = float(gap @ np.linalg.pinv(within + 1e-9 * np.trace(within) * np.eye(len(gap))) @ gap)
    return shares.prod() * away / (2 * np.log(2))


def _listed(names: Iterable[Any]) -> str:
    return " and ".join(map(str, names))
