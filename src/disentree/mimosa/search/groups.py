"""Groups of rows between which valleys lie: leaves of one manifold.

Several divisions of the rows are tried: modes of the density at several scales, and mixtures of Gaussians whose
pieces have valleys between them, which see more where rows are few for their columns. In each, groups that parts
of the rows do not bring back are joined. The division of which parts tell most bits then is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.neighbors import thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, Leaf, LeafCandidate
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.gaussians import dimension_of
from disentree.mimosa.density.parts import PartLeaf, Parts
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.climbing import Neighborhoods, find_modes
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.modes.finder import Mixtures
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.replication import coarsened, in_groups, told, told_again
from disentree.mimosa.tree.parts import parts_of, shared_rows


@dataclass(frozen=True)
class Division:
    """Rows in groups, and how the groups of a part of the rows are found and given to all rows."""

    name: str
    labels: Int[np.ndarray, " n"]
    again: Callable[[int], Int[np.ndarray, " n"]]  # by the number of the part
    axes: Float[np.ndarray, "D q"]  # of coordinates in which near rows are alike


@dataclass(frozen=True)
class Groups:
    """A division after groups that do not come back were joined."""

    division: Division
    group: Int[np.ndarray, " k"]  # of each label
    again: Sequence[Int[np.ndarray, "g _"]]  # rows that each group shares with those of each part of the rows

    @property
    def labels(self) -> Int[np.ndarray, " n"]:
        return self.group[self.division.labels]


def divide(
    rows: Rows,
    mixtures: Sequence[Candidate],
    rng: np.random.Generator,
    scales: Sequence[float] = MODES.scales,
) -> Groups | None:
    """The division of which parts of the rows tell most; None if there is none. `mixtures` are of these rows."""
    Z = rows.jittered(rng)
    parts = parts_of(len(Z), rng)
    divisions = [*_by_modes(Z, rows, parts, scales), *_by_mixtures(Z, rows, parts, mixtures, rng)]
    best, bits = None, 0.0
    # parts tell no more than what there is
    for division in sorted(divisions, key=lambda one: -told(one.labels)):
        if told(division.labels) <= bits:
            break
        k = int(division.labels.max()) + 1
        again = [shared_rows(division.labels, division.again(part), k) for part in range(len(parts))]
        group = coarsened(again, k)
        groups = Groups(division, group, in_groups(again, group))
        if told_again(groups.again) > bits:
            best, bits = groups, told_again(groups.again)
    return best


def _by_mixtures(
    Z: Float[np.ndarray, "n D"],
    rows: Rows,
    parts: Sequence[Int[np.ndarray, " _"]],
    mixtures: Sequence[Candidate],
    rng: np.random.Generator,
) -> list[Division]:
    """By each mixture whose pieces have valleys between them."""
    found: dict[int, dict[str, Candidate]] = {}

    def again(name: str, part: int) -> Int[np.ndarray, " n"]:
        if part not in found:
            own = Mixtures().of_part(rows.some(parts[part]), rng, several)
            found[part] = {one.finder: one for one in own}
        return _placed(found[part].get(name), Z)

    several = [one for one in mixtures if len(one.components) > 1]
    axes = _units(Z, rows)[-1]
    return [Division(one.finder, _placed(one, Z), partial(again, one.finder), axes) for one in several]


def _placed(candidate: Candidate | None, Z: Float[np.ndarray, "n D"]) -> Int[np.ndarray, " n"]:
    return np.zeros(len(Z), int) if candidate is None else candidate.posteriors(Z).argmax(axis=1)


def _by_modes(
    Z: Float[np.ndarray, "n D"], rows: Rows, parts: Sequence[Int[np.ndarray, " _"]], scales: Sequence[float]
) -> list[Division]:
    """By modes at each scale, in the units of the rows and with all columns of the same deviation."""

    def modes(
        around: Neighborhoods, scale: float, weights: Float[np.ndarray, " m"] | None
    ) -> Int[np.ndarray, " m"]:
        return find_modes(around, max(DENSITY.near + 1, round(scale * np.sqrt(len(around.Z)))), weights)

    @cache
    def within(unit: int, part: int) -> tuple[Neighborhoods, Int[np.ndarray, " n"]]:
        """Of rows of a part, and the one of these that is nearest to each row."""
        around = Neighborhoods(spaces[unit][parts[part]], rows.n_jobs)
        return around, around.of(spaces[unit], 1)[1][:, 0]

    def again(unit: int, scale: float, part: int) -> Int[np.ndarray, " n"]:
        around, nearest = within(unit, part)
        return modes(around, scale, None if rows.weights is None else rows.weights[parts[part]])[nearest]

    units = _units(Z, rows)
    spaces = [Z @ axes for axes in units]
    out = []
    for unit, axes in enumerate(units):
        around = Neighborhoods(spaces[unit], rows.n_jobs)
        for scale in sorted(scales, reverse=True):  # the widest neighborhoods hold the others
            labels = modes(around, scale, rows.weights)
            if labels.any():
                out.append(Division("modes", labels, partial(again, unit, scale), axes))
    return out


def _units(Z: Float[np.ndarray, "n D"], rows: Rows) -> list[Float[np.ndarray, "D q"]]:
    """Axes of the rows as they are, and of columns that all have the same deviation."""
    axes = [np.eye(Z.shape[1])]
    if rows.columns is not None:
        deviations = np.maximum(rows.columns.of(Z).std(axis=0), rows.columns.precision)
        axes.append(rows.columns.basis / deviations)
    return axes


def as_parts(groups: Groups, density: Leaf, rows: Rows, is_thin: bool) -> LeafCandidate:
    """Groups as leaves: parts of a density that describes all rows. They have its dimension if it is thin, else
    the one that the spectrum of their own rows supports: that of all rows is mostly what lies between groups."""
    Z = rows.Z
    division, labels = groups.division, groups.labels
    shares = np.bincount(labels) / len(labels)
    some = thinned(np.arange(len(Z)), FIT.most)
    parts = Parts(Z[some] @ division.axes, labels[some], division.axes)
    leaves = []
    for g, share in enumerate(shares):
        own = Z[labels == g]
        covariance = np.atleast_2d(np.cov(own.T, bias=True))
        widest = np.sqrt(max(np.linalg.eigvalsh(covariance)[-1], 0.0))
        # a row of clouds is a thin leaf, but none of the clouds is
        along = is_thin and widest > FINDERS.narrow * density.noise_across
        d = int(density.dimension) if along else dimension_of(covariance, rows.floor, len(own))
        leaves.append(PartLeaf(density, parts, g, float(share), d))
    return LeafCandidate(division.name, leaves, shares)
