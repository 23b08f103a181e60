"""Components are looked into again, each region of the data in its own coordinates.

What is small beside the whole data is large beside the region that it is in: a curve within one of several
clusters, clusters among the rows that no subspace holds. A region is a set of components that touch each other and
no others, or one component that fills its coordinates. What is found there takes the region's place if that saves
bits, beyond doubt, on rows that it was not found on, and if it still encloses what the region enclosed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.framed import Frame, InnerLeaf
from disentree.mimosa.density.structureless import Columns, fit_margins, precision_of_coordinates
from disentree.mimosa.finders.atlas import finder as atlas
from disentree.mimosa.finders.flats import subspaces
from disentree.mimosa.finders.modes import mixture
from disentree.mimosa.search.judge import TESTED_DOUBT, Verdict, background, beyond_doubt, saving
from disentree.mimosa.tree.enclosure import enclosures

FEWEST = 120  # rows of a region, to be looked into
ROWS = 4000  # of a region that are searched: a region is a simpler thing than the whole
REGIONS = 12  # the largest ones, which are looked into
DEPTH = 3  # how often what was found is looked into again
MOST_DIMENSIONS = 20  # of a region: in more, neighbors are too far apart to say anything
THINNER = 3.0  # standard errors by which rows fill fewer dimensions than a Gaussian would, for thin structure
COARSER = 4  # the part of the rows of which that is asked once more
FLAT = 3.0  # deviation of a component along itself relative to that across it, if it is flat
WIDER = 4.0  # deviation of a region along a coordinate relative to its precision, for a coordinate to count
ROUNDING = 1e-9  # the same relative to the widest
# Gaussians are no thinner than this, relative to the widest direction: thinner ones have covariances that cannot
# be inverted in double precision, and exact manifolds are found by the atlas.
THINNEST = 1e-5
TOUCHING = 0.02  # share of nearest neighbors that are in another component, for two that touch


@dataclass(frozen=True)
class Looked:
    """A decomposition after its regions were looked into.

    Attributes
    ----------
    candidate : Candidate
    saved_bits, doubt : float
        Bits per held-out row that this saved, and their standard error.
    """

    candidate: Any
    saved_bits: float
    doubt: float


def look_again(
    candidate: Any,
    fitted: Float[np.ndarray, "n D"],
    held: Float[np.ndarray, "m D"],
    columns: Columns,
    rng: np.random.Generator,
    n_neighbors: int = 40,
    n_jobs: int = -1,
) -> Looked | None:
    """The decomposition with regions replaced by what was found in them; None if that saves nothing.

    Parameters
    ----------
    candidate : Candidate
        A decomposition with structure.
    fitted, held : array of shape (n, D), array of shape (m, D)
        Rows to search, and others that decide.
    columns : Columns
        The table's own columns.
    rng : Generator
    n_neighbors : int, default=40
        Size of the neighborhoods in which exact subspaces are found.
    n_jobs : int, default=-1
        Threads of neighbor searches.

    Returns
    -------
    Looked or None
    """
    errors, floor = precision_of_coordinates(columns)
    broad = background(fitted, floor)

    def bits(joint: Float[np.ndarray, "m k"]) -> Verdict:
        density = np.logaddexp.reduce(joint, axis=1)
        return Verdict("", -broad.mixed(density, held) / np.log(2), 0.0)

    now, joint = candidate, candidate.log_joint(held)
    first = last = bits(joint)
    seen: list[list[Any]] = []
    for _ in range(DEPTH):
        before = now
        labels = now.posteriors(fitted).argmax(axis=1)
        for region in _regions(now, fitted, labels):
            if any(_same(region, other) for other in seen):
                continue
            seen.append(region)
            mine = [c for c, leaf in enumerate(now.components) if any(leaf is one for one in region)]
            rows = np.flatnonzero(np.isin(labels, mine))
            if len(mine) < len(region) or len(rows) < FEWEST:
                continue  # replaced meanwhile, or small
            known = sorted(leaf.dimension for leaf in region)
            for found in _proposals(region, fitted[rows], errors, rng, n_neighbors, n_jobs):
                if sorted(found.dimensions) == known:
                    continue  # the same leaves from fewer rows: their bits are those of other bounds
                new, new_joint = _replaced(now, joint, mine, found, held)
                verdict = bits(new_joint)
                if not beyond_doubt(verdict, last) or not _keeps(now, new, mine, fitted, labels):
                    continue
                clouds = [] if found.finder == "mixture" else _clouds(region, fitted[rows], columns, rng)
                rivals = [bits(_replaced(now, joint, mine, cloud, held)[1]) for cloud in clouds]
                if all(beyond_doubt(verdict, rival, TESTED_DOUBT) for rival in rivals):
                    now, joint, last = new, new_joint, verdict
                    labels = now.posteriors(fitted).argmax(axis=1)
                    break
        if now is before:
            break
    if now is candidate:
        return None
    return Looked(now, *saving(last, first))


def _same(one: list[Any], two: list[Any]) -> bool:
    return len(one) == len(two) and all(a is b for a, b in zip(one, two, strict=True))


def _regions(candidate: Any, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]) -> list[list[Any]]:
    """Components that touch each other and no others, and single ones; the largest first. All components together
    are no region: the whole was searched already."""
    k = len(candidate.components)
    some = rows_at_most(np.arange(len(Z)), ROWS)
    nearest = np.asarray(KDTree(Z[some]).query(Z[some], 6)[1])[:, 1:]
    touch = np.zeros((k, k))
    np.add.at(touch, (np.repeat(labels[some], nearest.shape[1]), labels[some][nearest].ravel()), 1)
    touching = touch + touch.T > TOUCHING * np.minimum.outer(touch.sum(axis=1), touch.sum(axis=1))
    group = connected_components(touching, directed=False)[1]
    regions = [np.flatnonzero(group == g).tolist() for g in range(group.max() + 1)] if group.max() else []
    regions += [[c] for c in range(k) if [c] not in regions and k > 1]
    sizes = np.bincount(labels, minlength=k)
    regions.sort(key=lambda region: (-sizes[region].sum(), region))
    return [[candidate.components[c] for c in region] for region in regions[:REGIONS]]


def _proposals(
    region: list[Any],
    Z: Float[np.ndarray, "n D"],
    errors: Float[np.ndarray, "p D"],
    rng: np.random.Generator,
    n_neighbors: int,
    n_jobs: int,
) -> Iterator[Candidate]:
    """What is found in the region's own coordinates, as densities of all coordinates."""
    Z = Z[rows_at_most(np.arange(len(Z)), ROWS)]
    frame = _frame(region, Z, errors)
    if frame is None:
        return
    Y, own = frame(Z), errors @ frame.axes
    floor = np.sqrt((own**2).sum(axis=0))

    def outside(found: Any) -> Candidate:
        return Candidate(found.finder, [InnerLeaf(frame, leaf) for leaf in found.components], found.shares)

    q = Y.shape[1]
    if q >= 2 and is_thin(Y, rng):
        for found in (subspaces.find(Y, floor, rng, n_neighbors, n_jobs), atlas.find(Y, own, rng)):
            if found is not None and min(found.dimensions) < q:
                yield outside(found)
    # Rows on one subspace are one component, with or without a gap; those on none may be several clouds.
    if len(region) == 1 and q == Z.shape[1] and subspaces.n_connected(Y) > 1:
        found = mixture.in_components("mixture", Y, wide_enough(Y, floor), rng, mixture.FAMILIES["mixture"])
        if len(found.components) > 1:
            # parts of a component have its dimension
            parts = [replace(leaf, dimension=q) for leaf in found.components]
            yield outside(replace(found, components=parts))


def _clouds(
    region: list[Any], Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator
) -> list[Candidate]:
    """A region as one cloud, which may be skewed or curved: a mixture of Gaussians that are not told apart, and a
    Gaussian of columns with normal margins. The mixture is in the region's own coordinates: a cloud in a plane is
    as flat as the plane."""
    Z = Z[rows_at_most(np.arange(len(Z)), ROWS)]
    errors, floor = precision_of_coordinates(columns)
    frame = _frame(region, Z, errors) or Frame.fit(Z, Z.shape[1], floor)
    Y = frame(Z)
    own = wide_enough(Y, np.sqrt(((errors @ frame.axes) ** 2).sum(axis=0)))
    found = mixture.in_components("mixture", Y, own, rng, mixture.FAMILIES["mixture"], merged=False)
    clouds = [Candidate("cloud", [InnerLeaf(frame, leaf) for leaf in found.components], found.shares)]
    if len(Z) > 2 * Z.shape[1]:
        clouds.append(Candidate("cloud", [fit_margins(Z, columns)], np.ones(1)))
    return clouds


def wide_enough(Y: Float[np.ndarray, "n q"], floor: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """The least deviations of Gaussians in coordinates of a given precision."""
    return np.maximum(floor, THINNEST * Y.std(axis=0).max(initial=0.0))


def _frame(region: list[Any], Z: Float[np.ndarray, "n D"], errors: Float[np.ndarray, "p D"]) -> Frame | None:
    """The coordinates of a region: all in which it is wider than rounding, or those along a single flat component.
    None if there are too many, or the component is curved: what lies on it was looked for with it."""
    floor = np.sqrt((errors**2).sum(axis=0))
    deviations = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) / np.sqrt(len(Z))
    q = int((deviations > max(WIDER * np.min(floor), ROUNDING * deviations[0])).sum())
    if len(region) == 1 and region[0].dimension < q:
        d = region[0].dimension
        if d < 1 or deviations[d - 1] < FLAT * deviations[d]:
            return None
        q = d
    return Frame.fit(Z, q, floor) if 1 <= q <= MOST_DIMENSIONS else None


def is_thin(Y: Float[np.ndarray, "n q"], rng: np.random.Generator) -> bool:
    """Whether rows fill fewer dimensions than a Gaussian cloud with their covariance, at one of some scales: with
    fewer rows neighbors are farther apart, and noise counts less."""
    root = np.linalg.cholesky(np.atleast_2d(np.cov(Y.T)) + 1e-30 * np.eye(Y.shape[1]))
    for n in (len(Y), max(len(Y) // COARSER, FEWEST)):
        some = Y[rng.choice(len(Y), n, replace=False)]
        cloud = rng.standard_normal((n, Y.shape[1])) @ root.T
        # either is uncertain to a share of 1 / sqrt(n)
        if intrinsic_dimension(some) < (1 - THINNER * np.sqrt(2 / n)) * intrinsic_dimension(cloud):
            return True
    return False


def _replaced(
    candidate: Any,
    joint: Float[np.ndarray, "m k"],
    region: Sequence[int],
    found: Candidate,
    held: Float[np.ndarray, "m D"],
) -> tuple[Candidate, Float[np.ndarray, "m k2"]]:
    """The decomposition with other components for a region, and its log joint of held-out rows."""
    others = [c for c in range(len(candidate.components)) if c not in region]
    share = float(candidate.shares[list(region)].sum())
    new = Candidate(
        " + ".join(dict.fromkeys([*candidate.finder.split(" + "), found.finder])),
        [*(candidate.components[c] for c in others), *found.components],
        np.concatenate([candidate.shares[others], share * found.shares / found.shares.sum()]),
    )
    return new, np.concatenate([joint[:, others], np.log(share) + found.log_joint(held)], axis=1)


def _keeps(
    before: Any, after: Any, region: Sequence[int], Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> bool:
    """Whether components that the region enclosed are still enclosed: a component with a gap, in which a smaller
    one lies, is not two."""
    others = [c for c in range(len(before.components)) if c not in region]
    old = np.asarray(enclosures(before, Z, labels)[0][np.ix_(others, list(region))]).any(axis=1)
    if not old.any():
        return True
    new = enclosures(after, Z, after.posteriors(Z).argmax(axis=1))[0]
    return bool(np.asarray(new[: len(others), len(others) :].any(axis=1))[old].all())


def rows_at_most(rows: Int[np.ndarray, " n"], most: int) -> Int[np.ndarray, " m"]:
    """Rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]
