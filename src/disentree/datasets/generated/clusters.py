"""Clouds with a known answer: separated clusters, clouds without any structure, and series with a fault.

clusters      five separated Gaussian clusters in ten columns, each of full dimension
blobs         two separated Gaussian clusters in five columns
gaussian      one Gaussian cloud
cube          one uniform cube
integers      independent Gaussians rounded to whole numbers, a Poisson count and ages that end at 80
prices        prices of which most end in 9, weights that follow them, and scores
bimodal       one column with two modes beside independent ones
fault-series  series of 40 values, smooth; half of them have a fault with a place, a depth and a width
noisy-leaves  linear leaves of one to five dimensions in noise, among columns of pure noise
"""

from __future__ import annotations

from functools import partial

import numpy as np

from disentree.datasets.generated.recipe import Codes, Recipe, Rows, choice, tree
from disentree.hierarchy import Hierarchy


def _one_of(*dimensions: int) -> Hierarchy:
    """Leaves of these dimensions, one beside the other."""
    options = [{"variables": [{"kind": "continuous"}] * d} for d in dimensions]
    return Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": options}]})


def _clusters_codes(n: int, rng: np.random.Generator, n_clusters: int, n_columns: int) -> Codes:
    """Each cluster's own columns hold the deviations from its center."""
    codes = np.full((n, 1 + n_clusters * n_columns), np.nan)
    codes[:, 0] = rng.integers(0, n_clusters, n)
    values = rng.standard_normal((n, n_columns))
    for k in range(n_clusters):
        inside = codes[:, 0] == k
        codes[inside, 1 + k * n_columns : 1 + (k + 1) * n_columns] = values[inside]
    return codes


def _clusters_rows(codes: Codes, n_clusters: int, n_columns: int) -> Rows:
    """Centers at the corners of a simplex, eight deviations apart."""
    centers = 8 / np.sqrt(2) * np.eye(n_clusters, n_columns)
    kind = codes[:, 0].astype(int)
    blocks = codes[:, 1:].reshape(len(codes), n_clusters, n_columns)
    return centers[kind] + blocks[np.arange(len(codes)), kind]


def _clusters(n_clusters: int, n_columns: int) -> Recipe:
    about = f"{n_clusters} separated Gaussian clusters in {n_columns} columns"
    size = {"n_clusters": n_clusters, "n_columns": n_columns}
    hierarchy = _one_of(*[n_columns] * n_clusters)
    return Recipe(about, hierarchy, partial(_clusters_codes, **size), partial(_clusters_rows, **size))


def _identity(codes: Codes) -> Rows:
    return codes.copy()


def _gaussian_codes(n: int, rng: np.random.Generator) -> Codes:
    return rng.standard_normal((n, 10)) * np.linspace(1, 3, 10)


def _cube_codes(n: int, rng: np.random.Generator) -> Codes:
    return rng.uniform(-1, 1, (n, 5))


def _integer_codes(n: int, rng: np.random.Generator) -> Codes:
    values = np.rint(rng.normal(0, [2, 3, 4, 5], (n, 4)))
    counts = rng.poisson(2.0, (n, 1))
    ages = np.minimum(np.rint(rng.normal(50, 18, (n, 1)).clip(18)), 80)
    return np.concatenate([values, counts, ages], axis=1).astype(float)


def _price_codes(n: int, rng: np.random.Generator) -> Codes:
    price = np.exp(4 + 0.6 * rng.standard_normal(n))
    price = np.where(rng.random(n) < 0.7, 10 * np.round(price / 10) - 1, np.round(price))
    return np.stack([price, np.log(price + 2) + 0.4 * rng.standard_normal(n), rng.gamma(3, 2, n)], axis=1)


def _bimodal_codes(n: int, rng: np.random.Generator) -> Codes:
    X = rng.standard_normal((n, 4))
    X[:, 0] += 6 * (rng.random(n) < 0.4)
    return X


FAULT_SERIES = tree("amplitude", "phase", choice("fault", none=(), dip=("place", "depth", "width")))


def _fault_codes(n: int, rng: np.random.Generator) -> Codes:
    fault = rng.random(n) < 0.5
    dip = rng.uniform([0.25, 0.5, 0.04], [0.75, 1.2, 0.1], (n, 3))
    start = rng.uniform([0.8, -0.4], [1.2, 0.4], (n, 2))
    return np.column_stack([start, fault, np.where(fault[:, None], dip, np.nan)])


def _fault_rows(codes: Codes) -> Rows:
    t = np.linspace(0, 1, 40)
    amplitude, phase, _, place, depth, width = (codes[:, [j]] for j in range(6))
    dip = np.nan_to_num(depth) * np.exp(-0.5 * ((t - np.nan_to_num(place)) / np.nan_to_num(width, nan=1.0)) ** 2)
    return amplitude * np.sin(2 * np.pi * t + phase) - dip


LEAVES = (1, 2, 3, 5)  # dimensions
N_SIGNAL, N_NOISE = 12, 8  # columns


def _leaves_codes(n: int, rng: np.random.Generator) -> Codes:
    codes = np.full((n, 1 + sum(LEAVES)), np.nan)
    codes[:, 0] = rng.integers(0, len(LEAVES), n)
    first = 1
    for k, d in enumerate(LEAVES):
        inside = codes[:, 0] == k
        codes[inside, first : first + d] = rng.uniform(-1, 1, (int(inside.sum()), d))
        first += d
    return codes


def _leaves_rows(codes: Codes) -> Rows:
    """The signal, in fixed subspaces that do not meet, and zeros in the columns that hold noise alone."""
    rng = np.random.default_rng(1)
    X = np.zeros((len(codes), N_SIGNAL + N_NOISE))
    first = 1
    for k, d in enumerate(LEAVES):
        inside = codes[:, 0] == k
        basis, center = np.linalg.qr(rng.standard_normal((N_SIGNAL, d)))[0], 0.6 * rng.standard_normal(N_SIGNAL)
        X[inside, :N_SIGNAL] = center + codes[inside, first : first + d] @ basis.T
        first += d
    return X


def _leaves_noise(X: Rows, rng: np.random.Generator) -> Rows:
    """Noise of 2 % of the half-range of a variable on the signal, and of deviation 1 in the other columns."""
    return X + rng.standard_normal(X.shape) * np.repeat([0.02, 1.0], [N_SIGNAL, N_NOISE])


RECIPES = {
    "clusters": _clusters(5, 10),
    "blobs": _clusters(2, 5),
    "gaussian": Recipe("one Gaussian cloud", Hierarchy.flat(10), _gaussian_codes, _identity),
    "cube": Recipe("one uniform cube", Hierarchy.flat(5), _cube_codes, _identity),
    "integers": Recipe("independent columns of whole numbers", Hierarchy.flat(6), _integer_codes, _identity),
    "prices": Recipe(
        "prices of which most end in 9, weights and scores", Hierarchy.flat(3), _price_codes, _identity
    ),
    "bimodal": Recipe(
        "a column with two modes beside independent ones", Hierarchy.flat(4), _bimodal_codes, _identity
    ),
    "fault-series": Recipe(
        "series of 40 values, half of them with a fault", FAULT_SERIES, _fault_codes, _fault_rows
    ),
    "noisy-leaves": Recipe(
        "linear leaves of 1, 2, 3 and 5 dimensions in noise, among columns of noise",
        _one_of(*LEAVES),
        _leaves_codes,
        _leaves_rows,
        _leaves_noise,
    ),
}
