"""Switches: a product of independent choices, found by the equations that hold where each of them is off.

All combinations share one set of coordinates: the values of the equations, and those of what all rows have. A
combination needs no rows of its own to be described, so that small or empty ones are no obstacle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.noise import WhiteNoise
from disentree.mimosa.density.candidate import Candidate, Choice, Product
from disentree.mimosa.density.margins import Margins
from disentree.mimosa.density.product import Cell, ProductCandidate, ProductSpace
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import FindsAgain, Rows
from disentree.mimosa.finders.switches.constants import SWITCHES
from disentree.mimosa.finders.switches.equations import Equation, find_equations
from disentree.mimosa.tree.constants import TREE
from disentree.mimosa.tree.products import (
    are_independent,
    arrange,
    cells_of,
    expected_shares,
    hierarchy_of,
    is_product,
    saved_by_product,
)


@dataclass(frozen=True)
class Switches(FindsAgain):
    name: str = "switches"

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        found = find(rows.jittered(rng), rows.floor, rng, rows.noise)
        return [] if found is None else [found]


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    rng: np.random.Generator,
    noise: WhiteNoise | None = None,
) -> ProductCandidate | None:
    """The product of switches that rows show; None if there are no two beside each other. No deviation is taken
    below the precision of a coordinate; `noise` is that of the spectrum of the data."""
    if (
        len(Z) < 4 * FIT.enough
        or not 3 <= (Z if noise is None else noise.weights).shape[1] <= COORDINATES.most_linear
    ):
        return None
    center = Z.mean(axis=0)
    to_scale = np.diag(1 / Z.std(axis=0)) if noise is None else noise.weights
    equations = [_in(e, center, to_scale) for e in find_equations((Z - center) @ to_scale, rng)]
    if len(equations) < 2:
        return None
    on = np.stack([~e.holds(Z) for e in equations], axis=1)
    equations, on, choices = _limited(equations, on)
    if not is_product(choices) or not are_independent(choices, on):
        return None
    space, base = _space(Z, precision, equations, on)
    sizes = [e.size for e in equations]
    _, paths = hierarchy_of(choices, base, sizes)
    if saved_by_product(choices, on, paths, base, sizes, Z.shape[1]) <= 0:
        return None
    cells = cells_of(on, paths)
    chance = expected_shares(choices, on, paths)
    prior = 0.5 * len(paths)
    counts = np.bincount(cells[cells >= 0], minlength=len(paths))
    shares = (counts + prior * chance) / (counts.sum() + prior)
    dims = base + paths @ np.array(sizes)
    combinations = [Cell(int(d), row.tolist()) for d, row in zip(dims, paths, strict=True)]
    needless = ("atlas", "mixture") if _is_filled(space, combinations, cells, Z) else ()
    return ProductCandidate("switches", combinations, shares, space, Product(choices, base, sizes), needless)


def _is_filled(
    space: ProductSpace, cells: Sequence[Cell], labels: Int[np.ndarray, " n"], Z: Float[np.ndarray, "n D"]
) -> bool:
    """Whether rows of the larger combinations fill the dimensions that these have: charts or Gaussians can then
    but describe the same in more pieces."""
    ratios = []
    for c, cell in enumerate(cells):
        rows = np.flatnonzero(labels == c)
        if len(rows) < FIT.enough or not cell.dimension:
            continue
        inside = (Z[rows] @ space.weights + space.offset)[:, space.free(cell)]
        ratios.append(intrinsic_dimension(inside / inside.std(axis=0)) / cell.dimension)
    return bool(ratios) and float(np.mean(ratios)) >= FINDERS.most


def _in(equation: Equation, center: np.ndarray, to_scale: np.ndarray) -> Equation:
    """An equation of scaled coordinates, in coordinates."""
    weights = to_scale @ equation.weights
    return Equation(weights, equation.offset - center @ weights, equation.share, equation.gain)


def _limited(
    equations: Sequence[Equation], on: Bool[np.ndarray, "n s"]
) -> tuple[list[Equation], Bool[np.ndarray, "n s"], list[Choice]]:
    """The most valuable switches, as many as the paths allow."""
    kept: list[int] = []
    for i in sorted(range(len(equations)), key=lambda i: -equations[i].gain):
        tried = sorted([*kept, i])
        if int(np.prod([choice.n_paths for choice in arrange(on[:, tried])])) <= TREE.most_paths:
            kept = tried
    return [equations[i] for i in kept], on[:, kept], arrange(on[:, kept])


def _space(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    equations: Sequence[Equation],
    on: Bool[np.ndarray, "n s"],
) -> tuple[ProductSpace, int]:
    """Coordinates of all combinations, and how many of them all rows have."""
    D = Z.shape[1]
    own = np.concatenate([e.weights for e in equations], axis=1)
    offsets = np.concatenate([e.offset for e in equations])
    rest = np.linalg.svd(own)[0][:, own.shape[1] :]
    center = Z.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(((Z - center) @ rest).T, bias=True)))
    rest = rest @ vectors[:, ::-1]
    deviations = np.sqrt(np.maximum(values[::-1], 0))
    # The scatter of equations is the noise of the data: directions no wider than that are nothing else.
    scatter = np.median(1 / np.linalg.norm(own, axis=0))
    wide = deviations > FIT.sure * scatter
    weights = np.concatenate([own, rest], axis=1)
    offset = np.concatenate([offsets, -center @ rest])
    owner = [i for i, e in enumerate(equations) for _ in range(e.size)] + [-1 if w else -2 for w in wide]
    Y = Z @ weights + offset
    least = np.sqrt((precision**2) @ weights**2)
    fixed = np.concatenate([np.ones(own.shape[1]), deviations])
    active = np.ones((len(Z), D), bool)
    for j, i in enumerate(owner):
        if i >= 0:  # equations that hold exactly are tried to a scatter that is larger than theirs
            fixed[j] = np.sqrt(np.mean(Y[~on[:, i], j] ** 2))
            active[:, j] = on[:, i]
    fixed = np.maximum(fixed, np.maximum(least, 1e-300))
    maps = [Margins.fit(Y[active[:, j]][:, [j]], least[[j]]).maps[0] for j in range(D)]
    margins = Margins(maps)
    S = np.where(active, margins(Y)[0], 0.0)
    A = active.astype(float)
    pairs = np.maximum(A.T @ A, 1)
    R = (S.T @ S) / np.sqrt(np.maximum((S**2).T @ A, 1e-12) * np.maximum(A.T @ S**2, 1e-12))
    R = np.where(pairs >= 10 * D, R, 0.0)
    np.fill_diagonal(R, 1.0)
    values, vectors = np.linalg.eigh(R)
    R = (vectors * np.maximum(values, SWITCHES.independent)) @ vectors.T
    R /= np.sqrt(np.outer(R.diagonal(), R.diagonal()))
    return ProductSpace(weights, offset, owner, fixed, margins, R), int(wide.sum())
