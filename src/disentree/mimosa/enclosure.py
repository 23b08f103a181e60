"""Which leaf encloses which, by likelihood: the rows of the smaller one must be likely rows of the larger one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.candidate import Candidate

UNLIKELY = 0.02  # rows of a leaf that are less likely than this share of its own are not in its reach
WITHIN = 0.6  # share of the smaller leaf's rows in reach of the larger one
SAMPLE = 500


def enclosures(
    candidate: Candidate, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, "k k"], Float[np.ndarray, "k k"]]:
    """Entry [low, high]: whether `high`, of more dimensions, encloses `low`; and how poorly (for a choice of
    several)."""
    k = len(candidate.components)
    encloses, poorness = np.zeros((k, k), dtype=bool), np.full((k, k), np.inf)
    rows = [np.flatnonzero(labels == c) for c in range(k)]
    rows = [r[np.linspace(0, len(r) - 1, min(len(r), SAMPLE)).astype(int)] for r in rows]
    dims = candidate.dimensions
    for high in range(k):
        if not len(rows[high]):
            continue
        leaf = candidate.components[high]
        own = leaf.log_density(Z[rows[high]])
        limit = np.quantile(own, UNLIKELY)
        for low in range(k):
            if dims[low] < dims[high] and len(rows[low]):
                value = leaf.log_density(Z[rows[low]])
                share = float(np.mean(value >= limit))
                encloses[low, high] = share >= WITHIN
                poorness[low, high] = 1 - share
    return encloses, poorness
