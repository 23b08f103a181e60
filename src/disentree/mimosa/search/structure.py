"""The structure of rows of numbers: their coordinates, what the search chose in them, and the tree of its
leaves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.sparse import issparse

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import Coordinates, choose_coordinates, landmarks, some_of
from disentree.mimosa.coordinates.noise import white_noise
from disentree.mimosa.coordinates.noise_columns import noise_columns
from disentree.mimosa.coordinates.reach import unit_of
from disentree.mimosa.coordinates.sparse import sparse_coordinates
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.finders.modes.finder import Mixtures
from disentree.mimosa.finders.protocol import Finder, Rows
from disentree.mimosa.search.given import by_labels
from disentree.mimosa.search.graph.by_neighbors import by_neighbors
from disentree.mimosa.search.rare import Rare, find_rare
from disentree.mimosa.search.search import Outcome, finders_for, improved, search, seed_of
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.tree.arrange import Arrangement, arrange_leaves
from disentree.rows import Blocks


@dataclass(frozen=True)
class Known:
    """What is known of the rows."""

    outcome: Outcome
    rows: Int[np.ndarray, " r"]  # that must be among those which show how leaves lie


@dataclass(frozen=True)
class Settings:
    """What a fit is asked for. Those after `column_weights` are for fits to a part of the rows."""

    n_neighbors: int = 40
    representation: str = "auto"
    max_landmarks: int | None = None
    placement: str = "auto"
    n_jobs: int = -1
    verbose: bool = False
    column_weights: Float[np.ndarray, " p"] | None = None
    part: float = 1.0  # of all rows
    skipped: tuple[str, ...] = ()  # finders that are not asked
    coordinates: Coordinates | None = None  # if they are not to be chosen again
    labels: Int[np.ndarray, " n"] | None = None  # of the rows, -1 for none: leaves are those of the labels
    known: Known | None = None  # leaves that are not to be searched again


@dataclass(frozen=True)
class Structure:
    """What was found in rows of numbers."""

    coordinates: Coordinates
    embedding: Float[np.ndarray, "n D"]
    landmarks: Float[np.ndarray, "m D"]  # the rows that the finders saw
    outcome: Outcome
    arrangement: Arrangement
    rare: Int[np.ndarray, " r"] | None = None  # numbers of the rows that rare kinds were found in, of all rows


def find_structure(
    X: Any,
    settings: Settings,
    seeds: Sequence[np.random.SeedSequence],
    step: Steps,
    complete: Bool[np.ndarray, " n"] | None = None,
    everything: Blocks | None = None,
) -> Structure:
    """Coordinates of rows, the decomposition that the judge chose, and its tree; rare kinds are looked for in
    `everything`, if X is a sample of that. Where rows are marked as
    complete, those alone are searched, if they are not too few. Columns of pure noise are left out if there are
    leaves that are thin among the others; where leaves are clouds, noise is what they vary by."""
    if issparse(X) and settings.coordinates is None:
        with step("representation"):
            own = sparse_coordinates(X, settings.column_weights, np.random.default_rng(seeds[0]))
        settings = replace(settings, coordinates=own)
    unit = unit_of(X) if settings.coordinates is None else np.ones(0)
    if (unit != 1).any():
        # Squares of such numbers are not in float64: the same rows are searched in another unit.
        scaled = X * unit.reshape(X.shape[1:])
        rest = None if everything is None else everything.then(partial(np.multiply, unit))
        return _in_unit(find_structure(scaled, settings, seeds, step, complete, rest), unit)
    seen = X if complete is None or complete.sum() < FIT.enough else X[complete]
    # coordinates of a table are those of a part of the rows; a latent is learned from all of them
    if seen.ndim == 2 and settings.coordinates is None and settings.representation != "autoencoder":
        seen = seen[some_of(len(seen), max(10 * FIT.landmarks, settings.max_landmarks or 0), seeds[1])]
    if settings.coordinates is not None:
        return _structure(X, seen, settings.coordinates, settings, seeds, step, everything)
    choose = partial(choose_coordinates, seen, settings.representation, seeds[0], settings.verbose)
    choose = partial(choose, weights=settings.column_weights)
    silent: tuple[str, ...] = ()
    with step("representation"):
        noise = columns_of_noise(seen, seeds[1])
    if noise.any():
        with step("representation"):
            coordinates = choose(noise=noise)
        found = _structure(X, seen, coordinates, settings, seeds, step, everything)
        if min(found.outcome.candidate.dimensions) < found.embedding.shape[1]:
            return found
        # leaves that noise hides are not thin among it either: mixtures and groups are left to look for
        thin = [finder.name for finder in finders_for(True) if not isinstance(finder, Mixtures)]
        settings, silent = replace(settings, skipped=(*settings.skipped, *thin)), found.outcome.silent
    with step("representation"):
        coordinates = choose()
    found = _structure(X, seen, coordinates, settings, seeds, step, everything)
    return replace(found, outcome=replace(found.outcome, silent=(*silent, *found.outcome.silent)))


def _in_unit(found: Structure, unit: Float[np.ndarray, " p"]) -> Structure:
    """What was found in rows times a unit, for the rows as they are."""
    own = found.coordinates.representation
    own = replace(own, mean=own.mean / unit, weights=own.weights * unit[:, None])
    return replace(found, coordinates=replace(found.coordinates, representation=own))


def columns_of_noise(X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Bool[np.ndarray, " p"]:
    """Which columns of a table are pure noise; images have none."""
    if X.ndim != 2:
        return np.zeros(int(np.prod(X.shape[1:])), bool)
    X = X.astype(np.float64, copy=False)
    return noise_columns(X[landmarks(X, FIT.landmarks, seed)])


def _structure(
    X: Any,
    seen: Any,
    coordinates: Coordinates,
    settings: Settings,
    seeds: Sequence[np.random.SeedSequence],
    step: Steps,
    everything: Blocks | None,
) -> Structure:
    if settings.representation == "graph":
        coordinates = coordinates.of_neighbors()
    represent = coordinates.representation.transform
    with step("representation"):
        embedding = represent(X)
    columns, floor = coordinates.columns, coordinates.floor
    usual = FIT.landmarks * (10 if columns is None else 1)
    most = usual if settings.max_landmarks is None else int(settings.max_landmarks)
    Z = embedding if seen is X else represent(seen)
    Z = Z[landmarks(Z, most, seeds[1])]
    noise = None if columns is None or issparse(seen) else white_noise(seen, columns, coordinates.decomposed)
    rows = Rows(Z, floor, columns, noise, settings.n_neighbors, settings.n_jobs, settings.part)
    # no principal component is zero where something is absent
    skipped = (*settings.skipped, "switches") if issparse(X) else settings.skipped
    finders = [finder for finder in finders_for(columns is not None) if finder.name not in skipped]
    if settings.labels is not None:
        outcome = by_labels(replace(rows, Z=embedding), settings.labels)
        return Structure(coordinates, embedding, embedding, outcome, arrange_leaves(outcome.candidate, embedding))
    if settings.known is not None:
        outcome, Z = settings.known.outcome, np.concatenate([Z, embedding[settings.known.rows]])
        return Structure(coordinates, embedding, Z, outcome, arrange_leaves(outcome.candidate, Z))
    if settings.representation == "graph":
        outcome = by_neighbors(rows, np.random.default_rng(seeds[2]), step)
    else:
        outcome = search(rows, finders, seeds[2], step)
    rare = None
    everything = Blocks.of(embedding) if everything is None else everything.then(represent)
    if len(Z) < len(everything) and columns is not None and outcome.candidate.product is None:
        with step("rare kinds"):
            outcome, rare = _with_rare(outcome, rows, embedding, everything, finders, seeds[2])
            Z = Z if rare is None else np.concatenate([Z, rare.Z])
    with step("hierarchy"):
        arrangement = arrange_leaves(outcome.candidate, Z)
    return Structure(coordinates, embedding, Z, outcome, arrangement, None if rare is None else rare.rows)


def _with_rare(
    outcome: Outcome,
    rows: Rows,
    embedding: Float[np.ndarray, "n D"],
    everything: Blocks,
    finders: Sequence[Finder],
    seed: np.random.SeedSequence,
) -> tuple[Outcome, Rare | None]:
    """With leaves of rare kinds among all rows, if there are such."""
    seed, began = seed_of("rare kinds", seed), time.perf_counter()

    def inside(own: Rows) -> Candidate:
        return search(own, finders, seed, Steps()).candidate

    found = find_rare(outcome.candidate, rows, embedding, everything, inside, np.random.default_rng(seed))
    if found is None:
        return outcome, None
    seconds = time.perf_counter() - began
    return improved(outcome, found.candidate, found.saved_bits, found.doubt, seconds), found
