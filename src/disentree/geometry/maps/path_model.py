"""Which path a row is on: a Gaussian for every path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.leaf_spans import Cloud, choose_share, core_of, covariance_of, others_covariance
from disentree.hierarchy import Hierarchy

NEAREST = 1e-4  # standard deviations of the data below which a row is on a subspace: float32 has 7 digits
UNSEEN = 0.5  # rows that a path without any counts as


@dataclass(frozen=True)
class PathModel:
    """A Gaussian for each path. Paths of few rows share a covariance."""

    means: Float[np.ndarray, "paths r"]
    roots: Float[np.ndarray, "covariances r r"]  # rows times a root are white
    root_of: Int[np.ndarray, " paths"]
    log_weights: Float[np.ndarray, " paths"]  # the log of each path's share, less that of its volume

    def log_joint(self, Y: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n paths"]:
        """The log of share times density, up to a constant."""
        out = np.empty((len(Y), len(self.means)))
        for path, mean in enumerate(self.means):
            white = (Y - mean) @ self.roots[self.root_of[path]]
            out[:, path] = self.log_weights[path] - 0.5 * np.einsum("ij,ij->i", white, white)
        return out

    def predict(self, Y: Float[np.ndarray, "n r"]) -> Int[np.ndarray, " n"]:
        """The likeliest path of each row."""
        return self.log_joint(Y).argmax(axis=1)


def fit_path_model(
    Y: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    clouds: Mapping[int, Cloud],
    means: Float[np.ndarray, "paths r"],
    rng: np.random.Generator,
    expected: Float[np.ndarray, "paths r r"] | None = None,
) -> PathModel:
    """Fit the Gaussians to the rows of each path that has any (`clouds_of`).

    `means` are those of paths without rows. `expected` is the covariance of each path as one map for all of them
    has it, about `means`: for paths of few rows or none, which otherwise have that within the other paths.
    """
    n_paths, r = len(hierarchy.paths), Y.shape[1]
    # Of all rows: its axes say what is small.
    values, vectors = np.linalg.eigh(np.cov(Y.T, bias=True).reshape(r, r))
    scale = np.sqrt(np.maximum(values, max(1e-24 * float(values.max(initial=0)), 1e-300)))
    to_white = vectors / scale
    white = Y @ to_white
    clouds = {
        path: Cloud(path, c.rows, c.mean @ to_white, to_white.T @ c.scatter @ to_white)
        for path, c in clouds.items()
    }
    centers, counts = means @ to_white, np.full(n_paths, UNSEEN)
    if expected is None:
        pooled = others_covariance(clouds)
        shared, root_of = [np.eye(r) if pooled is None else pooled], np.zeros(n_paths, dtype=np.int64)
    else:
        shared, root_of = [to_white.T @ covariance @ to_white for covariance in expected], np.arange(n_paths)
    found = [_root(covariance) for covariance in shared]
    for path, cloud in clouds.items():
        counts[path] = cloud.n_rows
        if expected is None:
            centers[path] = cloud.mean
        if n_paths == 1:
            continue
        others = others_covariance(clouds, path) if expected is None else shared[path]
        core = core_of(white, cloud, _surprise, rng)
        share = choose_share(white, core, others, _surprise, rng)
        if share < 1:
            centers[path] = core.mean
            root_of[path] = len(found)
            found.append(_root(covariance_of(core, others, share)))
    roots, volumes = zip(*found, strict=True)
    log_weights = np.log(counts / counts.sum()) - np.array(volumes)[root_of]
    back = np.linalg.pinv(to_white)
    return PathModel(centers @ back, to_white @ np.stack(roots), root_of, log_weights)


def _root(covariance: Float[np.ndarray, "r r"]) -> tuple[Float[np.ndarray, "r r"], float]:
    """What makes rows white, and the log of the volume that it divides by."""
    values, vectors = np.linalg.eigh(covariance)
    deviations = np.sqrt(np.maximum(values, NEAREST**2))
    return vectors / deviations, float(np.log(deviations).sum())


def _surprise(
    rows: Float[np.ndarray, "m r"], mean: Float[np.ndarray, " r"], covariance: Float[np.ndarray, "r r"]
) -> Float[np.ndarray, " m"]:
    root, volume = _root(covariance)
    return 0.5 * np.square((rows - mean) @ root).sum(axis=1) + volume
