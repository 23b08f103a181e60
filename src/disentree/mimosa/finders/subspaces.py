"""Exact subspaces: leaves that are flat to rounding, as where columns of a table obey equations.

Around every row the lowest-dimensional subspace that holds more of its neighbors than chance would is fitted; rows
on each other's subspaces are linked. That needs no tolerance but rounding, and sees leaves of a few dozen rows.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.geometry.neighbors import intrinsic_dimension, nearest_neighbors
from disentree.mimosa.candidate import Candidate
from disentree.mimosa.finders.decompose import Local, components_of
from disentree.mimosa.finders.leaf_density import Leaf, fit_leaf
from disentree.mimosa.finders.tangents import anchored_flats
from disentree.mimosa.labels import rows_of

EXACT = (
    1e-6  # distance from a subspace relative to that of the neighbor, within rounding of what data goes through
)
MOST_DIMENSIONS = 20  # in more, neighbors are too far apart to say anything
SAMPLE = 500  # rows that tell whether there is an exact subspace at all
SOME = 0.05  # share of them on a subspace, for a search among all rows

FILLED = 0.75  # intrinsic dimension of a leaf's rows relative to that of its subspace, if they fill it
COVERED = 0.9  # share of rows that are on some leaf, for the search to end there
MOSTLY = 0.3  # share of rows that are on exact subspaces, for data that is exact at all


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    rng: np.random.Generator,
    n_neighbors: int = 40,
    n_jobs: int = -1,
) -> Candidate | None:
    """The exact subspaces of rows; None if there are none, or too few rows.

    Parameters
    ----------
    Z : array of shape (n, D)
    precision : array of shape (D,)
        Of each coordinate.
    rng : Generator
    n_neighbors : int, default=40
        Size of the neighborhoods.
    n_jobs : int, default=-1
        Threads of the neighbor search.

    Returns
    -------
    Candidate or None
    """
    n, n_dims = Z.shape
    k = min(n_neighbors, n - 1)
    if not 2 <= n_dims <= MOST_DIMENSIONS or k < n_neighbors // 2:
        return None
    white = Z / Z.std(axis=0)
    distances, neighbors = nearest_neighbors(white, k, n_jobs)
    seed = int(rng.integers(2**63))
    some = rng.choice(n, min(n, SAMPLE), replace=False)
    glance = anchored_flats(white, neighbors, EXACT, np.random.default_rng(seed), rows=some)
    if np.mean(glance.dimensions < n_dims) < SOME:
        return None
    tangents = anchored_flats(white, neighbors, EXACT, np.random.default_rng(seed))
    found = components_of(white, distances[:, -1], Local(tangents, EXACT, 2 * EXACT), k, n_jobs)
    cores = rows_of(found.labels)
    if not cores:
        return None
    leaves = [fit_leaf(Z[rows], d, precision, rng, 1) for rows, d in zip(cores, found.dimensions, strict=True)]
    sizes = np.array([len(rows) for rows in cores], dtype=float)
    # A mixture of Gaussians cannot compete with exact leaves, nor charts with exact subspaces that are filled.
    dimensions = np.array(found.dimensions)
    needless = []
    if sizes[dimensions < n_dims].sum() >= MOSTLY * n:
        needless.append("mixture")
        filled = all(_is_filled(leaf, Z[rows], rng) for leaf, rows in zip(leaves, cores, strict=True))
        if filled and sizes.sum() >= COVERED * n:
            needless.append("atlas")
    return Candidate("subspaces", leaves, sizes / sizes.sum(), {"needless": needless})


def _is_filled(leaf: Leaf, Z: Float[np.ndarray, "n D"], rng: np.random.Generator) -> bool:
    """Whether rows fill the subspace that they lie in, and are not on a curved manifold in it."""
    # Drawn at random: rows at regular steps of an order within the data are spaced too evenly.
    some = rng.choice(len(Z), min(len(Z), SAMPLE), replace=False)
    along = leaf.tiles[0].chart.split(Z[some])[0]
    return leaf.dimension == 0 or intrinsic_dimension(along) >= FILLED * leaf.dimension
