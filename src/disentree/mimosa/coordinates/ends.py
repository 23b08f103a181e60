"""Values that pile up at an end of a column's range: incomes above a limit, amounts below one, counts of nothing.

Such rows lie on a plane, which is a fact about one column and not a leaf. They are spread beyond the end as
densely as rows lie before it. Where two columns have them in the same rows, or there is a gap before them,
something is absent there, and they stay.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.constants import COORDINATES


def spread_ends(
    Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator
) -> Float[np.ndarray, "n D"]:
    """Rows with what piles up at the ends of columns spread; not where columns follow from others."""
    if columns.basis.shape[0] != columns.basis.shape[1]:
        return Z
    X = columns.of(Z)
    found = [
        (j, sign, *pile)
        for j in range(X.shape[1])
        for sign in (1.0, -1.0)
        if (pile := _pile(sign * X[:, j], columns.precision[j])) is not None
    ]
    moved = np.zeros_like(X)
    for j, sign, own, width in found:
        others = [other for i, _, other, _ in found if i != j]
        if not any((own & other).sum() > COORDINATES.shared * (own | other).sum() for other in others):
            moved[own, j] = sign * rng.exponential(width, own.sum())
    return Z + moved @ columns.basis.T if moved.any() else Z


def _pile(x: Float[np.ndarray, " n"], precision: float) -> tuple[Bool[np.ndarray, " n"], float] | None:
    """Rows at the upper end, if they are many and no gap is before them, and the width that they would take if
    they lay as densely as those before them."""
    own = x > x.max() - 0.5 * precision
    before = np.sort(x[~own])[::-1]
    near = before[: max(own.sum(), 1)]
    if own.mean() < COORDINATES.piled or len(before) < 2 * own.sum():
        return None
    end, width = float(x[own].mean()), float(x[own].mean() - near[-1])
    is_grid = width < COORDINATES.coarse * precision
    has_gap = end - near[0] > width / 2
    return None if is_grid or has_gap else (own, width)
