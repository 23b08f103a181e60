"""A product of choices as a density: all combinations of options share one set of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logsumexp

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Product, Undirected, posteriors_of
from disentree.mimosa.density.logs import LOG_2PI
from disentree.mimosa.density.margins import Margins


@dataclass(frozen=True)
class Cell:
    """A combination of options."""

    dimension: int
    on: list[bool]  # for each switch


@dataclass(frozen=True)
class ProductSpace:
    """The coordinates that all combinations share, ``Z @ weights + offset``: those of each switch, then those of
    all rows, then noise."""

    weights: Float[np.ndarray, "D D"]
    offset: Float[np.ndarray, " D"]
    owner: list[int]  # the switch of each coordinate; -1 for what all rows have, -2 for noise
    scatter: Float[np.ndarray, " D"]  # deviation of a coordinate that is fixed
    margins: Margins  # of coordinates that are free
    correlations: Float[np.ndarray, "D D"]  # of their normal scores

    def free(self, cell: Cell) -> Bool[np.ndarray, " D"]:
        """The coordinates that are variables of a combination."""
        owner = np.array(self.owner)
        return (owner == -1) | (np.append(cell.on, False)[owner] & (owner >= 0))

    def log_densities(self, Z: Float[np.ndarray, "n D"], cells: Sequence[Cell]) -> Float[np.ndarray, "n c"]:
        """Log density of rows on each of some combinations."""
        Y = Z @ self.weights + self.offset
        fixed = -0.5 * ((Y / self.scatter) ** 2 + LOG_2PI) - np.log(self.scatter)
        scores, slopes = np.empty_like(Y), np.empty_like(Y)
        for j, one in enumerate(self.margins.maps):
            scores[:, j], slopes[:, j] = one(Y[:, j])
        out = np.empty((len(Z), len(cells)))
        for c, cell in enumerate(cells):
            free = self.free(cell)
            S = scores[:, free]
            root = np.linalg.cholesky(self.correlations[np.ix_(free, free)])
            white = np.linalg.solve(root, S.T)
            along = -0.5 * (white**2).sum(axis=0) - np.log(root.diagonal()).sum() - 0.5 * free.sum() * LOG_2PI
            out[:, c] = along + slopes[:, free].sum(axis=1) + fixed[:, ~free].sum(axis=1)
        return out + np.linalg.slogdet(self.weights)[1]


@dataclass(frozen=True)
class ProductLeaf(Undirected):
    """A combination as a leaf of its own."""

    space: ProductSpace
    cell: Cell

    @property
    def dimension(self) -> int:
        return self.cell.dimension

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return self.space.log_densities(Z, [self.cell])[:, 0]


@dataclass(frozen=True)
class ProductCandidate:
    """A product, see `Candidate`. A combination needs no rows of its own to be described."""

    finder: str
    cells: Sequence[Cell]  # in the order of the paths of the hierarchy
    shares: Float[np.ndarray, " k"]
    space: ProductSpace
    product: Product
    makes_needless: Sequence[str] = ()

    is_exact = False
    needless_bits = 0.0
    is_apart = False

    @property
    def components(self) -> list[ProductLeaf]:
        return [ProductLeaf(self.space, cell) for cell in self.cells]

    @property
    def dimensions(self) -> list[int]:
        return [cell.dimension for cell in self.cells]

    def log_joint(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        shares = np.log(np.maximum(self.shares, 1e-300))
        step = FIT.landmarks
        blocks = [Z[start : start + step] for start in range(0, max(len(Z), 1), step)]
        return np.concatenate([shares + self.space.log_densities(b, self.cells) for b in blocks])

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return np.asarray(logsumexp(self.log_joint(Z), axis=1))

    def posteriors(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        return posteriors_of(self.log_joint(Z), self.shares)
