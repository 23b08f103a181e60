"""The representation of data that is linear up to rounding or white noise: whitened principal components.

They are exact, take a fraction of a second, and are the same for every rotation, scaling and shift of the input.
"""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Bool, Float, Shaped
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from disentree.geometry.pca import EXACT_COLUMNS, principal_axes
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows, pixel_scale_of

MAX_LINEAR = 20  # principal components that neighbors and subspaces can still be found in
ROUNDING = 1e-7  # singular values below this fraction of the largest are rounding
MIN_NOISE_DIRECTIONS = 4  # of a table of few columns, to call their variance noise
FACTOR_ITERATIONS = 60  # of the factor analysis that measures the noise of columns, at most


def linear_representation(X: Shaped[np.ndarray, "n ..."]) -> Representation | None:
    """Whitened principal components, if few of them hold all of the data but rounding or white noise."""
    rows = as_rows(X)
    pixel_scale = pixel_scale_of(X)
    if rows.shape[1] > EXACT_COLUMNS and not _looks_low_rank(rows):
        return None
    A = as_float(rows, pixel_scale).astype(np.float64)
    mean = A.mean(axis=0)
    A = A - mean
    scale = np.sqrt((A**2).mean(axis=0))
    varies = scale > ROUNDING * max(scale.max(initial=0.0), np.abs(mean).max(initial=0.0) * 1e-6)
    if not varies.any():
        return Representation("linear", mean, np.zeros((A.shape[1], 0)), np.zeros(0), pixel_scale=pixel_scale)
    scale = np.where(varies, scale, 1.0)
    A[:, ~varies] = 0.0
    # Rounding shows best with columns of equal size.
    found = principal_axes(A / scale, solver="qr")
    s = found.singular_values
    rank = int((s > ROUNDING * s[0]).sum())
    if rank < varies.sum() and rank <= MAX_LINEAR:
        return Representation("linear", mean, found.whitening(rank) / scale[:, None], s, pixel_scale=pixel_scale)
    # White noise shows in the units of the data, or in units in which it has been measured.
    for units in (scale, np.ones_like(scale), _noise_of_columns(A, scale, varies)):
        if units is None:
            continue
        in_units = found if units is scale else principal_axes(A / units, solver="qr")
        t = in_units.singular_values
        above = _signal_rank(t[:rank], len(A))
        if above > MAX_LINEAR or above == rank:
            continue
        if rank <= MAX_LINEAR:  # with so few columns, directions of equal size may be there by chance
            spared = rank - above
            if (
                not above
                or spared < MIN_NOISE_DIRECTIONS
                or not _is_gaussian(A / units @ in_units.axes[:, above:rank])
            ):
                continue
        noise = np.sqrt(np.mean(t[above:rank] ** 2)) / t[:above] if above else None
        return Representation(
            "linear", mean, in_units.whitening(above) / units[:, None], t, noise=noise, pixel_scale=pixel_scale
        )
    if rank <= MAX_LINEAR:
        return Representation("linear", mean, found.whitening(rank) / scale[:, None], s, pixel_scale=pixel_scale)
    return None


def _noise_of_columns(
    A: Float[np.ndarray, "n p"], scale: Float[np.ndarray, " p"], varies: Bool[np.ndarray, " p"]
) -> Float[np.ndarray, " p"] | None:
    """Standard deviation of independent noise in every column: factor analysis with the fewest factors after which
    a plateau of noise is left, or None if there is no such number."""
    n, p = len(A), int(varies.sum())
    if not 5 <= p <= 512 or n < 10 * p:
        return None
    S = np.cov((A / scale)[:, varies].T, bias=True)
    unexplained = 1 / np.diag(np.linalg.pinv(S, hermitian=True))  # variance left by regression on the others
    rows = _rows_with_covariance(S)
    for k in range(1, min(MAX_LINEAR, p // 2) + 1):
        if (p - k) ** 2 <= p + k:
            break
        model = FactorAnalysis(
            k,
            max_iter=FACTOR_ITERATIONS,
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
    """Whether MAX_LINEAR components explain nearly all variance of a few hundred rows of wide data."""
    some = as_float(rows[np.linspace(0, len(rows) - 1, min(len(rows), 256)).astype(int)])
    s = np.linalg.svd(some - some.mean(axis=0), compute_uv=False)
    return len(s) <= MAX_LINEAR or bool((s[MAX_LINEAR:] ** 2).sum() <= 0.05 * (s**2).sum())
