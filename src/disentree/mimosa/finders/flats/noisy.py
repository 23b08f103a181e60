"""Flats in noise: the decomposition of data that is linear but for white noise of a known size.

Where noise is larger than the distances between neighbors, neighborhoods say nothing about dimension. But the
leaves of linear data are pieces of flats, and all points of a leaf lie within the noise of its flat, however far
apart they are. Flats are looked for from the lowest dimension up, each as the one that holds more points than its
surroundings explain; then points and flats are settled in turn, as in a mixture model.

All lengths here are in units of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from disentree.geometry.charts import quadratic_terms
from disentree.geometry.subspaces import AffineSubspace, Tangents, clearness, reach
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.noise import WhiteNoise
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.sheet import assign, log_density_of_nearest, other_points
from disentree.mimosa.density.tiles import fit_flat_leaf
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.mimosa.finders.flats.decompose import Decomposition, estimated_saving
from disentree.mimosa.finders.flats.subspaces import has_gaps, needless_if_filled
from disentree.mimosa.finders.labels import renumber, rows_of


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"],
    rng: np.random.Generator,
    noise: WhiteNoise,
    n_neighbors: int = 40,
    n_jobs: int = -1,
) -> LeafCandidate | None:
    """The subspaces that rows lie on within noise; None if none stands out, if most are pieces of something
    curved, or if neighborhoods of `n_neighbors` promise a better description."""
    k = min(n_neighbors, len(Z) - 1)
    if k < n_neighbors // 2:
        return None
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    found = flats_in_noise((Z - noise.center) @ noise.weights, noise.deviation, k, seed, n_jobs)
    if found is None or found.labels.max(initial=-1) < 0 or max(found.dimensions) == 0:
        return None  # points in noise are clouds of full dimension, which mixtures are for
    cores = rows_of(found.labels)
    leaves = [fit_flat_leaf(Z[rows], d, precision, rng) for rows, d in zip(cores, found.dimensions, strict=True)]
    sizes = np.array([len(rows) for rows in cores], dtype=float)
    # A leaf without dimensions is a cloud of noise, and one with gaps may be a row of clouds: Gaussians describe
    # those as well.
    clouds = min(found.dimensions) == 0 or any(
        has_gaps(leaf, Z[rows], rng) for leaf, rows in zip(leaves, cores, strict=True)
    )
    needless = () if clouds else tuple(needless_if_filled(leaves, cores, Z, rng))
    return LeafCandidate("noisy subspaces", leaves, sizes / sizes.sum(), makes_needless=needless)


def flats_in_noise(
    Z: Float[np.ndarray, "n D"],
    noise: Float[np.ndarray, " D"],
    k: int,
    seed: np.random.SeedSequence,
    n_jobs: int = -1,
) -> Decomposition | None:
    """The components of points with independent noise of deviation `noise` along each axis; None if no flat
    stands out from the rest, if most are pieces of something curved, or if neighborhoods of `k` points are
    estimated to save more."""
    Y = Z / noise
    rng = np.random.default_rng(seed)
    flats = find_flats(Y, rng)
    found = settle(Y, flats, noise, k, n_jobs) if flats else None
    if found is None or found.saving < FLATS.achieved * estimated_saving(Z, k, seed, n_jobs):
        return None
    return found


def find_flats(Y: Float[np.ndarray, "n D"], rng: np.random.Generator) -> list[AffineSubspace]:
    """Flats from the lowest dimension up, each looked for among the points that those before do not hold; none if
    most are pieces of something curved."""
    n_dims = Y.shape[1]
    min_points = _min_points(len(Y))
    left = np.arange(len(Y))
    flats: list[AffineSubspace] = []
    n_curved = 0
    for d in range(n_dims):
        misses = 0
        while misses < FINDERS.rounds and len(left) >= min_points:
            flat = _best_flat(Y, left, d, min_points, rng)
            if flat is None:
                misses += 1
                continue
            misses = 0
            flats.append(flat)
            n_curved += is_curved(Y, flat)
            if n_curved >= 3 and 2 * n_curved > len(flats):
                return []
            left = left[flat.distances(Y[left]) > reach(n_dims - d) + 1]
    return flats if 2 * n_curved <= len(flats) else []


def _min_points(n: int) -> int:
    """Points in a ball, or on a flat, at least: twice those that a density is estimated from."""
    return max(2 * FLATS.nearby, int(FLATS.min_share * n))


def _best_flat(
    Y: Float[np.ndarray, "n D"], left: Int[np.ndarray, " m"], d: int, min_points: int, rng: np.random.Generator
) -> AffineSubspace | None:
    """Of flats through random points that are left and others around them the best that stands out."""
    P = Y[left]
    candidates: list[tuple[float, float, AffineSubspace]] = []
    for anchor in rng.choice(len(P), min(4 * FINDERS.looks, len(P)), replace=False):
        distance = np.linalg.norm(P - P[anchor], axis=1)
        order = np.argsort(distance, kind="stable")
        radius, size = 2 * FINDERS.narrow, 0
        while size < len(P):
            size = int(np.searchsorted(distance[order], radius))
            if size >= min_points:
                ball = order[:size]
                if size > FIT.sample:
                    ball = rng.choice(ball, FIT.sample, replace=False)
                if found := _best_in_ball(P[ball], P[anchor], d, rng):
                    candidates.append((found[0], radius, found[1]))
                if d == 0:
                    break  # a larger ball has nothing to add to what is around a point
            radius *= 2
    clear = stats.norm.isf(FLATS.chance)
    best, flat_of_best = 0.0, None
    for _, radius, candidate in sorted(candidates, key=lambda one: -one[0])[: 2 * FINDERS.rounds]:
        flat = _grow(P, candidate, radius)
        if flat is None:
            continue
        held, around = _support(P, flat)
        excess = held - around
        # Beside a flat that is taken already there seems to be nothing, because its points are not left.
        stands_out = clearness(held, around, d + 1) >= clear and 2 * held >= _support(Y, flat)[1]
        if stands_out and excess >= min_points and excess > best:
            best, flat_of_best = excess, flat
    return flat_of_best


def _support(P: Float[np.ndarray, "m D"], flat: AffineSubspace) -> tuple[int, int]:
    """How many points a flat holds, and how many lie around it no further off than as far again.

    A piece of one dimension more puts as many points in the one as in the other; anything else that happens to
    be there, more in the other.
    """
    off, r = flat.distances(P), reach(P.shape[1] - flat.dimension)
    around = P[(off > r) & (off <= 2 * r)]
    across = around - flat.project(around)
    # On the face of such a piece there is only one side with points: what is missing on the other is added.
    widest = np.linalg.eigh(across.T @ across)[1][:, -1]
    one_side = int((across @ widest > 0).sum())
    return int((off <= r).sum()), 2 * max(one_side, len(around) - one_side)


def is_curved(P: Float[np.ndarray, "m D"], flat: AffineSubspace) -> bool:
    """Whether points bend away from a flat that holds them: whether how far off they lie, and to which side,
    depends on where they are along it."""
    if not 0 < flat.dimension < P.shape[1]:
        return False
    members = P[flat.distances(P) <= reach(P.shape[1] - flat.dimension)]
    inside = flat.coordinates(members) / flat.spread
    q, _ = np.linalg.qr(quadratic_terms(inside))
    across = members - flat.project(members)
    explained = np.linalg.eigvalsh((q.T @ across).T @ (q.T @ across))[-1]
    return bool(explained > FLATS.max_explained * np.linalg.eigvalsh(across.T @ across)[-1])


def _best_in_ball(
    P: Float[np.ndarray, "m D"], anchor: Float[np.ndarray, " D"], d: int, rng: np.random.Generator
) -> tuple[float, AffineSubspace] | None:
    """The flat through the anchor and d other points that most of the points support, and how clearly."""
    n_dims = P.shape[1]
    r = reach(n_dims - d)
    y = P - anchor
    square = (y * y).sum(axis=1)[None]
    if d:
        tuples = rng.integers(len(P), size=(FINDERS.looks * d, d))
        q, upper = np.linalg.qr(np.swapaxes(y[tuples], 1, 2))
        sound = (np.abs(np.diagonal(upper, axis1=1, axis2=2)) > 2).all(axis=1)
        bases = np.swapaxes(q, 1, 2)[sound]
        if not len(bases):
            return None
        inside = bases @ y.T
        square = square - (inside * inside).sum(axis=1)
    # The anchor is off its flat too, so that distances from it are larger by a factor of about root two.
    held = (square <= 2 * r * r).sum(axis=1)
    around = (square <= 8 * r * r).sum(axis=1) - held
    best = int(np.argmax(clearness(held, around, d + 1)))
    members = P[square[best] <= 2 * r * r]
    if len(members) <= d + 2:
        return None
    flat = AffineSubspace.fit(members, d)
    return float(clearness(*_support(P, flat), d + 1)), flat


def _grow(P: Float[np.ndarray, "m D"], flat: AffineSubspace, radius: float) -> AffineSubspace | None:
    """Fit a flat to the points that it holds in larger and larger balls, until all are taken in."""
    d = flat.dimension
    r = reach(P.shape[1] - d)
    middle = flat.center
    far = float(np.linalg.norm(P - middle, axis=1).max())
    while True:
        near = np.linalg.norm(P - middle, axis=1) <= radius
        for _ in range(2):
            members = P[near & (flat.distances(P) <= 1.2 * r)]
            if len(members) <= d + 2:
                return None
            flat = AffineSubspace.fit(members, d)
        if radius > far:
            break
        radius *= 1.6
    return flat if d == 0 or flat.spread[-1] >= FINDERS.narrow else None


def settle(
    Y: Float[np.ndarray, "n D"],
    flats: list[AffineSubspace],
    noise: Float[np.ndarray, " D"],
    n_neighbors: int,
    n_jobs: int = -1,
) -> Decomposition | None:
    """Assign points to flats by likelihood and fit the flats to their points, in turn.

    What no flat holds is a component of full dimension if it is more than the noise leaves over.
    """
    n, n_dims = Y.shape
    min_points = _min_points(n)
    labels = np.full(n, -1)
    for c, flat in enumerate(flats):  # lowest dimension first
        labels[(labels < 0) & (flat.distances(Y) <= reach(n_dims - flat.dimension) + 1)] = c
    if (labels < 0).mean() >= FIT.exceptions:
        labels[labels < 0] = len(flats)
        flats = [*flats, AffineSubspace.fit(Y, n_dims)]
    dims = np.array([flat.dimension for flat in flats])
    for _ in range(2 * FINDERS.rounds):
        labels, dims, sheets = _fitted(Y, labels, dims, min_points)
        if not sheets:
            return None
        before = labels
        labels, off = assign(sheets, Y, 1.0, n_neighbors, n_jobs)
        labels[off > 1] = -1
        if np.mean(labels != before) < DENSITY.settled:
            break
    labels, dims, sheets = _fitted(Y, labels, dims, min_points)
    local = np.where(labels >= 0, dims[labels], n_dims)
    bases = np.broadcast_to(np.eye(n_dims), (n, n_dims, n_dims)).copy()
    for c, sheet in enumerate(sheets):
        bases[labels == c, : dims[c]] = sheet.basis
    saving = float(np.mean(np.where(labels >= 0, n_dims - local, 0) * -np.log(noise).mean()))
    return Decomposition(renumber(labels, local), Tangents(local, bases), 1.0, saving)


@dataclass(frozen=True)
class NoisyFlat:
    """A flat in noise of deviation 1, by the points on it: the projections of those that it holds."""

    points: Float[np.ndarray, "m D"]
    basis: Float[np.ndarray, "d D"]

    def log_likelihood(
        self, Z: Float[np.ndarray, "n D"], tolerance: float, n_jobs: int = -1
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log density of points, up to a constant, and their distances off the flat relative to its reach."""
        (d, n_dims), y = self.basis.shape, Z - self.points[0]
        inside = y @ self.basis.T
        square = np.maximum((y * y).sum(axis=1) - (inside * inside).sum(axis=1), 0.0)
        along = np.full(len(Z), log(len(self.points)))
        if d:
            own = (self.points - self.points[0]) @ self.basis.T
            along = log_density_of_nearest(other_points(own, inside, FLATS.nearby, n_jobs)[0], d)
        across = -(n_dims - d) * 0.5 * log(2 * pi) - 0.5 * square
        return along + across, np.sqrt(square) / (reach(n_dims - d) + 1) if d < n_dims else np.zeros(len(Z))


def _fitted(
    Y: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"], dims: Int[np.ndarray, " c"], min_points: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " k"], list[NoisyFlat]]:
    """Flats fitted to the points with each label, without those that have too few."""
    kept = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(dims)) >= min_points)
    number = np.full(len(dims), -1)
    number[kept] = np.arange(len(kept))
    labels = np.where(labels >= 0, number[labels], -1)
    sheets = []
    for c, d in enumerate(dims[kept]):
        members = Y[labels == c]
        flat = AffineSubspace.fit(members, int(d))
        sheets.append(NoisyFlat(flat.project(members), flat.basis))
    return labels, dims[kept], sheets
