"""What a fitted MIMOSA says about each component, and the length of the description that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.sheet import Sheet, residuals


@dataclass(frozen=True)
class Component:
    """One manifold of the data: a path of the hierarchy.

    Attributes
    ----------
    dimension : int
    indices : array of shape (m,)
        Rows of the training data that are labeled with it.
    core_indices : array of shape (c,)
        The rows that it was found from.
    parent : int or None
        The component that it encloses and is a child of in the tree, as an index into `components_`.
    center : array of shape (D,)
        Mean in the embedding.
    spread : array of shape (D,)
        Standard deviations along its own principal axes, largest first.
    parents : tuple of int, default=()
        All components that it encloses with no other between, the nearest first. A tree follows one of them,
        `parent`.
    """

    dimension: int
    indices: Int[np.ndarray, " m"]
    core_indices: Int[np.ndarray, " c"]
    parent: int | None
    center: Float[np.ndarray, " D"]
    spread: Float[np.ndarray, " D"]
    parents: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of rows that are labeled with it."""
        return len(self.indices)


def describe(
    sheets: Sequence[Sheet],
    parents: Sequence[int | None],
    direct: Sequence[tuple[int, ...]],
    Z: Float[np.ndarray, "n D"],
    labels: Int[np.ndarray, " n"],
    core_labels: Int[np.ndarray, " n"],
) -> tuple[list[Component], float]:
    """The components of labeled points, and the bits per point for its label, its coordinates on its component and
    its distance from it. Points without a component cost all of their coordinates."""
    n, n_dims = Z.shape
    float_bits = np.finfo(np.float32).nmant + 1  # of a coordinate
    components: list[Component] = []
    bits = 0.0
    n_without = n - np.count_nonzero(labels >= 0)
    for c, sheet in enumerate(sheets):
        rows, core = np.flatnonzero(labels == c), np.flatnonzero(core_labels == c)
        points = Z[rows] if len(rows) else sheet.points
        place = _center_and_spread(points)
        components.append(Component(sheet.dimension, rows, core, parents[c], *place, direct[c]))
        if len(rows):
            steps = np.maximum(residuals(sheet) * 2.0**float_bits, 1.0)
            across = (n_dims - sheet.dimension) * np.log2(steps).mean()
            bits += len(rows) * (sheet.dimension * float_bits + across - np.log2(len(rows) / n))
    bits += n_without * n_dims * float_bits + (n_without * -np.log2(n_without / n) if n_without else 0.0)
    return components, float(bits / n)


def components_of(
    Z: Float[np.ndarray, "n D"],
    labels: Int[np.ndarray, " n"],
    core_labels: Int[np.ndarray, " n"],
    dimensions: Sequence[int],
    parents: Sequence[int | None],
    enclosed: Sequence[tuple[int, ...]],
) -> list[Component]:
    """What can be said about each leaf; one without rows has its center at the origin."""
    out = []
    for c, (dimension, parent) in enumerate(zip(dimensions, parents, strict=True)):
        rows, core = np.flatnonzero(labels == c), np.flatnonzero(core_labels == c)
        points = Z[rows] if len(rows) else np.zeros((1, Z.shape[1]))
        out.append(Component(dimension, rows, core, parent, *_center_and_spread(points), enclosed[c]))
    return out


def _center_and_spread(
    points: Float[np.ndarray, "m D"],
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    center = points.mean(axis=0)
    spread = np.linalg.svd(points - center, compute_uv=False) / np.sqrt(len(points))
    return center, np.pad(spread, (0, points.shape[1] - len(spread)))
