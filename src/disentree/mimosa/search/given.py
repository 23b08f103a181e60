"""Leaves by labels that some rows have, in place of a search."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.search import Outcome


def by_labels(rows: Rows, labels: Int[np.ndarray, " n"]) -> Outcome:
    """A Gaussian for each label: first of the rows that have it, then of all rows that are likeliest there.

    Rows that have a label stay with it.
    """
    Z, kinds = rows.Z, np.unique(labels[labels >= 0])
    where = np.searchsorted(kinds, labels)
    known = labels >= 0
    own = _nearest(Z, np.stack([Z[known & (where == k)].mean(axis=0) for k in range(len(kinds))]))
    own[known] = where[known]
    candidate = _fitted(Z, own, len(kinds), rows.floor)
    for _ in range(30):
        new = candidate.posteriors(Z).argmax(axis=1)
        new[known] = where[known]
        if (new == own).all():
            break
        own = new
        candidate = _fitted(Z, own, len(kinds), rows.floor)
    bits = -float(candidate.log_density(Z).mean()) / np.log(2)
    dimensions = sorted(candidate.dimensions)
    row = {"finder": candidate.finder, "components": len(kinds), "dimensions": dimensions, "bits": bits}
    return Outcome(candidate, [{**row, "seconds": 0.0, "why_not": ""}], bits, 0.0, 0.0)


def _nearest(Z: Float[np.ndarray, "n D"], centers: Float[np.ndarray, "k D"]) -> Int[np.ndarray, " n"]:
    scale = np.maximum(Z.std(axis=0), np.finfo(float).tiny)
    return np.square((Z[:, None] - centers) / scale).sum(axis=2).argmin(axis=1)


def _fitted(
    Z: Float[np.ndarray, "n D"], own: Int[np.ndarray, " n"], k: int, floor: Float[np.ndarray, " D"]
) -> LeafCandidate:
    shares = np.bincount(own, minlength=k) / len(own)
    return LeafCandidate("labels", [fit_gaussian(Z[own == j], floor) for j in range(k)], shares)
