"""White noise that shows in the spectrum of a table: its principal components end in a plateau."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Shaped
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from disentree.geometry.pca import EXACT_COLUMNS, PrincipalAxes, principal_axes
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.representation import as_float, as_rows


@dataclass(frozen=True)
class WhiteNoise:
    """Coordinates in which noise is white: ``(Z - center) @ weights``, with its deviation along each of them."""

    center: Float[np.ndarray, " D"]
    weights: Float[np.ndarray, "D q"]
    deviation: Float[np.ndarray, " q"]


@dataclass(frozen=True)
class Decomposed:
    """Principal axes of rows minus their mean, divided by units: infinite for columns that are left out."""

    mean: Float[np.ndarray, " p"]
    units: Float[np.ndarray, " p"]
    axes: PrincipalAxes

    @classmethod
    def of(
        cls,
        A: Float[np.ndarray, "n p"],
        mean: Float[np.ndarray, " p"],
        units: Float[np.ndarray, " p"],
        known: Decomposed | None,
    ) -> Decomposed:
        """Of rows minus their mean; `known` if that is of the same rows, as equal means to the last bit say."""
        if (
            known is not None
            and known.axes.n_rows == len(A)
            and np.array_equal(known.mean, mean)
            and np.array_equal(known.units, units)
        ):
            return known
        return cls(mean, units, principal_axes(A / units, solver="qr"))


def white_noise(
    X: Shaped[np.ndarray, "n ..."], columns: Columns, known: Decomposed | None = None
) -> WhiteNoise | None:
    """The noise of a table in its coordinates, or None if it has none that shows. `known` is a decomposition that
    was computed before, of these rows or of others."""
    rows = as_rows(X)
    if rows.shape[1] > EXACT_COLUMNS and not _looks_low_rank(rows):
        return None
    A = as_float(rows).astype(np.float64)
    mean = A.mean(axis=0)
    A = A - mean
    scale = np.sqrt((A**2).mean(axis=0))
    varies = scale > COORDINATES.rounding * max(scale.max(initial=0.0), np.abs(mean).max(initial=0.0) * 1e-6)
    varies &= columns.basis.any(axis=0)  # without those that are left out
    if not varies.any():
        return None
    # Rounding shows best with columns of equal size.
    found = Decomposed.of(A, mean, np.where(varies, scale, np.inf), known)
    s = found.axes.singular_values
    rank = int((s > COORDINATES.rounding * s[0]).sum())
    few = rank <= COORDINATES.most_linear
    if few and rank < varies.sum():
        return None
    # White noise shows in the units of the data, or in units in which it has been measured.
    for units in _units(A, scale, varies):
        one = found if units is scale else Decomposed.of(A, mean, np.where(varies, units, np.inf), known)
        t = one.axes.singular_values
        above = _signal_rank(t[:rank], len(A))
        if above > COORDINATES.most_linear or above == rank:
            continue
        # With so few columns, directions of equal size may be there by chance.
        if few and (
            not above
            or rank - above < COORDINATES.noise_directions
            or not _is_gaussian(A / one.units @ one.axes.axes[:, above:rank])
        ):
            continue
        if not above:
            return None
        weights = one.axes.whitening(above) / one.units[:, None]
        center = np.linalg.pinv(columns.basis.T) @ (mean - columns.mean)
        deviation = np.sqrt(np.mean(t[above:rank] ** 2)) / t[:above]
        return WhiteNoise(center, columns.basis @ weights, deviation)
    return None


def _units(
    A: Float[np.ndarray, "n p"], scale: Float[np.ndarray, " p"], varies: Bool[np.ndarray, " p"]
) -> Iterator[Float[np.ndarray, " p"]]:
    yield scale
    yield np.ones_like(scale)
    if (measured := _noise_of_columns(A, scale, varies)) is not None:
        yield measured


def _noise_of_columns(
    A: Float[np.ndarray, "n p"], scale: Float[np.ndarray, " p"], varies: Bool[np.ndarray, " p"]
) -> Float[np.ndarray, " p"] | None:
    """Standard deviation of independent noise in every column: factor analysis with the fewest factors after which
    a plateau of noise is left, or None if there is no such number."""
    n, p = len(A), int(varies.sum())
    if not 5 <= p <= 512 or n < 10 * p:
        return None
    S = np.cov((A[:, varies] / scale[varies]).T, bias=True)
    unexplained = 1 / np.diag(np.linalg.pinv(S, hermitian=True))  # variance left by regression on the others
    rows = _rows_with_covariance(S)
    for k in range(1, min(COORDINATES.most_linear, p // 2) + 1):
        if (p - k) ** 2 <= p + k:
            break
        model = FactorAnalysis(
            k,
            max_iter=COORDINATES.factor_iterations,
            noise_variance_init=unexplained.clip(min=1e-9),
            svd_method="lapack",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the last iterations change little
            variances = model.fit(rows).noise_variance_.clip(min=1e-9)
        root = np.sqrt(variances)
        values = np.linalg.eigvalsh(S / root / root[:, None])[::-1]
        if _signal_rank(np.sqrt(values.clip(min=0) * n), n) == k:
            units = scale.copy()
            units[varies] *= root
            return units
    return None


def _rows_with_covariance(S: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p1 p"]:
    """As few rows as can have mean 0 and this covariance: factor analysis sees no more of the data than that, and
    its cost does not grow with the number of rows."""
    p = len(S)
    values, vectors = np.linalg.eigh(S)
    root = np.sqrt(values.clip(min=0) * (p + 1))[:, None] * vectors.T
    contrasts = np.linalg.qr(np.column_stack([np.ones(p + 1), np.eye(p + 1)[:, :p]]))[0][:, 1:]
    return contrasts @ root


def _is_gaussian(noise: Float[np.ndarray, "n k"]) -> bool:
    """Whether squared distances from the center vary as much as those of Gaussian noise; those of a box or of a
    few clusters do not."""
    squares = (noise**2 / (noise**2).mean(axis=0)).sum(axis=1)
    return bool(abs(squares.var() / (2 * noise.shape[1]) - 1) < 0.15 + 6 / np.sqrt(len(noise)))


def _signal_rank(s: Float[np.ndarray, " r"], n: int) -> int:
    """The number of singular values above a plateau of white noise; all of them if there is no plateau.

    Singular values of noise alone differ by no more than (1 + b) / (1 - b) with b the root of columns over
    rows (Marchenko and Pastur). A plateau is at least half of the spectrum.
    """
    b = np.sqrt(min(len(s) / n, 0.5))
    spread = 1.1 * (1 + b) / (1 - b)
    above = int((s > spread * s[-1]).sum()) if len(s) else 0
    return above if 2 * above <= len(s) else len(s)


def _looks_low_rank(rows: Shaped[np.ndarray, "n p"]) -> bool:
    """Whether few components explain nearly all variance of a few hundred rows of wide data."""
    some = as_float(rows[np.linspace(0, len(rows) - 1, min(len(rows), 256)).astype(int)])
    s = np.linalg.svd(some - some.mean(axis=0), compute_uv=False)
    few = COORDINATES.most_linear
    return len(s) <= few or bool((s[few:] ** 2).sum() <= 0.05 * (s**2).sum())
