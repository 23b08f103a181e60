"""Which scale a column of numbers is best described on: as it is, or after a transform that is undone later."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from disentree.tables.kinds import is_whole

WORTH = 0.1  # bits per value that a transform must save: less is not worth reading a logarithm
FEWEST = 20  # different values, to choose by: a few counts have no shape
LEAST = float(np.finfo(float).tiny)  # positive number
ANSCOMBE = 0.375  # added to counts, whose roots then vary alike however large they are (Anscombe 1948)
TRANSFORMS = ("none", "log", "root", "arcsinh")


class Scale(NamedTuple):
    """A transform, and the unit in which numbers enter it."""

    transform: str
    unit: float


def forward(x: Float[np.ndarray, " n"], transform: str, unit: float) -> Float[np.ndarray, " n"]:
    """Transformed numbers. Logarithms and roots are of x + unit, so that zeros are no exception."""
    if transform == "log":
        return np.log(np.maximum(x + unit, LEAST))
    if transform == "root":
        return np.sqrt(np.maximum(x + unit, 0.0))
    if transform not in TRANSFORMS:
        raise ValueError(f"there is no transform {transform!r} of a column: was this saved by another version?")
    return np.arcsinh(x / unit) if transform == "arcsinh" else x


def backward(t: Float[np.ndarray, " n"], transform: str, unit: float) -> Float[np.ndarray, " n"]:
    """The numbers that `forward` transformed."""
    if transform == "log":
        return np.exp(np.minimum(t, 700.0)) - unit
    if transform == "root":
        return np.maximum(t, 0.0) ** 2 - unit
    return np.sinh(np.clip(t, -700.0, 700.0)) * unit if transform == "arcsinh" else t


def log_slope(x: Float[np.ndarray, " n"], transform: str, unit: float) -> Float[np.ndarray, " n"]:
    """Log of the derivative of `forward`."""
    if transform == "log":
        return -np.log(np.maximum(x + unit, LEAST))
    if transform == "root":
        return -np.log(2) - 0.5 * np.log(np.maximum(x + unit, LEAST))
    return -np.log(np.hypot(x, unit)) if transform == "arcsinh" else np.zeros_like(x)


def deviation(x: Float[np.ndarray, " n"]) -> float:
    """The standard deviation, also of numbers whose squares are not in float64; 0 of none."""
    if not len(x):
        return 0.0
    size = float(np.abs(x).max())
    power = 2.0 ** np.floor(np.log2(size)) if size > 0 else 1.0
    return float((x / power).std() * power)


def choose_scale(x: Float[np.ndarray, " n"]) -> Scale:
    """The transform after which a Gaussian describes some numbers, without empty cells, in the fewest bits."""
    plain = Scale("none", 1.0)
    if len(np.unique(x)) < FEWEST:
        return plain
    spread = float(np.subtract(*np.quantile(x, [0.75, 0.25]))) or deviation(x)
    options = [Scale("arcsinh", spread)]
    if x.min() > 0:
        options.append(Scale("log", 0.0))
    elif x.min() == 0:
        options.append(Scale("log", float(np.median(x[x > 0]))))
    if x.min() > 0 or (x.min() == 0 and is_whole(x)):
        options.append(Scale("root", ANSCOMBE if is_whole(x) else 0.0))
    best = min(options, key=lambda option: _bits(x, option))
    return best if _bits(x, best) < _bits(x, plain) - WORTH else plain


def _bits(x: Float[np.ndarray, " n"], scale: Scale) -> float:
    """Bits per value under a Gaussian on this scale, up to a constant that is the same for all scales."""
    t = forward(x, *scale)
    return float((np.log(max(deviation(t), LEAST)) - log_slope(x, *scale).mean()) / np.log(2))
