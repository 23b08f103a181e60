"""The table's own columns, as linear functions of the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Columns:
    """The table's own columns: X = Z @ basis + mean, with the precision of each column."""

    mean: Float[np.ndarray, " p"]
    basis: Float[np.ndarray, "D p"]  # orthonormal rows
    precision: Float[np.ndarray, " p"]

    def independent(self) -> Columns:
        """As many columns as there are dimensions, from which the others follow (pivoted QR)."""
        D, p = self.basis.shape
        if p == D:
            return self
        from scipy.linalg import qr

        decomposed: Any = qr(self.basis, pivoting=True, mode="economic")
        chosen = np.sort(decomposed[-1][:D])
        return Columns(self.mean[chosen], self.basis[:, chosen], self.precision[chosen])

    def of(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n p"]:
        return Z @ self.basis + self.mean

    @property
    def log_volume(self) -> float:
        return float(np.linalg.slogdet(self.basis)[1]) if self.basis.shape[0] == self.basis.shape[1] else 0.0


def precision_of_coordinates(columns: Columns) -> tuple[Float[np.ndarray, "D D"], Float[np.ndarray, " D"]]:
    """The precision of coordinates, as independent errors (rows of a matrix) and of each coordinate by itself: a
    column on a coarse grid is coarse in its own direction, not in every coordinate that it is a part of."""
    errors = np.asarray(np.linalg.qr(np.linalg.pinv(columns.basis) * columns.precision[:, None], mode="r"))
    return errors, np.sqrt((errors**2).sum(axis=0))
