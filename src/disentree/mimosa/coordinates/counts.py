"""Counts on a scale on which their noise does not grow with them, if that takes fewer bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy import sparse

from disentree.mimosa.constants import FIT

Scale = Literal["", "root", "log"]


@dataclass(frozen=True)
class Stabilizer:
    """What is done with counts before anything else: nothing, twice the root (Anscombe 1948), or the logarithm of
    one plus what the count were if all rows had the same sum. Zeros stay zeros."""

    scale: Scale = ""
    total: float = 1.0  # the sum that rows are brought to

    def __call__(self, X: Any) -> Any:
        """Sparse or dense rows on the scale."""
        if not self.scale:
            return X
        if not sparse.issparse(X):
            return np.asarray(self(sparse.csr_array(np.asarray(X, dtype=np.float64))).toarray())
        out = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        out.data = self._of(out.data, np.repeat(row_sums(out), np.diff(out.indptr)))
        return out

    def _of(self, counts: Float[np.ndarray, " k"], totals: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        counts = np.maximum(counts, 0.0)
        if self.scale == "root":
            return 2 * (np.sqrt(counts + 0.375) - np.sqrt(0.375))
        return np.log1p(counts * self.total / totals)

    @property
    def words(self) -> str:
        """What is told of it."""
        return {
            "": "",
            "root": "Counts are taken as their roots: fewer bits.",
            "log": f"Counts are taken as logarithms, of rows brought to the sum {self.total:,.0f}: fewer bits.",
        }[self.scale]


def row_sums(X: Any) -> Float[np.ndarray, " n"]:
    """The sum of each row, 1 of empty ones."""
    sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    return np.where(sums > 0, sums, 1.0)


def are_counts(X: Any) -> bool:
    """Whether a sparse matrix holds whole numbers that are not negative, and not only zeros and ones."""
    values = X.data
    return bool(len(values) and values.min() >= 0 and values.max() > 1 and (values == np.round(values)).all())


def sparse_counts(X: Any, most: int) -> Any:
    """A wide table of counts, most of them zero, as a sparse matrix; anything else as it is."""
    if sparse.issparse(X) or X.ndim != 2 or X.shape[1] <= most or X.dtype.kind not in "iuf":
        return X
    own = sparse.csr_matrix(X) if np.count_nonzero(X) <= FIT.half * X.size else None
    return own if own is not None and are_counts(own) else X


def chosen_stabilizer(X: Any, rng: np.random.Generator) -> Stabilizer:
    """The scale of counts on which columns take the fewest bits, by a normal density of each column, fitted to a
    half of some rows, of the other half: densities are those of counts on every scale."""
    if not are_counts(X):
        return Stabilizer()
    some = np.sort(rng.choice(X.shape[0], min(X.shape[0], FIT.landmarks), replace=False))
    rows = sparse.csr_matrix(X[some], dtype=np.float64)
    tried = [Stabilizer(), Stabilizer("root"), Stabilizer("log", float(np.median(row_sums(rows))))]
    return min(tried, key=lambda one: _bits(one, rows))


def _bits(stabilizer: Stabilizer, X: Any) -> float:
    """Bits per row of every second row, by densities of the others."""
    sums = row_sums(X)
    on = sparse.csr_matrix(stabilizer(X))
    fitted, held = on[::2], on[1::2]
    n, m = fitted.shape[0], held.shape[0]
    mean = np.asarray(fitted.mean(axis=0)).ravel()
    variance = np.asarray(fitted.multiply(fitted).mean(axis=0)).ravel() - mean**2
    # of the counts themselves: the same columns on every scale, for bits to be of the same numbers
    varies = np.asarray((X[::2].max(axis=0) - X[::2].min(axis=0)).toarray()).ravel() > 0
    mean, variance = mean[varies], np.maximum(variance[varies], 1 / n**2)
    held, counts = sparse.csr_matrix(held[:, varies]), sparse.csr_matrix(X[1::2][:, varies])
    first, second = (np.asarray(part.sum(axis=0)).ravel() for part in (held, held.multiply(held)))
    away = second - 2 * mean * first + m * mean**2
    nats = 0.5 * (away / variance + m * np.log(2 * np.pi * variance)).sum()
    if stabilizer.scale == "root":
        nats += 0.5 * np.log((counts.data + 0.375) / 0.375).sum() + m * len(mean) * 0.5 * np.log(0.375)
    if stabilizer.scale == "log":
        share = stabilizer.total / sums[1::2]
        nats -= len(mean) * np.log(share).sum()
        nats += np.log1p(counts.data * np.repeat(share, np.diff(counts.indptr))).sum()
        totals = np.log(sums)  # they are told beside what they were divided by
        deviation = max(float(totals[::2].std()), 1e-3)
        nats += (0.5 * ((totals[1::2] - totals[::2].mean()) / deviation) ** 2 + totals[1::2]).sum()
        nats += m * np.log(deviation * np.sqrt(2 * np.pi))
    return float(nats / np.log(2) / max(m, 1))
