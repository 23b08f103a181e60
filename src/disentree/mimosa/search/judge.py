"""The judge: held-out bits per row of a decomposition, at the precision of the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.precision import precision_of, rotated
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate, Leaf, LeafCandidate
from disentree.mimosa.density.structureless import Background, fit_gaussian, fit_margins, fit_ppca
from disentree.mimosa.tree.parts import splits

STRUCTURELESS = frozenset({"gaussian", "ppca", "margins"})  # the models that `structureless` makes


@dataclass
class HeldOut:
    """One candidate's held-out bits, row by row (NaN for rows that were never held out)."""

    bits: Float[np.ndarray, " n"]
    seconds: float = 0.0


def held_out_bits(
    fits: Callable[[Float[np.ndarray, "m D"]], Sequence[Candidate]],
    Z: Float[np.ndarray, "n D"],
    floor: Float[np.ndarray, " D"],
    held: Sequence[Int[np.ndarray, " _"]],
) -> dict[str, HeldOut]:
    """Bits of each row under candidates that were fitted without it, by their names."""
    out: dict[str, HeldOut] = {}
    for rows in held:
        rest = np.delete(Z, rows, axis=0)
        broad = Background.fit(rest, floor)
        start = time.perf_counter()
        for candidate in fits(rest):
            own = out.setdefault(candidate.finder, HeldOut(np.full(len(Z), np.nan)))
            own.bits[rows] = -broad.mixed(candidate.log_density(Z[rows]), Z[rows]) / np.log(2)
            own.seconds += time.perf_counter() - start
            start = time.perf_counter()
    for own in out.values():  # a fold in which a finder proposed nothing counts as the worst that it had
        missing = np.isnan(own.bits) & np.isin(np.arange(len(Z)), np.concatenate(held))
        if missing.any() and not missing.all():
            own.bits[missing] = np.nanmax(own.bits)
    return out


def structureless(
    Z: Float[np.ndarray, "n D"], floor: Float[np.ndarray, " D"], columns: Columns | None
) -> list[LeafCandidate]:
    """One Gaussian, one probabilistic PCA, and one Gaussian of columns with normal margins."""
    leaves: dict[str, Leaf] = {"gaussian": fit_gaussian(Z, floor), "ppca": fit_ppca(Z, floor)}
    if columns is not None and len(Z) > 2 * Z.shape[1] and Z.shape[1] <= 100:
        leaves["margins"] = fit_margins(Z, columns)
    return [LeafCandidate(name, [leaf], np.ones(1)) for name, leaf in leaves.items()]


def principal(X: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "n D"], Columns]:
    """Principal components that hold the data, and the way back to the columns."""
    precision = precision_of(X)
    mean = X.mean(axis=0)
    _, s, V = np.linalg.svd(X - mean, full_matrices=False)
    basis = V[s > 1e-9 * s[0]]
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
        parts = [Z[rest & (labels == k)] for k in np.unique(labels[rest])]
        parts = [own for own in parts if len(own) >= 3]
        shares = np.array([len(own) for own in parts])
        leaves = [fit_ppca(own, floor) for own in parts]
        fitted = LeafCandidate("labels", leaves, shares / shares.sum())
        broad = Background.fit(Z[rest], floor)
        bits[rows] = -broad.mixed(fitted.log_density(Z[rows]), Z[rows]) / np.log(2)
    return float(np.nanmean(bits))


def log2_density(
    candidate: Candidate,
    representation: Representation,
    embedding: Float[np.ndarray, "n D"],
    Z: Float[np.ndarray, "m D"],
) -> Float[np.ndarray, " m"]:
    """The log2 of the density of rows in the units of X, with the broad background of the training rows that every
    candidate gets, so that one strange row does not decide."""
    broad = Background.fit(embedding, np.full(Z.shape[1], np.finfo(float).tiny))
    density = broad.mixed(candidate.log_density(Z), Z) / np.log(2)
    if representation.kind != "linear" or not Z.shape[1]:
        return density
    size = np.abs(representation.weights).max()  # apart: its powers need not be in float64
    back = np.linalg.pinv(np.asarray(representation.weights, dtype=np.float64) / size)
    return density - (0.5 * np.linalg.slogdet(back @ back.T)[1] - len(back) * np.log(size)) / np.log(2)
