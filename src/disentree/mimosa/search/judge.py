"""The judge: held-out bits per row of a decomposition, at the precision of the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from disentree.mimosa.coordinates.precision import precision_of, rotated
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.structureless import Columns, fit_gaussian, fit_margins, fit_ppca

FOLDS = 5  # for few rows; one split for many, where its own doubt is small
FEW = 1000
HELD_OUT = 0.3
DOUBT = 2.0  # standard errors of the paired difference that a saving must exceed
TESTED_DOUBT = 1.0  # the same, for leaves that rows have confirmed already by the valleys between them
STRUCTURELESS = ("gaussian", "ppca", "margins")


@dataclass(frozen=True)
class Background:
    """A broad density that every candidate gets alike, so that one strange row does not decide.

    A multivariate Cauchy with the covariance of the data as its scale; its share is one row of the training data.
    """

    mean: Float[np.ndarray, " D"]
    deviations: Float[np.ndarray, " D"]
    share: float

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        D = Z.shape[1]
        r2 = (((Z - self.mean) / self.deviations) ** 2).sum(axis=1)
        norm = gammaln((1 + D) / 2) - gammaln(0.5) - 0.5 * D * np.log(np.pi) - np.log(self.deviations).sum()
        return norm - 0.5 * (1 + D) * np.log1p(r2)

    def mixed(self, log_density: Float[np.ndarray, " n"], Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return np.logaddexp(np.log1p(-self.share) + log_density, np.log(self.share) + self.log_density(Z))


def background(Z: Float[np.ndarray, "n D"], floor: Float[np.ndarray, " D"]) -> Background:
    return Background(np.median(Z, axis=0), np.maximum(Z.std(axis=0), floor), 1.0 / (len(Z) + 1))


@dataclass
class Verdict:
    """One candidate's held-out bits, row by row (NaN for rows that were never held out)."""

    finder: str
    bits: Float[np.ndarray, " n"]
    seconds: float

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.bits))


def splits(Z: Float[np.ndarray, "n D"], rng: np.random.Generator) -> list[Int[np.ndarray, " _"]]:
    """Rows to hold out: folds for few rows, one part for many. Equal rows are held out together, since a row is
    no test of a model that was fitted to its copy."""
    copies = np.unique(Z, axis=0, return_inverse=True)[1].reshape(-1)
    place = rng.permutation(copies.max(initial=-1) + 1)[copies]
    order = np.argsort(place, kind="stable")
    n, distinct = len(Z), copies.max(initial=-1) + 1
    if n < FEW:
        return [np.flatnonzero(place % FOLDS == f) for f in range(min(FOLDS, distinct))]
    held = order[: int(HELD_OUT * n)]
    return [np.flatnonzero(place <= place[held[-1]])]


def held_out_bits(
    fits: Callable[[np.ndarray], Sequence[Candidate]],
    Z: Float[np.ndarray, "n D"],
    floor: Float[np.ndarray, " D"],
    held: list[Int[np.ndarray, " _"]],
) -> dict[str, Verdict]:
    """Bits of each row under candidates that were fitted without it. `fits` gives a list of named candidates."""
    out: dict[str, Verdict] = {}
    for rows in held:
        rest = np.ones(len(Z), bool)
        rest[rows] = False
        broad = background(Z[rest], floor)
        start = time.perf_counter()
        for candidate in fits(Z[rest]):
            name = candidate.finder
            if name not in out:
                out[name] = Verdict(name, np.full(len(Z), np.nan), 0.0)
            density = broad.mixed(candidate.log_density(Z[rows]), Z[rows])
            out[name].bits[rows] = -density / np.log(2)
            out[name].seconds += time.perf_counter() - start
            start = time.perf_counter()
    for verdict in out.values():  # a fold in which a finder had nothing to offer counts as the worst that it had
        missing = np.isnan(verdict.bits) & np.isin(np.arange(len(Z)), np.concatenate(held))
        if missing.any() and not missing.all():
            verdict.bits[missing] = np.nanmax(verdict.bits)
    return out


def saving(a: Verdict, b: Verdict) -> tuple[float, float]:
    """Bits per row that `a` saves over `b`, and the standard error of that: rows are paired."""
    difference = b.bits - a.bits
    difference = difference[~np.isnan(difference)]
    return float(difference.mean()), float(difference.std() / np.sqrt(max(len(difference), 1)))


def beyond_doubt(a: Verdict, b: Verdict, doubt: float = DOUBT) -> bool:
    """Whether `a` saves bits over `b`, by more than so many standard errors."""
    mean, error = saving(a, b)
    return mean > doubt * error


def structureless(Z, floor, columns: Columns | None) -> list[Candidate]:
    one = np.ones(1)
    out = [Candidate("gaussian", [fit_gaussian(Z, floor)], one), Candidate("ppca", [fit_ppca(Z, floor)], one)]
    if columns is not None and len(Z) > 2 * Z.shape[1] and Z.shape[1] <= 100:
        out.append(Candidate("margins", [fit_margins(Z, columns)], one))
    return out


def principal(X: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "n D"], Columns]:
    """Principal components that hold the data, and the way back to the columns."""
    precision = precision_of(X)
    mean = X.mean(axis=0)
    _, s, V = np.linalg.svd(X - mean, full_matrices=False)
    keep = s / np.sqrt(len(X)) > np.maximum(1e-9 * s[0] / np.sqrt(len(X)), 0)
    basis = V[keep]
    return (X - mean) @ basis.T, Columns(mean, basis, precision)


def description_length(model_or_labels, X: Float[np.ndarray, "n p"], random_state: int = 0) -> float:
    """Held-out bits per row of a decomposition.

    Parameters
    ----------
    model_or_labels : array of shape (n,), or a model
        Labels: a Gaussian with its own leading directions and one residual variance is fitted to the rows of each
        label outside of a fold, and the rows of the fold are described by the mixture of them. A model: anything
        with `log_density(X)` in natural logs, scored on `X` as it is; fit it to other rows.
    X : array of shape (n, p)
    random_state : int, default=0
        Divides the rows in folds.

    Returns
    -------
    float
        Bits relative to a density of 1 in the units of `X`; only differences mean something.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> iris = load_dataset("iris", numeric=True)
    >>> description_length(iris.paths, iris.X) < description_length(np.zeros(150, int), iris.X)
    True
    """
    X = np.asarray(X, float)
    if hasattr(model_or_labels, "log_density"):
        return float(-np.mean(model_or_labels.log_density(X)) / np.log(2))
    labels = np.unique(np.asarray(model_or_labels), return_inverse=True)[1]
    if len(labels) != len(X):
        raise ValueError(f"labels must have one entry per row of X ({len(X)}), got {len(labels)}")
    Z, columns = principal(X)
    floor = rotated(columns.precision, columns.basis)
    bits = np.full(len(Z), np.nan)
    for rows in splits(Z, np.random.default_rng(random_state)):
        rest = np.ones(len(Z), bool)
        rest[rows] = False
        broad = background(Z[rest], floor)
        parts, shares = [], []
        for k in np.unique(labels[rest]):
            own = Z[rest & (labels == k)]
            if len(own) < 3:
                continue
            parts.append(fit_ppca(own, floor).log_density(Z[rows]))
            shares.append(len(own))
        share = np.log(np.array(shares) / sum(shares))
        density = np.logaddexp.reduce(np.stack(parts, axis=1) + share, axis=1)
        bits[rows] = -broad.mixed(density, Z[rows]) / np.log(2)
    return float(np.nanmean(bits))
