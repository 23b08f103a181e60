"""Rows that are far from all that were fitted, and what coordinates do not hold of rows: so that how strange a row
is is always a number, and rises with each of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from scipy.sparse import issparse

from disentree.geometry.pca import BLOCK
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows

# Deviations beyond which densities are not computed: a tenth of the exponents that float64 holds, so that fourth
# powers of numbers that are a billion times finer are still numbers.
_REACH = float(np.finfo(float).max ** 0.1)


@dataclass(frozen=True)
class Reach:
    """How far training rows reach: along the coordinates, and off them."""

    spread: Float[np.ndarray, " D"]  # the deviation of each coordinate
    off: Float[np.ndarray, " p"]  # root mean square of what the coordinates leave of each column; empty if nothing

    @classmethod
    def of(cls, representation: Representation, X: Any, Z: Float[np.ndarray, "n D"]) -> Reach:
        """Of training rows and their coordinates."""
        spread = Z.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        if _is_whole(representation):
            return cls(spread, np.zeros(0))
        (size, largest, off), extent = np.zeros((3, len(representation.mean))), 0.0
        for own, rows in _blocks(representation, X):
            left = rows - representation.inverse_transform(Z[own])
            more = np.maximum(np.maximum(np.abs(left).max(axis=0), largest), np.finfo(float).tiny)
            off = off * (largest / more) ** 2 + ((left / more) ** 2).sum(axis=0)
            size, extent, largest = np.maximum(size, np.abs(rows).max(axis=0)), max(extent, np.ptp(rows)), more
        off = largest * np.sqrt(off / len(Z))
        rounding = np.finfo(float).eps * len(off) * np.maximum(size, extent)
        return cls(spread, np.maximum(off, np.maximum(rounding, np.finfo(float).tiny)))

    def __call__(
        self, representation: Representation, X: Any
    ) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, " n"]]:
        """Coordinates of rows in which densities are numbers, and the log of how many times farther each row is:
        those out of reach are moved toward the mean."""
        beyond = np.zeros(X.shape[0])
        if representation.network is not None:
            return self._of_network(representation, X)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = representation.transform(X)
            far = ~(np.abs(Z / self.spread).max(axis=1, initial=0.0) <= _REACH)
        if far.any():
            half = representation.rows(as_rows(X)[far]) / 2 - representation.mean / 2  # no difference overflows
            size = np.abs(half).max(axis=1)
            along = (half / size[:, None]) @ representation.weights
            steep = np.abs(along / self.spread).max(axis=1)
            Z[far] = along / steep[:, None] * _REACH
            beyond[far] = np.log(2) + np.log(size) + np.log(steep) - np.log(_REACH)
        return Z, beyond

    def _of_network(
        self, representation: Representation, X: Shaped[np.ndarray, "n ..."]
    ) -> tuple[Float[np.ndarray, "n D"], Float[np.ndarray, " n"]]:
        """Networks have numbers of single precision: pixels are brought into their reach."""
        rows = as_float(as_rows(X), representation.pixel_scale).astype(np.float64)
        most = 1e9 * max(1.0, float(np.abs(representation.mean).max()))
        size = np.maximum(np.abs(rows).max(axis=1), most)
        near = (rows / size[:, None] * most * representation.pixel_scale).reshape(np.shape(X))
        return representation.transform(X if (size == most).all() else near), np.log(size / most)

    def bits_off(
        self, representation: Representation, X: Any, Z: Float[np.ndarray, "n D"]
    ) -> Float[np.ndarray, " n"]:
        """Bits of what the coordinates do not hold of rows: by a Cauchy density, the farther the more."""
        if not len(self.off):
            return np.zeros(len(Z))
        out = np.empty(len(Z))
        for own, rows in _blocks(representation, X):
            with np.errstate(over="ignore", invalid="ignore"):
                away = np.abs((rows - representation.inverse_transform(Z[own])) / self.off)
            away = np.nan_to_num(away, nan=np.finfo(float).max)
            most = np.maximum(away.max(axis=1), 1.0)
            out[own] = np.log2(most) + 0.5 * np.log2((1 / most) ** 2 + ((away / most[:, None]) ** 2).sum(axis=1))
        return out


def _blocks(representation: Representation, X: Any) -> Iterator[tuple[slice, Float[np.ndarray, "b p"]]]:
    """Rows as the representation gives them back: all at once, sparse ones block by block."""
    flat = as_rows(X)
    step = max(1, BLOCK * BLOCK // (8 * flat.shape[1])) if issparse(flat) else max(1, flat.shape[0])
    for start in range(0, flat.shape[0], step):
        own = slice(start, start + step)
        yield own, representation.rows(flat[own])


def unit_of(X: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, " p"]:
    """A power of two for each column, by which rows are neither huge nor tiny: one for all, unless their sizes
    differ so much that they cannot be in the same unit; ones if they are of usual size."""
    sizes = np.zeros(int(np.prod(X.shape[1:])))
    if X.dtype.kind == "f" and len(X):
        most, least = np.fmax.reduce(as_rows(X)), np.fmin.reduce(as_rows(X))  # NaN if all cells are empty
        sizes = np.nan_to_num(np.maximum(np.abs(most), np.abs(least)).astype(np.float64))
    powers = np.frexp(sizes[sizes > 0])[1]
    usual = 100  # powers of two: then fourth powers are in float64 too
    if not len(powers) or np.abs(powers).max() <= usual:
        return np.ones(len(sizes))
    if np.ptp(powers) <= usual:
        return np.full(len(sizes), np.ldexp(1.0, -int(np.clip(powers.max(), -1000, 1000))))
    unit = np.ones(len(sizes))
    unit[sizes > 0] = np.ldexp(1.0, -np.clip(powers, -1000, 1000))
    return unit


def _is_whole(representation: Representation) -> bool:
    """Whether rows follow from their coordinates, whatever they are."""
    p, q = representation.weights.shape
    return representation.network is None and p == q


def square(u: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The square of deviations; of those beyond reach less, but a number that rises."""
    u = np.minimum(np.abs(u), np.finfo(float).max)
    return np.minimum(u, _REACH) ** 2 * (1 + np.log(np.maximum(u, _REACH) / _REACH))
