"""Subspaces in noise: leaves that are flat but for white noise of a size that the spectrum shows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.mimosa.coordinates.noise import WhiteNoise
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.tiles import fit_flat_leaf
from disentree.mimosa.finders.flats.noisy import flats_in_noise
from disentree.mimosa.finders.flats.subspaces import has_gaps, needless_if_filled
from disentree.mimosa.finders.labels import rows_of


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    rng: np.random.Generator,
    noise: WhiteNoise,
    n_neighbors: int = 40,
    n_jobs: int = -1,
) -> LeafCandidate | None:
    """The subspaces that rows lie on within noise; None if none stands out, if most are pieces of something
    curved, or if neighborhoods of `n_neighbors` promise a better description."""
    k = min(n_neighbors, len(Z) - 1)
    if k < n_neighbors // 2:
        return None
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    found = flats_in_noise((Z - noise.center) @ noise.weights, noise.deviation, k, seed, n_jobs)
    if found is None or found.labels.max(initial=-1) < 0 or max(found.dimensions) == 0:
        return None  # points in noise are clouds of full dimension, which mixtures are for
    cores = rows_of(found.labels)
    leaves = [fit_flat_leaf(Z[rows], d, precision, rng) for rows, d in zip(cores, found.dimensions, strict=True)]
    sizes = np.array([len(rows) for rows in cores], dtype=float)
    # A leaf without dimensions is a cloud of noise, and one with gaps may be a row of clouds: Gaussians describe
    # those as well.
    clouds = min(found.dimensions) == 0 or any(
        has_gaps(leaf, Z[rows], rng) for leaf, rows in zip(leaves, cores, strict=True)
    )
    needless = () if clouds else tuple(needless_if_filled(leaves, cores, Z, rng))
    return LeafCandidate("noisy subspaces", leaves, sizes / sizes.sum(), makes_needless=needless)
