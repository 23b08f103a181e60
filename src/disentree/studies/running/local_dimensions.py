"""Manifolds and mixtures of them whose dimension is known on every row, and how well it is estimated there.

The data and the estimators but MIMOSA are those of scikit-dimension (BSD-3): no dependency, since only this study
needs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from disentree.errors import UserError
from disentree.mimosa import MIMOSA
from disentree.studies.running.task import Task

SCORED = 150  # rows of each set: ESS takes 35 ms for one
NEIGHBORS = 100  # that a local estimate is made from: the default of scikit-dimension
ESTIMATORS: dict[str, dict[str, Any]] = {
    "lPCA": {},
    "TwoNN": {},
    # calibrated by a table, which has dimensions to 100: 15 times as fast
    "DANCo": {"ver": "DANCoFit", "random_state": 0},
    "ESS": {"random_state": 0},
}

Data = tuple[Float[np.ndarray, "n p"], Int[np.ndarray, " n"]]


def skdim() -> Any:
    """scikit-dimension, or a sentence that says how to get it."""
    try:
        return import_module("skdim")
    except ModuleNotFoundError:
        raise UserError("the study dimensions needs pip install scikit-dimension") from None


def _line_disk_ball(n: int, seed: int) -> Data:
    return skdim().datasets.lineDiskBall(n, random_state=seed)


def _roll_and_sphere(n: int, seed: int) -> Data:
    """The roll of swissRoll3Sph. Its sphere is made here: version 0.5 projects one of R^5, which is a ball."""
    sphere = np.random.default_rng(seed).normal(size=(n - n // 2, 4))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    roll = skdim().datasets.swissRoll3Sph(n // 2, 0, random_state=seed)
    return np.concatenate([roll, sphere]), np.repeat([2, 3], [len(roll), len(sphere)])


def union(dimensions: tuple[int, ...], columns: int, n: int, seed: int) -> Data:
    """Paraboloids over cubes, which share their vertex and are turned at random; as many rows of each."""
    rng, parts = np.random.default_rng(seed), []
    for d in dimensions:
        z = rng.uniform(-1, 1, (n // len(dimensions), d))
        axes = np.linalg.qr(rng.normal(size=(columns, d + 1)))[0]
        parts.append(np.column_stack([z, (z**2).mean(axis=1)]) @ axes.T)
    return np.concatenate(parts), np.repeat(dimensions, n // len(dimensions))


MIXTURES: dict[str, Callable[[int, int], Data]] = {
    "line-disk-ball": _line_disk_ball,
    "swiss-roll-sphere": _roll_and_sphere,
    "union-2-4-8": lambda n, seed: union((2, 4, 8), 16, n, seed),
    "union-10-25-50": lambda n, seed: union((10, 25, 50), 100, n, seed),
}
MANIFOLDS = (
    *("M1_Sphere", "M2_Affine_3to5", "M3_Nonlinear_4to6", "M4_Nonlinear", "M5a_Helix1d", "M5b_Helix2d"),
    *("M6_Nonlinear", "M7_Roll", "M8_Nonlinear", "M9_Affine", "M10a_Cubic", "M10b_Cubic", "M10c_Cubic"),
    *("M10d_Cubic", "M11_Moebius", "M12_Norm", "M13a_Scurve", "M13b_Spiral", "Mbeta", "Mn1_Nonlinear"),
    *("Mn2_Nonlinear", "Mp1_Paraboloid", "Mp2_Paraboloid", "Mp3_Paraboloid"),
)


def check_set(name: str) -> None:
    if name not in (*MIXTURES, *MANIFOLDS):
        raise UserError(f"there is no set {name!r}; there are {', '.join((*MIXTURES, *MANIFOLDS))}")


def make_set(name: str, n: int, seed: int) -> Data:
    """Rows, and the dimension of the manifold of each."""
    if name in MIXTURES:
        return MIXTURES[name](n, seed)
    benchmark = skdim().datasets.BenchmarkManifolds(random_state=seed)
    d, columns = map(int, benchmark.truth.loc[name].iloc[:2])
    return benchmark.generate(name=name, n=n, dim=columns, d=d), np.full(n, d)


def estimate_dimensions(task: Task) -> tuple[dict[str, Any], float]:
    """The error of the dimension on some rows and of groups of equal dimension, and seconds of processor time.
    MIMOSA's groups are its leaves, those of an estimator the rows with the same estimate, rounded."""
    assert task.config.n_samples is not None
    seed, method = task.config.seed, str(task.method)
    X, true = make_set(task.config.source, task.config.n_samples, seed)
    rows = np.random.default_rng(seed).permutation(len(X))[:SCORED]
    start = time.process_time()
    dimensions = np.unique(true).tolist()
    values: dict[str, Any] = {"n_rows": len(X), "n_columns": X.shape[1], "true_dimensions": dimensions}
    if method == "mimosa":
        m = MIMOSA(random_state=seed, n_jobs=1).fit(X)
        found, groups = np.array([c.dimension for c in m.components_])[m.labels_][rows], m.labels_[rows]
        values |= {"dimensions": [c.dimension for c in m.components_], "finder": m.candidates_[0]["finder"]}
    else:
        found = local_estimates(method, X, rows)
        groups = np.rint(found).astype(np.int64)
        values["version"] = skdim().__version__
        if len(dimensions) == 1 and method != "ESS":  # which is made for neighborhoods alone
            values["whole"] = round(float(np.abs(_estimator(method).fit(X).dimension_ - true[0])), 4)
    values |= {
        "error": round(float(np.abs(found - true[rows]).mean()), 4),
        "ari": round(float(adjusted_rand_score(true[rows], groups)), 4),
    }
    return values, time.process_time() - start


def _estimator(method: str) -> Any:
    return getattr(skdim().id, method)(**ESTIMATORS[method])


def local_estimates(method: str, X: Float[np.ndarray, "n p"], rows: Int[np.ndarray, " k"]) -> np.ndarray:
    """The dimension of the neighborhood of each of these rows; where there is no estimate, 0."""
    estimator = _estimator(method)
    near = NearestNeighbors(n_neighbors=NEIGHBORS).fit(X).kneighbors(X[rows], return_distance=False)
    fit = estimator.fit_once if hasattr(estimator, "fit_once") else estimator.fit
    found = np.array([float(fit(X[some]).dimension_) for some in near])
    return np.nan_to_num(found, nan=0.0, posinf=X.shape[1]).clip(0, X.shape[1])
