"""Exact subspaces: leaves that are flat to rounding, as where columns of a table obey equations.

Around every row the lowest-dimensional subspace that holds more of its neighbors than chance would is fitted; rows
on each other's subspaces are linked. That needs no tolerance but rounding, and sees leaves of a few dozen rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import kneighbors_graph

from disentree.geometry.neighbors import intrinsic_dimension, nearest_neighbors
from disentree.geometry.subspaces import Tangents
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.tiles import Leaf, fit_flat_leaf
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.mimosa.finders.flats.decompose import Local, components_of
from disentree.mimosa.finders.flats.tangents import anchored_flats
from disentree.mimosa.finders.labels import rows_of


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    rng: np.random.Generator,
    n_neighbors: int = 40,
    n_jobs: int = -1,
) -> LeafCandidate | None:
    """The exact subspaces of rows, in neighborhoods of `n_neighbors`; None if there are none, or too few rows.
    `precision` is that of each coordinate."""
    n, n_dims = Z.shape
    k = min(n_neighbors, n - 1)
    if not 2 <= n_dims <= COORDINATES.most_linear or k < n_neighbors // 2:
        return None
    white = Z / Z.std(axis=0)
    distances, neighbors = nearest_neighbors(white, k, n_jobs)
    exact = FLATS.flat_tolerances[0]
    seed = int(rng.integers(2**63))
    some = rng.choice(n, min(n, FIT.sample), replace=False)

    def flats(rows: Int[np.ndarray, " m"] | None = None) -> Tangents:
        return anchored_flats(white, neighbors, exact, np.random.default_rng(seed), rows)

    # If the first are all on none, so are nearly all: the probability to miss the share that matters is `chance`.
    glance = some[: int(np.log(FLATS.chance) / np.log1p(-FINDERS.counted))]
    if (flats(glance).dimensions == n_dims).all() or np.mean(flats(some).dimensions < n_dims) < FINDERS.counted:
        return None
    tangents = flats()
    found = components_of(white, distances[:, -1], Local(tangents, exact, 2 * exact), k, n_jobs)
    cores = rows_of(found.labels)
    if not cores:
        return None
    leaves = [fit_flat_leaf(Z[rows], d, precision, rng) for rows, d in zip(cores, found.dimensions, strict=True)]
    sizes = np.array([len(rows) for rows in cores], dtype=float)
    # A mixture of Gaussians cannot compete with exact leaves.
    is_exact = bool(sizes[np.array(found.dimensions) < n_dims].sum() >= FLATS.mostly * n)
    needless = ("mixture", *needless_if_filled(leaves, cores, Z, rng)) if is_exact else ()
    return LeafCandidate("subspaces", leaves, sizes / sizes.sum(), is_exact=is_exact, makes_needless=needless)


def needless_if_filled(
    leaves: Sequence[Leaf],
    rows: Sequence[Int[np.ndarray, " _"]],
    Z: Float[np.ndarray, "n D"],
    rng: np.random.Generator,
) -> list[str]:
    """The finders that need not be asked if leaves on subspaces hold nearly all rows, and rows fill the subspaces:
    charts or Gaussians can then but describe the same leaves in more pieces."""
    held = sum(map(len, rows)) >= (1 - FINDERS.counted) * len(Z)
    return ["atlas", "mixture"] if held and _are_filled(leaves, rows, Z, rng) else []


def has_gaps(leaf: Leaf, Z: Float[np.ndarray, "n D"], rng: np.random.Generator) -> bool:
    """Whether rows of a leaf fall apart along it: nearest neighbors do not connect them."""
    if leaf.dimension == 0:
        return False
    some = rng.choice(len(Z), min(len(Z), FIT.sample), replace=False)
    return n_connected(leaf.tiles[0].chart.split(Z[some])[0]) > 1


def n_connected(Z: Float[np.ndarray, "n D"]) -> int:
    """The number of sets of rows that nearest neighbors connect, at least 1; small ones do not count."""
    k = min(FLATS.nearby, len(Z) - 1)
    if k < 1:
        return 1
    sizes = np.bincount(connected_components(kneighbors_graph(Z, k), directed=False)[1])
    return max(1, int((sizes >= FINDERS.counted * len(Z)).sum()))


def _are_filled(
    leaves: Sequence[Leaf],
    rows: Sequence[Int[np.ndarray, " _"]],
    Z: Float[np.ndarray, "n D"],
    rng: np.random.Generator,
) -> bool:
    """Whether rows fill the subspaces that they lie in, and are not on curved manifolds in them.

    Of few rows the intrinsic dimension is uncertain, to a share of 1 / sqrt(rows): each leaf must look filled
    within that, and all of the same dimension on average.
    """
    ratios: dict[int, list[tuple[float, int]]] = {}
    for leaf, own in zip(leaves, rows, strict=True):
        if leaf.dimension == 0:
            continue
        # Drawn at random: rows at regular steps of an order within the data are spaced too evenly.
        some = rng.choice(own, min(len(own), FIT.sample), replace=False)
        ratio = intrinsic_dimension(leaf.tiles[0].chart.split(Z[some])[0]) / leaf.dimension
        if ratio < FINDERS.most - 2 / np.sqrt(len(some)):
            return False
        ratios.setdefault(leaf.dimension, []).append((min(ratio, 1.0), len(some)))
    return all(_mean(group) >= FINDERS.most for group in ratios.values())


def _mean(group: Sequence[tuple[float, int]]) -> float:
    values, weights = zip(*group, strict=True)
    return float(np.average(values, weights=weights))
