"""Sheets: subspaces and quadratic sheets through neighborhoods, for the latent of an autoencoder.

In a latent, noise is small and curvature is everywhere, which is what neighborhoods of fixed size can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate, Undirected
from disentree.mimosa.density.sheet import Sheet
from disentree.mimosa.finders.flats.decompose import choose_decomposition
from disentree.mimosa.finders.labels import rows_of


@dataclass(frozen=True)
class SheetLeaf(Undirected):
    """A leaf by its core rows, each with a sheet through it."""

    points: Float[np.ndarray, "m D"]
    bases: Float[np.ndarray, "m d D"]
    curved: bool
    tolerance: float

    @property
    def dimension(self) -> int:
        """Of its sheets."""
        return self.bases.shape[1]

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Along the sheets by the distance of the nearest core rows, across them Gaussian."""
        return self._sheet.log_likelihood(Z, self.tolerance)[0] - np.log(len(self.points))

    def outwardness(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
        """How far rows are off the sheet, relative to the distance of its core rows there; and that of the nearest
        core row but one, which may be the row itself."""
        nearest = np.asarray(KDTree(self.points).query(Z, min(2, len(self.points)))[0]).reshape(len(Z), -1)
        return self._sheet.log_likelihood(Z, self.tolerance)[1], nearest[:, -1]

    def limits(self, quantiles: Sequence[float]) -> list[float]:
        # A row beside core rows continues their sheet if it is less than half as far off it as from them (of
        # ships without a jet nine in ten are, beside those with one; of moons and stars one in forty), and is not
        # farther from them than half as far again as they are from each other.
        off, apart = quantiles
        return [max(off, FIT.half), (1 + FIT.half) * apart]

    @property
    def _sheet(self) -> Sheet:
        return Sheet(self.points, self.bases, self.curved)


def find(
    Z: Float[np.ndarray, "n D"], n_neighbors: int, seed: np.random.SeedSequence, n_jobs: int = -1
) -> LeafCandidate | None:
    """The decomposition of a latent; None if there are too few rows or no component."""
    k = min(n_neighbors, len(Z) - 1)
    if Z.shape[1] == 0 or k < n_neighbors // 2:
        return None
    found = choose_decomposition(Z, k, seed, n_jobs)
    cores = rows_of(found.labels)
    if not cores:
        return None
    leaves = [
        SheetLeaf(Z[rows], found.tangents.bases[rows, :d], found.curved, found.tolerance)
        for rows, d in zip(cores, found.dimensions, strict=True)
    ]
    sizes = np.array([len(rows) for rows in cores], dtype=float)
    return LeafCandidate("sheets", leaves, sizes / sizes.sum())
