"""The coordinates in which all candidates are compared, with the precision of each: principal components of a
table, the latent of an autoencoder for images."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from disentree.geometry.pca import principal_axes
from disentree.mimosa.coordinates.linear import linear_representation
from disentree.mimosa.coordinates.precision import precision_of
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows
from disentree.mimosa.density.structureless import Columns, WhiteNoise
from disentree.utils.extras import needing

log = logging.getLogger("disentree.mimosa")

REPRESENTATIONS = ("auto", "linear", "autoencoder")
IMAGES = 2_000  # rows of images from which an autoencoder is worth its training
# Share of the variance of left-out images that the latent may leave untold: if it is more, they are not on sheets
# of few dimensions. 2,000 images of Spaceshapes leave .12, 5,000 .07; 5,000 of Fashion-MNIST .16, of MNIST .30.
UNTOLD = 0.15
LEFT_OUT, KNOWN_BY_HEART = (
    1_000,
    20_000,
)  # rows: looked at; and from which there are too many to be learned by heart
LATENT_PRECISION = 1e-6  # of the latent of an autoencoder, relative to its deviation
ROUNDING = 1e-9  # deviations below this part of the largest are rounding: no coordinate
# Columns whose ranges differ by more than this factor are not in the same unit, and are standardized. Ranges, and
# not deviations: a pixel that is rarely set varies little, and in the same unit as the others.
SAME_UNIT = 30.0
RARE = 0.1  # share of columns whose ranges may be smaller
MOST = 100  # coordinates: what the others hold is too little, and too much like noise, to tell leaves apart
PRECISION_ROWS = 20_000  # rows that the grid of a column is looked for in
FAR = 1e4  # times the range of nine tenths of a column: values beyond it are mistakes, and no part of any cloud


@dataclass(frozen=True)
class Coordinates:
    """Coordinates that hold the data.

    Attributes
    ----------
    representation : Representation
        Takes rows to the coordinates.
    floor : array of shape (D,)
        The precision of each coordinate: no deviation is taken below it.
    columns : Columns or None
        The way back to the table's own columns; None for the latent of an autoencoder.
    """

    representation: Representation
    floor: Float[np.ndarray, " D"]
    columns: Columns | None


def choose_coordinates(
    X: Shaped[np.ndarray, "n ..."], choice: str, seed: np.random.SeedSequence, verbose: bool = False
) -> Coordinates:
    """Line 1 of the paper's Algorithm 1: "linear", "autoencoder", or "auto" for an autoencoder of images, if they
    are many and its latent tells nearly all of them, and principal components of everything else."""
    if choice == "autoencoder" or (choice == "auto" and X.ndim > 2 and len(X) >= IMAGES):
        with needing("MIMOSA's autoencoder", 'representation="linear" does without it'):
            from disentree.mimosa.coordinates.autoencoder import autoencoder_representation, untold

        if choice == "auto":
            left_out, trained = _left_out(X, seed)
            found = autoencoder_representation(trained, seed, verbose)
            share = untold(found, left_out)
        else:
            found, share = autoencoder_representation(X, seed, verbose), 0.0
        if share <= UNTOLD:
            return Coordinates(found, LATENT_PRECISION * found.transform(X[:IMAGES]).std(axis=0), None)
        log.info("the latent of an autoencoder leaves %.0f %% of images untold: principal components", 100 * share)
    rows = as_float(as_rows(X)).astype(np.float64)
    return table_coordinates(rows, np.random.default_rng(seed))


def _left_out(
    X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence
) -> tuple[Shaped[np.ndarray, "m ..."], Shaped[np.ndarray, "k ..."]]:
    """Rows to see what an autoencoder tells of them, and those to train it on: without the first if there are so
    few that they would be known by heart."""
    rows = np.random.default_rng(seed.spawn(1)[0]).choice(len(X), min(LEFT_OUT, len(X) // 10), replace=False)
    return X[rows], X if len(X) >= KNOWN_BY_HEART else np.delete(X, rows, axis=0)


def latent_coordinates(Z: Float[np.ndarray, "n D"]) -> Coordinates:
    """Rows that are in the latent of an autoencoder already."""
    D = Z.shape[1]
    there = Representation("autoencoder", np.zeros(D), np.eye(D), np.ones(D))
    return Coordinates(there, LATENT_PRECISION * Z.std(axis=0), None)


def is_far(X: Float[np.ndarray, "n p"]) -> Bool[np.ndarray, " n"]:
    """Rows with a value that is absurdly far from all others; columns that hardly vary have none."""
    low, middle, high = np.quantile(X, [0.05, 0.5, 0.95], axis=0)
    far = np.abs(X - middle) > FAR * np.where(high > low, high - low, np.inf)
    return far.any(axis=1)


def in_same_unit(ranges: Float[np.ndarray, " p"]) -> bool:
    """Whether columns with these ranges may be in one unit; few may vary less than the others."""
    ranges = np.sort(ranges)
    return bool(ranges[-1] <= SAME_UNIT * ranges[int(RARE * len(ranges))])


def table_coordinates(X: Float[np.ndarray, "n p"], rng: np.random.Generator) -> Coordinates:
    """Principal components of a table: of its columns as they are if they are in one unit, else standardized. Rows
    that are absurdly far from all others have no say."""
    X = X[~is_far(X)] if len(X) else X
    mean = X.mean(axis=0)
    deviation = np.sqrt(((X - mean) ** 2).mean(axis=0))
    some = X if len(X) <= PRECISION_ROWS else X[np.sort(rng.choice(len(X), PRECISION_ROWS, replace=False))]
    precision = precision_of(some)
    varies = deviation > precision * 1e-3
    if not varies.any():
        none = np.zeros((X.shape[1], 0))
        return Coordinates(
            Representation("linear", mean, none, np.zeros(0)), np.zeros(0), Columns(mean, none.T, precision)
        )
    scale = np.where(varies, 1.0 if in_same_unit(np.ptp(X[:, varies], axis=0)) else deviation, np.inf)
    axes = principal_axes((X - mean) / scale, MOST, solver="auto", random_state=rng)
    s = axes.singular_values
    kept = int((s > ROUNDING * s[0]).sum())
    basis = axes.axes[:, :kept]
    weights = basis / scale[:, None]
    back = (basis * np.where(varies, scale, 0.0)[:, None]).T
    floor = np.sqrt((weights**2).T @ (precision**2))
    representation = Representation("linear", mean, weights, s)
    return Coordinates(representation, floor, Columns(mean, back, precision))


def white_noise(X: Shaped[np.ndarray, "n ..."], columns: Columns) -> WhiteNoise | None:
    """White noise that shows in the spectrum of a table, in its coordinates."""
    found = linear_representation(X)
    if found is None or found.noise is None:
        return None
    weights = columns.basis @ found.weights
    center = np.linalg.pinv(columns.basis.T) @ (found.mean - columns.mean)
    return WhiteNoise(center, weights, found.noise)


def landmarks(Z: Float[np.ndarray, "n D"], most: int, seed: np.random.SeedSequence) -> Int[np.ndarray, " m"]:
    """Rows that the structure is found on, in an order of the data's own, so that nothing depends on the order
    they came in."""
    order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
    if len(order) <= most:
        return order
    return order[np.sort(np.random.default_rng(seed).choice(len(Z), most, replace=False))]
