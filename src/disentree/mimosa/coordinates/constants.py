"""The constants of coordinates, and those of the autoencoder's training, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoordinatesConstants:
    # Images from which an autoencoder is worth its training. With fewer than ten times as many, it is not judged
    # by those that it was trained on.
    autoencoder_rows: int = 2_000
    # Share of the variance of left-out images that the latent may leave untold: if it is more, they are not on
    # sheets of few dimensions. 2,000 images of Spaceshapes leave .12, 5,000 .07; 5,000 of Fashion-MNIST .16, of
    # MNIST .30.
    max_untold: float = 0.15
    exact: float = 1e-6  # of a deviation: the precision of a latent, and the tolerance for exact manifolds
    rounding: float = 1e-9  # deviations below this part of the largest are rounding: no coordinate
    # Columns whose ranges differ by more than this factor are not in the same unit, and are standardized. Ranges,
    # and not deviations: a pixel that is rarely set varies little, and in the same unit as the others.
    same_unit: float = 30.0
    rare: float = 0.1  # share of columns whose ranges may be smaller
    most: int = 100  # coordinates: the others hold too little, and too much like noise, to tell leaves apart
    far: float = 1e4  # times the range of nine tenths of a column: values beyond it are mistakes
    # One in a thousand: share of values beyond `same_unit` times that range, if those are mistakes; how likely
    # chance makes a column of pure noise look like none.
    odd: float = 1e-3
    float_steps: float = 16.0  # of float64's spacing at the largest value: what a few operations lose
    off_grid: float = 1e-3  # of a step, that values may be off their grid
    tied: float = 0.05  # a column is on a grid if at least this part of its rows repeats another row's value
    # Dimensions in which neighbors and subspaces can still be found, and principal components that a mixture is
    # looked for in: in more, few odd rows decide (digits: 20 gives ARI .77, 50 gives .18).
    most_linear: int = 20
    noise_directions: int = 4  # of a table of few columns, at least, to call their variance noise
    cells: int = 6  # of a column, by which those of pure noise are told
    factor_iterations: int = 60  # of the factor analysis that measures the noise of columns, at most


@dataclass(frozen=True)
class AutoencoderConstants:
    components: int = 400  # principal components that it works on
    latent: int = 10
    hidden: tuple[int, ...] = (768, 768)
    batch: int = 128  # with 256 it takes twice as long and tells no more of the factors of Spaceshapes
    learning_rate: float = 2e-3
    max_steps: int = 14_000
    epochs: int = 60  # unless that is more steps


COORDINATES = CoordinatesConstants()
AUTOENCODER = AutoencoderConstants()
