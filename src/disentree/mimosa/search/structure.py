"""The structure of rows of numbers: their coordinates, what the search chose in them, and the tree of its
leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Shaped

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import Coordinates, choose_coordinates, landmarks
from disentree.mimosa.coordinates.noise import white_noise
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.search import Outcome, finders_for, search
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.tree.arrange import Arrangement, arrange_leaves


@dataclass(frozen=True)
class Settings:
    """What a fit is asked for. The last three are for fits to a part of the rows."""

    n_neighbors: int = 40
    representation: str = "auto"
    max_landmarks: int | None = None
    placement: str = "auto"
    n_jobs: int = -1
    verbose: bool = False
    part: float = 1.0  # of all rows
    skipped: tuple[str, ...] = ()  # finders that are not asked
    coordinates: Coordinates | None = None  # if they are not to be chosen again


@dataclass(frozen=True)
class Structure:
    """What was found in rows of numbers."""

    coordinates: Coordinates
    embedding: Float[np.ndarray, "n D"]
    landmarks: Float[np.ndarray, "m D"]  # the rows that the finders saw
    outcome: Outcome
    arrangement: Arrangement


def find_structure(
    X: Shaped[np.ndarray, "n ..."],
    settings: Settings,
    seeds: Sequence[np.random.SeedSequence],
    step: Steps,
    complete: Bool[np.ndarray, " n"] | None = None,
) -> Structure:
    """Coordinates of rows, the decomposition that the judge chose, and its tree. Where rows are marked as
    complete, those alone are searched, if they are not too few."""
    seen = X if complete is None or complete.sum() < FIT.fewest_complete else X[complete]
    with step("representation"):
        coordinates = settings.coordinates
        if coordinates is None:
            coordinates = choose_coordinates(seen, settings.representation, seeds[0], settings.verbose)
        represent = coordinates.representation.transform
        embedding = represent(X)
    columns, floor = coordinates.columns, coordinates.floor
    usual = FIT.landmarks * (10 if columns is None else 1)
    most = usual if settings.max_landmarks is None else int(settings.max_landmarks)
    Z = embedding if seen is X else represent(seen)
    Z = Z[landmarks(Z, most, seeds[1])]
    noise = None if columns is None else white_noise(seen, columns, coordinates.decomposed)
    rows = Rows(Z, floor, columns, noise, settings.n_neighbors, settings.n_jobs, settings.part)
    finders = [finder for finder in finders_for(rows) if finder.name not in settings.skipped]
    outcome = search(rows, finders, seeds[2], step)
    with step("hierarchy"):
        arrangement = arrange_leaves(outcome.candidate, Z)
    return Structure(coordinates, embedding, Z, outcome, arrangement)
