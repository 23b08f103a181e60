"""What a fitted MIMOSA says about each component, and the length of the description that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.pca import principal_axes
from disentree.mimosa.density.sheet import Sheet


@dataclass(frozen=True)
class Component:
    """One manifold of the data: a path of the hierarchy.

    Attributes
    ----------
    dimension : int
    path : int
        The label of its rows, an index into `hierarchy_.paths`.
    labels : array of shape (n,)
        The labels of all rows of the training data.
    core_labels : array of shape (n,)
        The same, -1 for rows that it was not found from.
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
    path: int
    labels: Int[np.ndarray, " n"] = field(repr=False)
    core_labels: Int[np.ndarray, " n"] = field(repr=False)
    parent: int | None
    center: Float[np.ndarray, " D"]
    spread: Float[np.ndarray, " D"]
    parents: tuple[int, ...] = ()

    @property
    def indices(self) -> Int[np.ndarray, " m"]:
        """Rows of the training data that are labeled with it."""
        return np.flatnonzero(self.labels == self.path)

    @property
    def core_indices(self) -> Int[np.ndarray, " c"]:
        """The rows that it was found from."""
        return np.flatnonzero(self.core_labels == self.path)

    @cached_property
    def size(self) -> int:
        """Number of rows that are labeled with it."""
        return int(np.count_nonzero(self.labels == self.path))


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
    places = [sheet.points for sheet in sheets]
    components = components_of(Z, labels, core_labels, [s.dimension for s in sheets], parents, direct, places)
    float_bits = np.finfo(np.float32).nmant + 1  # of a coordinate
    n_without = n - np.count_nonzero(labels >= 0)
    bits = n_without * n_dims * float_bits + (n_without * -np.log2(n_without / n) if n_without else 0.0)
    for sheet, component in zip(sheets, components, strict=True):
        if component.size:
            steps = np.maximum(sheet.residuals() * 2.0**float_bits, 1.0)
            across = (n_dims - sheet.dimension) * np.log2(steps).mean()
            bits += component.size * (sheet.dimension * float_bits + across - np.log2(component.size / n))
    return components, float(bits / n)


def components_of(
    Z: Float[np.ndarray, "m D"],
    labels: Int[np.ndarray, " n"],
    core_labels: Int[np.ndarray, " n"],
    dimensions: Sequence[int],
    parents: Sequence[int | None],
    enclosed: Sequence[tuple[int, ...]],
    places: Sequence[Float[np.ndarray, "_ D"]] | None = None,
    sample: Int[np.ndarray, " m"] | None = None,
) -> list[Component]:
    """What can be said about each leaf; one without rows is where its place is, or at the origin. Z are all rows,
    or the `sample` of them."""
    out, own = [], labels if sample is None else labels[sample]
    for c, (dimension, parent) in enumerate(zip(dimensions, parents, strict=True)):
        points = Z[own == c]
        if not len(points):
            points = np.zeros((1, Z.shape[1])) if places is None else places[c].copy()
        center = points.mean(axis=0)
        points -= center
        spread = principal_axes(points, solver="qr").singular_values / np.sqrt(len(points))
        spread = np.pad(spread, (0, points.shape[1] - len(spread)))
        out.append(Component(dimension, c, labels, core_labels, parent, center, spread, enclosed[c]))
    return out
