"""Constants that several finders and the search share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FinderConstants:
    whole_below: int = 1000  # rows below which structure is found on all, and judged by folds
    mixture_whole_below: int = 5000  # the same for mixtures, which are quick
    # Bits per row that curved leaves must save for mixtures not to be asked, and that leaves which rows lie on
    # exactly may lose: those are no chance, one more exact direction saves far more, and the rest is density
    # along leaves.
    thin: float = 4.0
    # Gaussians are no thinner than this, relative to the widest direction: thinner ones have covariances that
    # cannot be inverted in double precision, and exact manifolds are found by the atlas.
    thinnest: float = 1e-5
    looked_at: int = 4000  # rows that tell whether leaves fall apart, and that a region is searched in, at most


FINDERS = FinderConstants()
