"""Constants of the fit as a whole; each room has those of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitConstants:
    """What `fit` does with rows before and after the search."""

    # Rows of a table that the structure is found on, in which grids of columns and reasons are looked for: more
    # take longer and show the same.
    landmarks: int = 20_000
    latent_landmarks: int = 200_000  # of the latent of an autoencoder, where sheets need dense neighborhoods
    fewest_complete: int = 100  # rows of a table without an empty number, for the others to be left out
    core: float = 0.9  # probability of a row's path, for the row to be in the core of its component


FIT = FitConstants()
