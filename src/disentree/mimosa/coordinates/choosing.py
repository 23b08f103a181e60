"""The coordinates in which all candidates are compared, with the precision of each: principal components of a
table, the latent of an autoencoder for images."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from disentree.geometry.layout import LAYOUT
from disentree.geometry.pca import EXACT_COLUMNS, principal_axes
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.noise import Decomposed
from disentree.mimosa.coordinates.precision import precision_of
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows
from disentree.utils.extras import needing

log = logging.getLogger("disentree.mimosa")

REPRESENTATIONS = get_args(Literal["auto", "linear", "autoencoder", "graph"])


@dataclass(frozen=True)
class Coordinates:
    """Coordinates that hold the data."""

    representation: Representation  # takes rows to the coordinates
    floor: Float[np.ndarray, " D"]  # the precision of each coordinate: no deviation is taken below it
    columns: Columns | None  # the way back to the table's own columns; None for the latent of an autoencoder
    decomposed: Decomposed | None = None  # of the rows that they were chosen for, all axes

    def of_neighbors(self) -> Coordinates:
        """Those in which neighbors are looked for, without the columns: none of these tells kinds by itself."""
        few, own = LAYOUT.coordinates, self.representation
        own = replace(own, weights=own.weights[:, :few])
        return Coordinates(own, self.floor[:few], None)


def choose_coordinates(
    X: Shaped[np.ndarray, "n ..."],
    choice: str,
    seed: np.random.SeedSequence,
    verbose: bool = False,
    noise: Bool[np.ndarray, " p"] | None = None,
    weights: Float[np.ndarray, " p"] | None = None,
) -> Coordinates:
    """Line 1 of the paper's Algorithm 1: "linear", "autoencoder", or "auto" for an autoencoder of images, if they
    are many and its latent tells nearly all of them, and principal components of everything else, without the
    columns that are `noise`, the others as far apart as their `weights` say."""
    many = COORDINATES.autoencoder_rows
    if choice == "autoencoder" or (choice == "auto" and X.ndim > 2 and len(X) >= many):
        with needing("MIMOSA's autoencoder", 'representation="linear" does without it'):
            from disentree.mimosa.coordinates.autoencoder import autoencoder_representation, untold

        if choice == "auto":
            left_out, trained = _left_out(X, seed)
            found = autoencoder_representation(trained, seed, verbose)
            share = untold(found, left_out)
        else:
            found, share = autoencoder_representation(X, seed, verbose), 0.0
        if share <= COORDINATES.max_untold:
            return Coordinates(found, _latent_floor(found.transform(X[:many])), None)
        log.info("the latent of an autoencoder leaves %.0f %% of images untold: principal components", 100 * share)
    rows = as_float(as_rows(X)).astype(np.float64)
    return table_coordinates(rows, np.random.default_rng(seed), noise, weights)


def _left_out(
    X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence
) -> tuple[Shaped[np.ndarray, "m ..."], Shaped[np.ndarray, "k ..."]]:
    """Rows to see what an autoencoder tells of them, and those to train it on: without the first if there are so
    few that they would be memorized."""
    n_rows = min(COORDINATES.autoencoder_rows // 2, len(X) // 10)
    rows = np.random.default_rng(seed.spawn(1)[0]).choice(len(X), n_rows, replace=False)
    return X[rows], X if len(X) >= 10 * COORDINATES.autoencoder_rows else np.delete(X, rows, axis=0)


def latent_coordinates(Z: Float[np.ndarray, "n D"]) -> Coordinates:
    """Rows that are in the latent of an autoencoder already."""
    D = Z.shape[1]
    return Coordinates(Representation("autoencoder", np.zeros(D), np.eye(D), np.ones(D)), _latent_floor(Z), None)


def _latent_floor(Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " D"]:
    return COORDINATES.exact * Z.std(axis=0)


def is_far(X: Float[np.ndarray, "n p"]) -> Bool[np.ndarray, " n"]:
    """Rows with a value that is absurdly far from all others, or so far that it might be in another unit where
    hardly any other is; columns that hardly vary have none."""
    low, middle, high = np.quantile(X, [0.05, 0.5, 0.95], axis=0)
    away = np.abs(X - middle) / np.where(high > low, high - low, np.inf)
    odd = away > COORDINATES.same_unit
    odd &= odd.sum(axis=0) <= max(1.0, COORDINATES.odd * len(X))
    return (odd | (away > COORDINATES.far)).any(axis=1)


def in_same_unit(ranges: Float[np.ndarray, " p"]) -> bool:
    """Whether columns with these ranges may be in one unit; few may vary less than the others."""
    ranges = np.sort(ranges)
    return bool(ranges[-1] <= COORDINATES.same_unit * ranges[int(COORDINATES.rare * len(ranges))])


def table_coordinates(
    X: Float[np.ndarray, "n p"],
    rng: np.random.Generator,
    noise: Bool[np.ndarray, " p"] | None = None,
    weights: Float[np.ndarray, " p"] | None = None,
) -> Coordinates:
    """Principal components of a table: of its columns as they are if they are in one unit, else standardized. Rows
    that are absurdly far from all others have no say, and columns that are `noise` have none."""
    X = X[~is_far(X)] if len(X) else X
    mean = X.mean(axis=0)
    deviation = np.sqrt(((X - mean) ** 2).mean(axis=0))
    few = FIT.landmarks
    precision = precision_of(X if len(X) <= few else X[np.sort(rng.choice(len(X), few, replace=False))])
    varies = deviation > precision * COORDINATES.off_grid
    varies &= True if noise is None else ~noise
    varies &= True if weights is None else weights > 0
    if not varies.any():
        none = np.zeros((X.shape[1], 0))
        return Coordinates(
            Representation("linear", mean, none, np.zeros(0)), np.zeros(0), Columns(mean, none.T, precision)
        )
    units = np.where(varies, 1.0 if in_same_unit(np.ptp(X[:, varies], axis=0)) else deviation, np.inf)
    if weights is not None:
        units = units / np.where(weights > 0, weights, 1.0)
    exact = X.shape[1] <= EXACT_COLUMNS
    axes = principal_axes((X - mean) / units, None if exact else COORDINATES.most, random_state=rng)
    s = axes.singular_values[: COORDINATES.most]
    kept = int((s > COORDINATES.rounding * s[0]).sum())
    basis = axes.axes[:, :kept]
    weights = basis / units[:, None]
    back = (basis * np.where(varies, units, 0.0)[:, None]).T
    floor = np.sqrt((weights**2).T @ (precision**2))
    decomposed = Decomposed(mean, units, axes) if exact else None
    return Coordinates(
        Representation("linear", mean, weights, s), floor, Columns(mean, back, precision), decomposed
    )


def some_of(n: int, most: int, seed: np.random.SeedSequence) -> slice | Int[np.ndarray, " m"]:
    """Rows that coordinates are chosen by: all, or so many at random."""
    return slice(None) if n <= most else drawn(n, most, seed)


def drawn(n: int, most: int, seed: np.random.SeedSequence) -> Int[np.ndarray, " m"]:
    """So many of n rows at random, in their order."""
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False, shuffle=False))


def landmarks(Z: Float[np.ndarray, "n D"], most: int, seed: np.random.SeedSequence) -> Int[np.ndarray, " m"]:
    """Rows that the structure is found on, in an order of the data's own, so that nothing depends on the order
    they came in."""
    order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
    if len(order) <= most:
        return order
    return order[np.sort(np.random.default_rng(seed).choice(len(Z), most, replace=False))]


def load_representation(path: str | os.PathLike[str]) -> Representation:
    """Read a representation that `Representation.save` wrote."""
    return Representation.load(path, _autoencoder)


def _autoencoder(weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Any:
    with needing("MIMOSA's autoencoder"):
        from disentree.mimosa.coordinates.autoencoder import Autoencoder

    return Autoencoder.from_weights(weights)
