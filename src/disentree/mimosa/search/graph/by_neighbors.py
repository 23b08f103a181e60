"""Leaves of rows of which only the nearest are alike: images of kinds, cells. Groups of the graph of neighbors.

The modes of a layout of the graph are joined until parts of the rows, laid out by themselves, have every group in
their dendrograms: of the modes of a layout those are joined first whose rows are most often neighbors of each
other. So nobody says how many leaves there are.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from disentree.geometry.neighbors import intrinsic_dimension, thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.parts import JoinedLeaf, PartLeaf, Parts
from disentree.mimosa.density.structureless import Background, fit_gaussian
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.asking import row_of, without_structure
from disentree.mimosa.search.choose import best_plain, saving
from disentree.mimosa.search.graph.dendrogram import Dendrogram, dendrogram, that_come_back
from disentree.mimosa.search.search import Outcome, Step, nothing_to_search, one_leaf
from disentree.mimosa.tree.parts import parts_of, shared_rows, splits
from disentree.utils.interrupts import plain_interrupts


def by_neighbors(rows: Rows, rng: np.random.Generator, step: Step) -> Outcome:
    """Leaves are parts of one density, a Gaussian for each of them: a row is on that of its nearest neighbors."""
    Z, began = rows.Z, time.perf_counter()
    if nothing_to_search(Z):
        return one_leaf(rows)
    held = splits(Z, rng)
    with step("models without structure"):
        tried = without_structure(rows, held)
    plain = best_plain([one.score for one in tried])
    table = [one.row | {"why_not": ""} for one in sorted(tried, key=lambda one: one.score.mean)]
    best = next(one.candidate for one in tried if one.score is plain)
    try:
        with plain_interrupts(), step("graph of neighbors"):
            whole = dendrogram(Z, rng, rows.n_jobs)
        with plain_interrupts(), step("replication"):
            again = [of_part(Z, own, whole, rng, rows.n_jobs) for own in parts_of(len(Z), rng)]
    except KeyboardInterrupt:
        warnings.warn("interrupted: the graph of neighbors was not finished", RuntimeWarning, stacklevel=2)
        return Outcome(best, table, plain.mean, 0.0, 0.0, interrupted=True)
    level = that_come_back(whole, again, FINDERS.most)
    if len(level) == 1:
        return Outcome(best, table, plain.mean, 0.0, 0.0)
    labels = level.argmax(axis=0)[whole.labels]
    bits = np.full(len(Z), np.nan)
    for some in held:
        rest = np.delete(np.arange(len(Z)), some)
        density, broad = _gaussians(Z[rest], labels[rest], rows.floor), Background.fit(Z[rest], rows.floor)
        bits[some] = -broad.mixed(density.log_density(Z[some]), Z[some]) / np.log(2)
    saved, doubt = saving(bits, plain.bits)
    density = _gaussians(Z, labels, rows.floor)
    shown = thinned(np.arange(len(Z)), FIT.landmarks)
    parts = Parts(Z[shown], labels[shown], np.eye(Z.shape[1]))
    dimensions = [_dimension(Z[labels == g]) for g in range(len(level))]
    leaves = [PartLeaf(density, parts, g, float(density.shares[g]), d) for g, d in enumerate(dimensions)]
    found = LeafCandidate("graph", leaves, density.shares, is_apart=True)
    mean = float(np.nanmean(bits))
    first = row_of(found, mean, time.perf_counter() - began) | {"why_not": ""}
    shared = [level.astype(np.int64) @ counts for _, counts in again]
    return Outcome(found, [first, *table], mean, saved, doubt, again=shared)


def _gaussians(
    Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"], floor: Float[np.ndarray, " D"]
) -> JoinedLeaf:
    groups, counts = np.unique(labels, return_counts=True)  # copies of one row may be held out together
    leaves = [fit_gaussian(Z[labels == g], floor) for g in groups]
    return JoinedLeaf(leaves, counts / len(labels), Z.shape[1])


def of_part(
    Z: Float[np.ndarray, "n D"],
    own: Int[np.ndarray, " m"],
    whole: Dendrogram,
    rng: np.random.Generator,
    n_jobs: int,
) -> tuple[Dendrogram, Int[np.ndarray, "k _"]]:
    """The dendrogram of a part of the rows, and how many rows each mode of all rows shares with each of its modes;
    rows that are not in the part are where their nearest one is."""
    found = dendrogram(Z[own], rng, n_jobs)
    others = np.delete(np.arange(len(Z)), own)
    nearest = NearestNeighbors(n_neighbors=1, algorithm="brute", n_jobs=n_jobs).fit(Z[own].astype(np.float32))
    there = nearest.kneighbors(Z[others].astype(np.float32), return_distance=False)[:, 0]
    labels = np.empty(len(Z), np.int64)
    labels[own], labels[others] = found.labels, found.labels[there]
    return found, shared_rows(whole.labels, labels, int(whole.labels.max()) + 1)


def _dimension(Z: Float[np.ndarray, "n D"]) -> int:
    """How many dimensions a leaf fills, by the distances between its own rows."""
    found = intrinsic_dimension(Z[thinned(np.arange(len(Z)), FIT.most)])
    return min(round(found), Z.shape[1]) if np.isfinite(found) else 0
