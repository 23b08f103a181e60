"""The constants of modes and mixtures: at which scales, and how they are grown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModesConstants:
    """Of the finder of clusters."""

    # ---- modes
    # neighbors that a density is taken from, in roots of the number of rows: replication tells which
    scales: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)

    # ---- growing a mixture
    fewest: int = 8  # rows of a piece, and for each axis, at least: a mean and a variance need some
    # Growth pauses at so many pieces, and goes on if most of them are leaves: pieces of a curved leaf, which have
    # no valleys between them, are no reason for more pieces.
    first_pieces: int = 24
    most_pieces: int = 60
    steps: int = 20  # of EM, at most, after each change of the pieces or of the rows

    # ---- splitting a piece
    directions: int = 3  # that starts come from: leading ones, and at either end of the spectrum of fourth moments
    same: float = 0.97  # starts that agree on this part of the rows are one
    # starts that are followed, and steps of EM: all for two steps, the best of them further
    rounds: tuple[tuple[int, int], ...] = ((6, 2), (2, 4))


MODES = ModesConstants()
