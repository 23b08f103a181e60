"""Mean and covariance of the rows of each leaf: robust, and shrunk to the other leaves' where rows are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.geometry.subspaces import AffineSubspace
from disentree.hierarchy import Hierarchy

# Rows farther off the subspace of their leaf than 5 times the median do not belong to it, unless they are more
# than 30 %: then the leaf is not flat. Distances of 1e-4 of its extent are rounding.
OUTLYING, LEAST_ON, ROUNDING = 5.0, 0.7, 1e-4
REFITS = 10  # without the rows that do not belong; most leaves settle after two
# Rows that the median distance is of; subspaces through few of them, one of which is free of strays if those are
# 10 % of the rows, up to 30 dimensions.
MEDIAN_ROWS, MEDIAN_TRIES = 500, 50
SHARES = (0.0, 0.1, 0.5, 1.0)  # of the other leaves' covariance in a leaf's own, one of which is chosen
FOLDS, FEW = 5, 500  # for leaves of few rows; one split of the others
FEWEST = 10  # rows of a leaf for a choice of its share; with fewer it has the others' covariance

STRAY = 0.1  # of the left-out rows, the worst, do not count in a choice: they may be on another leaf
CORE, STEPS = 0.75, 10  # of the rows of a leaf; concentration steps (Rousseeuw and van Driessen 1999)

# Of each of some rows, given a mean and a covariance.
Loss = Callable[
    [Float[np.ndarray, "m r"], Float[np.ndarray, " r"], Float[np.ndarray, "r r"]], Float[np.ndarray, " m"]
]


@dataclass(frozen=True)
class Cloud:
    """The rows of a path: those that lie on its flat piece, their mean, and their scatter about it."""

    path: int
    rows: Int[np.ndarray, " m"]
    mean: Float[np.ndarray, " r"]
    scatter: Float[np.ndarray, "r r"]  # sum of squares and products about the mean

    @property
    def n_rows(self) -> int:
        return len(self.rows)


def clouds_of(Y: Float[np.ndarray, "n r"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"]) -> dict[int, Cloud]:
    """The cloud of every path that has rows."""
    out = {}
    for path in hierarchy.paths:
        rows = np.flatnonzero(paths == path.index)
        if len(rows):
            out[path.index] = _cloud(Y, path.index, _on_subspace(Y, rows, path.dimension))
    return out


def _cloud(Y: Float[np.ndarray, "n r"], path: int, rows: Int[np.ndarray, " m"]) -> Cloud:
    mean = Y[rows].mean(axis=0)
    centered = Y[rows] - mean
    return Cloud(path, rows, mean, centered.T @ centered)


def _on_subspace(Y: Float[np.ndarray, "n r"], rows: Int[np.ndarray, " m"], d: int) -> Int[np.ndarray, " k"]:
    """Without the rows that lie far off the subspace that the others fit."""
    if d >= Y.shape[1] or len(rows) < 2 * (d + 1):
        return rows
    flat, median = AffineSubspace.fit(Y[rows], d), _median_subspace(Y[rows[:: len(rows) // MEDIAN_ROWS + 1]], d)
    if 2 * np.median(median.distances(Y[rows])) < np.median(flat.distances(Y[rows])):  # strays tilt the first
        flat = median
    return rows[fit_without_outlying(Y[rows], flat, d + 1)[0]]


def fit_without_outlying(
    Y: Float[np.ndarray, "m r"], flat: AffineSubspace, fewest: int
) -> tuple[Bool[np.ndarray, " m"], AffineSubspace]:
    """The rows that lie on a subspace, and the subspace fitted to them again and again: a few rows that do not
    belong must not tilt it. If there are fewer than `fewest`, all rows and the subspace as it was."""
    on = np.zeros(len(Y), dtype=bool)
    for _ in range(REFITS):
        off = flat.distances(Y)
        extent = float(flat.spread[0]) if flat.dimension else 0.0
        middle = float(np.median(off[on] if on.any() else off))
        near = off <= max(OUTLYING * middle, ROUNDING * extent)
        if near.sum() < max(LEAST_ON * len(Y), fewest) or (near == on).all():
            break
        on = near
        flat = AffineSubspace.fit(Y[on], flat.dimension)
    return on if on.any() else ~on, flat


def _median_subspace(Y: Float[np.ndarray, "m r"], d: int) -> AffineSubspace:
    """Of subspaces through as many rows as they need, the one with the smallest median distance from all rows
    (Rousseeuw 1984). If most rows are exactly on one, it is found however far away the others are."""
    rng = np.random.default_rng(0)
    tried = (AffineSubspace.fit(Y[rng.choice(len(Y), d + 1, replace=False)], d) for _ in range(MEDIAN_TRIES))
    return min(tried, key=lambda flat: float(np.median(flat.distances(Y))))


def others_covariance(clouds: Mapping[int, Cloud], path: int | None = None) -> Float[np.ndarray, "r r"] | None:
    """The covariance within the leaves other than `path`, or within all; None if there are no rows for one."""
    others = [cloud for cloud in clouds.values() if cloud.path != path]
    freedom = sum(cloud.n_rows - 1 for cloud in others)
    return sum((cloud.scatter for cloud in others), start=np.zeros(())) / freedom if freedom else None


def covariance_of(cloud: Cloud, others: Float[np.ndarray, "r r"] | None, share: float) -> Float[np.ndarray, "r r"]:
    """The covariance of a leaf, of which `share` is that of the others."""
    own = cloud.scatter / cloud.n_rows
    return own if others is None else (1 - share) * own + share * others


def choose_share(
    Y: Float[np.ndarray, "n r"],
    cloud: Cloud,
    others: Float[np.ndarray, "r r"] | None,
    loss: Loss,
    rng: np.random.Generator,
) -> float:
    """The share of the others' covariance with which a leaf's rows are described best while they are left out.
    `others` is what `others_covariance` gives for the leaf."""
    if others is None:
        return 0.0
    if cloud.n_rows < max(FEWEST, Y.shape[1] / 4):
        return 1.0
    losses: list[list[np.ndarray]] = [[] for _ in SHARES]
    for own, held in _parts(Y, cloud, rng):
        for share, found in zip(SHARES, losses, strict=True):
            found.append(loss(held, own.mean, covariance_of(own, others, share)))
    return SHARES[int(np.argmin([_without_strays(found) for found in losses]))]


def core_of(Y: Float[np.ndarray, "n r"], cloud: Cloud, loss: Loss, rng: np.random.Generator) -> Cloud:
    """The leaf without the quarter of its rows that fits it worst, if the others are described better by that."""
    if cloud.n_rows < max(FEWEST, 4 * Y.shape[1]):
        return cloud
    losses: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for own, held in _parts(Y, cloud, rng):
        for found, tried in zip(losses, (own, _concentrated(Y, own, loss)), strict=True):
            found.append(loss(held, tried.mean, tried.scatter / tried.n_rows))
    is_better = _without_strays(losses[1]) < _without_strays(losses[0])
    return _concentrated(Y, cloud, loss) if is_better else cloud


def _parts(
    Y: Float[np.ndarray, "n r"], cloud: Cloud, rng: np.random.Generator
) -> Iterator[tuple[Cloud, Float[np.ndarray, "m r"]]]:
    """The leaf without some of its rows, and those."""
    fold = rng.permutation(cloud.n_rows) % FOLDS
    for f in range(FOLDS if cloud.n_rows < FEW else 1):
        yield _cloud(Y, cloud.path, cloud.rows[fold != f]), Y[cloud.rows[fold == f]]


def _without_strays(losses: list[np.ndarray]) -> float:
    together = np.sort(np.concatenate(losses))
    return float(together[: max(1, int((1 - STRAY) * len(together)))].mean())


def _concentrated(Y: Float[np.ndarray, "n r"], cloud: Cloud, loss: Loss) -> Cloud:
    core = cloud
    for _ in range(STEPS):
        own = loss(Y[cloud.rows], core.mean, core.scatter / core.n_rows)
        rows = cloud.rows[np.sort(np.argsort(own, kind="stable")[: int(CORE * cloud.n_rows)])]
        if np.array_equal(rows, core.rows):
            break
        core = _cloud(Y, cloud.path, rows)
    return core
