"""Equations that hold in a part of the rows: a second floor of zero, a basement as large as the first floor.

A switch that is off fixes its variables, so that all rows in which it is off obey an equation, whatever the other
switches do. Such an equation is found directly, among all rows at once: a hyperplane that holds far more rows than
its neighborhood. It need not be exact; its rows may scatter around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Float

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.switches.constants import SWITCHES
from disentree.mimosa.finders.switches.hyperplanes import gains, hyperplanes, refined, thinnest_hyperplane


@dataclass(frozen=True)
class Equation:
    """One or more linear equations that hold in the same rows: ``Y @ weights + offset`` is zero there, give or
    take a scatter of 1."""

    weights: Float[np.ndarray, "D r"]
    offset: Float[np.ndarray, " r"]
    share: float  # of rows that it holds in
    gain: float  # bits per row that it is worth to know whether it holds

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.offset)

    @property
    def directions(self) -> Float[np.ndarray, "D r"]:
        return self.weights / np.linalg.norm(self.weights, axis=0)

    def __call__(self, Y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n r"]:
        return Y @ self.weights + self.offset

    def holds(self, Y: Float[np.ndarray, "n D"]) -> Bool[np.ndarray, " n"]:
        """Whether rows are within its scatter."""
        return _distance(self(Y)) <= FIT.sure


def find_equations(Y: Float[np.ndarray, "n D"], rng: np.random.Generator) -> list[Equation]:
    """The equations that hold in a part of the rows and do not follow from each other, commonest first; rows are
    in coordinates with deviations near 1."""
    n = len(Y)
    some = Y if n <= FINDERS.searched else Y[np.sort(rng.choice(n, FINDERS.searched, replace=False))]
    found: list[Equation] = []
    rows: list[np.ndarray] = []
    known: list[Equation] = []
    planes = hyperplanes(some, rng, SWITCHES.starts)
    while True:
        _look(some, planes, rng, found, rows)
        before, known = known, _independent(found, rows)
        if len(known) <= len(before):
            return [_refitted(Y, e.holds(Y), e.size, 2) or e for e in known]
        planes = refined(some, rng, _deeper(some, known, rng))


def _look(
    Y: Float[np.ndarray, "n D"],
    planes: tuple[Float[np.ndarray, "h D1"], Float[np.ndarray, " h"]],
    rng: np.random.Generator,
    found: list[Equation],
    rows: list[Bool[np.ndarray, " n"]],
) -> None:
    """Add equations that some hyperplanes lead to, and that do not follow from those which are known."""
    for w, scatter in _distinct(Y, *planes):
        whole = _whole_equation(Y, w, scatter)
        if whole is None or _beside(whole, _wider(whole.holds(Y), found, rows)) is None:
            continue
        for equation in [*_parts(Y, whole, rng), whole]:
            held = equation.holds(Y)
            if not _is_known(held, rows):
                found.append(equation)
                rows.append(held)


def _distinct(
    Y: Float[np.ndarray, "n D"], planes: Float[np.ndarray, "h D1"], scatters: Float[np.ndarray, " h"]
) -> Iterator[tuple[Float[np.ndarray, " D1"], float]]:
    """Hyperplanes, and how far rows scatter about them, of which no two hold the same rows."""
    seen: list[np.ndarray] = []
    for w, scatter in zip(planes, scatters, strict=True):
        held = np.abs(Y @ w[:-1] + w[-1]) <= FIT.sure * scatter
        if not _is_known(held, seen):
            seen.append(held)
            yield w, float(scatter)


def _is_known(held: Bool[np.ndarray, " n"], others: list[Bool[np.ndarray, " n"]]) -> bool:
    """Whether others hold the same rows (by Jaccard's index)."""
    return any((held & other).sum() >= FIT.core * max((held | other).sum(), 1) for other in others)


def _deeper(
    Y: Float[np.ndarray, "n D"], known: list[Equation], rng: np.random.Generator
) -> Float[np.ndarray, "s D1"]:
    """Hyperplanes that hold many of the rows in which known equations hold: there are fewer dimensions there, and
    what holds in few rows is easier to see."""
    D = Y.shape[1]
    held = np.stack([e.holds(Y) for e in known], axis=1)
    sizes = np.array([e.size for e in known])
    patterns, counts = np.unique(held, axis=0, return_counts=True)
    out = [np.zeros((0, D + 1))]
    for i in sorted(range(len(patterns)), key=lambda i: -(patterns[i] @ sizes))[: SWITCHES.deeper]:
        fixed = [e.directions for e, holds in zip(known, patterns[i], strict=True) if holds]
        if counts[i] < DENSITY.rows_per_term * D or not 0 < patterns[i] @ sizes < D - 1:
            continue
        rest = np.linalg.svd(np.concatenate(fixed, axis=1))[0][:, patterns[i] @ sizes :]
        own = Y[(held == patterns[i]).all(axis=1)] @ rest
        for v, _ in islice(_distinct(own, *hyperplanes(own, rng, SWITCHES.starts // 4)), SWITCHES.deeper):
            out.append(_extended(Y, np.append(rest @ v[:-1], v[-1]), known, held, patterns[i], rng)[None])
    return np.concatenate(out)


def _extended(
    Y: Float[np.ndarray, "n D"],
    w: Float[np.ndarray, " D1"],
    known: list[Equation],
    held: Bool[np.ndarray, "n k"],
    pattern: Bool[np.ndarray, " k"],
    rng: np.random.Generator,
) -> Float[np.ndarray, " D1"]:
    """A hyperplane of the rows of a pattern, tilted so that it holds where one of the equations of the pattern
    does not: each of these adds a multiple of its own values, which is seen in rows that lack nothing else."""
    out = w.copy()
    for j in np.flatnonzero(pattern):
        lacking = pattern.copy()
        lacking[j] = False
        rows = Y[(held == lacking).all(axis=1)]
        e = known[j]
        if len(rows) < DENSITY.rows_per_term * (e.size + 1):
            continue
        lengths = np.linalg.norm(e.weights, axis=0)
        U = np.column_stack([rows @ w[:-1] + w[-1], e(rows) / lengths])
        found = hyperplanes(U, rng, SWITCHES.starts // 20)[0]
        found = found[np.abs(found[:, 0]) > SWITCHES.apart]
        if len(found):
            tilt = found[0, 1:-1] / found[0, 0] / lengths
            out[:-1] += e.weights @ tilt
            out[-1] += e.offset @ tilt + found[0, -1] / found[0, 0]
    return out / np.linalg.norm(out[:-1])


def _parts(Y: Float[np.ndarray, "n D"], whole: Equation, rng: np.random.Generator) -> Iterator[Equation]:
    """Equations that one of several consists of: where two switches are off both equations hold, and each of them
    holds in more rows."""
    if whole.size == 1:
        return
    lengths = np.linalg.norm(whole.weights, axis=0)
    for v, scatter in zip(*hyperplanes(whole(Y) / lengths, rng, SWITCHES.starts // 10), strict=True):
        normal = whole.directions @ v[:-1]
        scale = np.linalg.norm(normal)
        offset = v[:-1] @ (whole.offset / lengths) + v[-1]
        part = _whole_equation(Y, np.append(normal, offset) / scale, scatter / scale)
        if part is not None and FIT.core * part.share > whole.share:
            yield part


def _wider(
    held: Bool[np.ndarray, " n"], found: list[Equation], rows: list[Bool[np.ndarray, " n"]]
) -> list[Equation]:
    """The equations that hold wherever some rows are."""
    fewest = FIT.core * held.sum()
    return [e for e, other in zip(found, rows, strict=True) if (held & other).sum() >= fewest]


def _distance(residual: Float[np.ndarray, "n r"]) -> Float[np.ndarray, " n"]:
    return np.sqrt((residual**2).mean(axis=1))


def _whole_equation(Y: Float[np.ndarray, "n D"], w: Float[np.ndarray, " D1"], scatter: float) -> Equation | None:
    """All equations that hold in the rows of a hyperplane, scaled by their scatter."""
    D = Y.shape[1]
    normals = w[:D, None]
    held = np.abs(Y @ w[:D] + w[D]) <= FIT.sure * scatter
    while normals.shape[1] < D and held.sum() > DENSITY.rows_per_term * D:
        rest = np.linalg.svd(normals)[0][:, normals.shape[1] :]
        own = Y[held] @ rest
        more = thinnest_hyperplane(own, scatter)
        inside = np.abs(own @ more[:-1] + more[-1]) <= FIT.sure * scatter
        if inside.mean() < FIT.core:
            break
        normals = np.column_stack([normals, rest @ more[:-1]])
        held[np.flatnonzero(held)[~inside]] = False
    return _refitted(Y, held, normals.shape[1], 3)


def _refitted(
    Y: Float[np.ndarray, "n D"], held: Bool[np.ndarray, " n"], size: int, rounds: int
) -> Equation | None:
    """The equations of some rows, by least squares among those that they turn out to hold in."""
    fewest = DENSITY.rows_per_term * Y.shape[1]
    center = middle = deviation = np.zeros(0)
    normals = residual = np.zeros((0, 0))
    for _ in range(rounds):
        if held.sum() <= fewest:
            return None
        center = Y[held].mean(axis=0)
        normals = np.linalg.svd(Y[held] - center, full_matrices=False)[2][::-1][:size].T
        residual = (Y - center) @ normals
        middle = np.median(residual[held], axis=0)
        deviation = 1.4826 * np.median(np.abs(residual[held] - middle), axis=0)
        deviation = np.maximum(deviation, COORDINATES.rounding)
        residual = (residual - middle) / deviation
        held = _distance(residual) <= FIT.sure
    gain, share = gains(_distance(residual)[:, None], size, fewest)
    if not np.isfinite(gain[0]):
        return None
    offset = -(center @ normals + middle) / deviation
    return Equation(normals / deviation, offset, float(share[0]), float(gain[0]) / len(Y))


def _independent(found: list[Equation], rows: list[Bool[np.ndarray, " n"]]) -> list[Equation]:
    """Those that are not several others at once, and of these the most valuable with independent directions."""
    kept: list[Equation] = []
    kept_rows: list[np.ndarray] = []
    for i in np.argsort([-held.sum() for held in rows], kind="stable"):
        own = _beside(found[i], _wider(rows[i], kept, kept_rows))
        if own is not None:
            kept.append(own)
            kept_rows.append(rows[i])
    chosen: list[Equation] = []
    for equation in sorted(kept, key=lambda e: -e.gain):
        directions = np.concatenate([e.directions for e in [*chosen, equation]], axis=1)
        if directions.shape[1] <= len(directions) and np.linalg.svd(directions)[1][-1] > SWITCHES.independent:
            chosen.append(equation)
    return sorted(chosen, key=lambda e: -e.share)


def _beside(equation: Equation, others: list[Equation]) -> Equation | None:
    """The part of an equation that does not follow from others which hold in the same rows."""
    if not others:
        return equation
    u, s, _ = np.linalg.svd(np.concatenate([o.directions for o in others], axis=1), full_matrices=False)
    basis = u[:, s > SWITCHES.independent]
    own = equation.directions
    left = own - basis @ (basis.T @ own)
    _, s, vt = np.linalg.svd(left, full_matrices=False)
    mix = vt[s > SWITCHES.apart].T  # combinations of its own equations that point away from the others
    if not mix.shape[1]:
        return None
    mix = mix / np.linalg.norm(equation.weights, axis=0)[:, None]
    scale = np.sqrt((mix**2).sum(axis=0))
    return Equation(equation.weights @ mix / scale, equation.offset @ mix / scale, equation.share, equation.gain)
