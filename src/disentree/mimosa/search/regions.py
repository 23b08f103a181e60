"""Components are looked into again, each region of the data in its own coordinates.

What is small beside the whole data is large beside the region that it is in: a curve within one of several
clusters, clusters among the rows that no subspace holds. A region is a set of components that touch each other and
no others, or one component that fills its coordinates. What is found there takes the region's place if that saves
bits, beyond doubt, on rows that it was not found on, and if it still encloses what the region enclosed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns, precision_of_coordinates
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.candidate import Candidate, Leaf, LeafCandidate
from disentree.mimosa.density.chart_mixture import ChartCandidate
from disentree.mimosa.density.framed import Frame, InnerLeaf
from disentree.mimosa.density.structureless import Background, fit_margins
from disentree.mimosa.finders.atlas import finder as atlas
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats import subspaces
from disentree.mimosa.finders.modes import mixture
from disentree.mimosa.finders.modes.finder import wide_enough
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.choose import beyond_doubt, saving
from disentree.mimosa.tree.building import thinned
from disentree.mimosa.tree.enclosure import enclosures


@dataclass(frozen=True)
class Looked:
    """A decomposition after its regions were looked into."""

    candidate: LeafCandidate
    saved_bits: float  # by this, per held-out row
    doubt: float  # its standard error


def look_again(
    candidate: Candidate,
    rows: Rows,
    held: Float[np.ndarray, "m D"],
    rng: np.random.Generator,
    divided: bool = False,
) -> Looked | None:
    """A decomposition of a table with regions replaced by what was found in them, by rows to search and others
    that decide; None if that saves nothing. Where all rows were divided in groups already, no part of them is."""
    assert rows.columns is not None
    fitted, errors = rows.Z, rows.errors
    broad = Background.fit(fitted, np.sqrt((errors**2).sum(axis=0)))

    def bits(joint: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " m"]:
        return -broad.mixed(np.logaddexp.reduce(joint, axis=1), held) / np.log(2)

    now, joint = LeafCandidate(candidate.finder, candidate.components, candidate.shares), candidate.log_joint(held)
    began, before = now, None
    first = last = bits(joint)
    seen: list[list[Leaf]] = []
    while now is not before:  # what was found is looked into again
        before = now
        labels = now.posteriors(fitted).argmax(axis=1)
        for region in _regions(now, fitted, labels):
            if any(_same(region, other) for other in seen):
                continue
            seen.append(region)
            mine = [c for c, leaf in enumerate(now.components) if any(leaf is one for one in region)]
            own = np.flatnonzero(np.isin(labels, mine))
            if len(mine) < len(region) or len(own) < _fewest():
                continue  # replaced meanwhile, or small
            known = sorted(leaf.dimension for leaf in region)
            for found in _proposals(region, fitted[own], errors, rng, rows, divided):
                if sorted(found.dimensions) == known:
                    continue  # the same leaves from fewer rows: their bits are those of other bounds
                new, new_joint = _replaced(now, joint, mine, found, held)
                tried = bits(new_joint)
                if not beyond_doubt(tried, last, FIT.doubt) or not _keeps(now, new, mine, fitted, labels):
                    continue
                clouds = [] if found.finder == "mixture" else _clouds(region, fitted[own], rows.columns, rng)
                rivals = [bits(_replaced(now, joint, mine, cloud, held)[1]) for cloud in clouds]
                if all(beyond_doubt(tried, rival, 1.0) for rival in rivals):
                    now, joint, last = new, new_joint, tried
                    labels = now.posteriors(fitted).argmax(axis=1)
                    break
    return None if now is began else Looked(now, *saving(last, first))


def _fewest() -> int:
    """Rows of a region, to be looked into: a part of them must be enough to see whether it is thin."""
    return FIT.folds * FIT.fewest


def _same(one: list[Leaf], two: list[Leaf]) -> bool:
    return len(one) == len(two) and all(a is b for a, b in zip(one, two, strict=True))


def _regions(
    candidate: LeafCandidate, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> list[list[Leaf]]:
    """Components that touch each other and no others, and single ones; the largest first. All components together
    are no region: the whole was searched already."""
    k = len(candidate.components)
    some = thinned(np.arange(len(Z)), FIT.most)
    nearest = np.asarray(KDTree(Z[some]).query(Z[some], 6)[1])[:, 1:]
    touch = np.zeros((k, k))
    np.add.at(touch, (np.repeat(labels[some], nearest.shape[1]), labels[some][nearest].ravel()), 1)
    touching = touch + touch.T > FIT.exceptions * np.minimum.outer(touch.sum(axis=1), touch.sum(axis=1))
    group = connected_components(touching, directed=False)[1]
    regions = [np.flatnonzero(group == g).tolist() for g in range(group.max() + 1)] if group.max() else []
    regions += [[c] for c in range(k) if [c] not in regions and k > 1]
    sizes = np.bincount(labels, minlength=k)
    regions.sort(key=lambda region: (-sizes[region].sum(), region))
    return [[candidate.components[c] for c in region] for region in regions[: FINDERS.looks]]


def _proposals(
    region: list[Leaf],
    Z: Float[np.ndarray, "n D"],
    errors: Float[np.ndarray, "p D"],
    rng: np.random.Generator,
    rows: Rows,
    divided: bool,
) -> Iterator[LeafCandidate]:
    """What is found in the region's own coordinates, as densities of all coordinates."""
    Z = Z[thinned(np.arange(len(Z)), FIT.most)]
    frame = _frame(region, Z, errors)
    if frame is None:
        return
    Y, own = frame(Z), errors @ frame.axes
    floor = np.sqrt((own**2).sum(axis=0))

    def outside(found: LeafCandidate | ChartCandidate) -> LeafCandidate:
        return LeafCandidate(found.finder, [InnerLeaf(frame, leaf) for leaf in found.components], found.shares)

    q = Y.shape[1]
    if q >= 2 and is_thin(Y, rng):
        for found in (
            subspaces.find(Y, floor, rng, rows.n_neighbors, rows.n_jobs),
            atlas.find(Y, own, rng, rows.budget),
        ):
            if found is not None and min(found.dimensions) < q:
                yield outside(found)
    # Rows on one subspace are one component, with or without a gap; those on none may be several clouds.
    if not divided and len(region) == 1 and q == Z.shape[1] and subspaces.n_connected(Y) > 1:
        found = mixture.in_components("mixture", Y, wide_enough(Y, floor), rng, ("pooled", "lowrank"))
        if len(found.components) > 1:
            # parts of a component have its dimension
            parts = [replace(leaf, dimension=q) for leaf in found.components]
            yield outside(replace(found, components=parts))


def _clouds(
    region: list[Leaf], Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator
) -> list[LeafCandidate]:
    """A region as one cloud, which may be skewed or curved: a mixture of Gaussians that are not told apart, and a
    Gaussian of columns with normal margins. The mixture is in the region's own coordinates: a cloud in a plane is
    as flat as the plane."""
    Z = Z[thinned(np.arange(len(Z)), FIT.most)]
    errors, floor = precision_of_coordinates(columns)
    frame = _frame(region, Z, errors) or Frame.fit(Z, Z.shape[1], floor)
    Y = frame(Z)
    own = wide_enough(Y, np.sqrt(((errors @ frame.axes) ** 2).sum(axis=0)))
    found = mixture.in_components("mixture", Y, own, rng, ("pooled", "lowrank"), merged=False)
    clouds = [LeafCandidate("cloud", [InnerLeaf(frame, leaf) for leaf in found.components], found.shares)]
    if len(Z) > 2 * Z.shape[1]:
        clouds.append(LeafCandidate("cloud", [fit_margins(Z, columns)], np.ones(1)))
    return clouds


def _frame(region: list[Leaf], Z: Float[np.ndarray, "n D"], errors: Float[np.ndarray, "p D"]) -> Frame | None:
    """The coordinates of a region: all in which it is wider than rounding, or those along a single flat component.
    None if there are too many, or the component is curved: what lies on it was looked for with it."""
    floor = np.sqrt((errors**2).sum(axis=0))
    deviations = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) / np.sqrt(len(Z))
    q = int((deviations > FINDERS.narrow * np.min(floor)).sum())
    if len(region) == 1 and region[0].dimension < q:
        d = region[0].dimension
        if d < 1 or deviations[d - 1] < FINDERS.narrow * deviations[d]:
            return None
        q = d
    return Frame.fit(Z, q, floor) if 1 <= q <= COORDINATES.most_linear else None


def is_thin(Y: Float[np.ndarray, "n q"], rng: np.random.Generator) -> bool:
    """Whether rows fill fewer dimensions than a Gaussian cloud with their covariance, at one of some scales: with
    fewer rows neighbors are farther apart, and noise counts less."""
    root = np.linalg.cholesky(np.atleast_2d(np.cov(Y.T)) + 1e-30 * np.eye(Y.shape[1]))
    for n in (len(Y), max(len(Y) // FIT.folds, _fewest())):
        some = Y[rng.choice(len(Y), n, replace=False)]
        cloud = rng.standard_normal((n, Y.shape[1])) @ root.T
        # either is uncertain to a share of 1 / sqrt(n)
        if intrinsic_dimension(some) < (1 - FIT.sure * np.sqrt(2 / n)) * intrinsic_dimension(cloud):
            return True
    return False


def _replaced(
    candidate: LeafCandidate,
    joint: Float[np.ndarray, "m k"],
    region: Sequence[int],
    found: LeafCandidate,
    held: Float[np.ndarray, "m D"],
) -> tuple[LeafCandidate, Float[np.ndarray, "m k2"]]:
    """The decomposition with other components for a region, and its log joint of held-out rows."""
    others = [c for c in range(len(candidate.components)) if c not in region]
    share = float(candidate.shares[list(region)].sum())
    new = LeafCandidate(
        " + ".join(dict.fromkeys([*candidate.finder.split(" + "), found.finder])),
        [*(candidate.components[c] for c in others), *found.components],
        np.concatenate([candidate.shares[others], share * found.shares / found.shares.sum()]),
    )
    return new, np.concatenate([joint[:, others], np.log(share) + found.log_joint(held)], axis=1)


def _keeps(
    before: LeafCandidate,
    after: LeafCandidate,
    region: Sequence[int],
    Z: Float[np.ndarray, "n D"],
    labels: Int[np.ndarray, " n"],
) -> bool:
    """Whether components that the region enclosed are still enclosed: a component with a gap, in which a smaller
    one lies, is not two."""
    others = [c for c in range(len(before.components)) if c not in region]
    old = np.asarray(enclosures(before, Z, labels)[0][np.ix_(others, list(region))]).any(axis=1)
    if not old.any():
        return True
    new = enclosures(after, Z, after.posteriors(Z).argmax(axis=1))[0]
    return bool(np.asarray(new[: len(others), len(others) :].any(axis=1))[old].all())
