"""Modes of a layout of the graph of neighbors, joined to groups, and which of these come back in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_matrix

from disentree.geometry.layout import LAYOUT, layout, neighbor_graph
from disentree.mimosa.finders.modes.climbing import Neighborhoods, find_modes
from disentree.mimosa.finders.modes.constants import MODES


@dataclass(frozen=True)
class Dendrogram:
    """Modes, and how they are joined: for each level its groups, and the modes in each of these."""

    labels: Int[np.ndarray, " n"]  # the mode of each row
    links: Float[np.ndarray, "k k"]  # between the rows of modes
    levels: Sequence[Bool[np.ndarray, "_ k"]]  # the finest first

    @property
    def sizes(self) -> Float[np.ndarray, " k"]:
        """Rows of each mode."""
        return np.bincount(self.labels).astype(np.float64)

    @cached_property
    def groups(self) -> Bool[np.ndarray, "_ k"]:
        """Of all levels."""
        return np.unique(np.concatenate(self.levels), axis=0)


def dendrogram(Z: Float[np.ndarray, "n D"], rng: np.random.Generator, n_jobs: int = -1) -> Dendrogram:
    """The modes of rows as their neighbors have them, joined by how many links there are between them, for the
    pairs of rows that there could be links between."""
    graph = neighbor_graph(Z, n_jobs)
    k = max(LAYOUT.neighbors, round(MODES.scales[1] * np.sqrt(len(Z))))
    labels = find_modes(Neighborhoods(layout(Z, graph, rng), n_jobs), k)
    one = csr_matrix((np.ones(len(Z)), (np.arange(len(Z)), labels)))
    links = (one.T @ graph @ one).toarray()
    return Dendrogram(labels, links, joined_by_links(links, np.bincount(labels).astype(np.float64)))


def joined_by_links(
    links: Float[np.ndarray, "k k"], sizes: Float[np.ndarray, " k"]
) -> list[Bool[np.ndarray, "_ k"]]:
    """The groups of modes at each level, from all modes to one group: the two of most links for their sizes are
    joined."""
    links, sizes = links.copy(), sizes.copy()
    members = np.eye(len(sizes), dtype=bool)
    out = [members]
    while len(members) > 1:
        alike = np.tril(links / np.outer(sizes, sizes), -1) + np.tril(np.ones_like(links), -1)
        b, a = np.unravel_index(int(alike.argmax()), alike.shape)
        members = np.delete(
            np.where(np.arange(len(members))[:, None] == a, members | members[b], members), b, axis=0
        )
        for both in (links, links.T):
            both[a] += both[b]
        links = np.delete(np.delete(links, b, axis=0), b, axis=1)
        sizes[a] += sizes[b]
        sizes = np.delete(sizes, b)
        out.append(members)
    return out


def that_come_back(
    whole: Dendrogram, again: Sequence[tuple[Dendrogram, Int[np.ndarray, "k _"]]], least: float
) -> Bool[np.ndarray, "g k"]:
    """Groups of modes that all come back, to `least` or more: from the modes on, the group that comes back least
    is joined with the one that it has most links with for their sizes."""
    groups = np.eye(len(whole.links), dtype=bool)
    while len(groups) > 1:
        back = came_back(groups, again)
        worst = int(back.argmin())
        if back[worst] >= least:
            break
        alike = (groups[worst] @ whole.links) @ groups.T / (groups @ whole.sizes)
        alike[worst] = -1.0
        other = int(alike.argmax())
        groups[other] |= groups[worst]
        groups = np.delete(groups, worst, axis=0)
    return groups


def came_back(
    level: Bool[np.ndarray, "g k"], again: Sequence[tuple[Dendrogram, Int[np.ndarray, "k _"]]]
) -> Float[np.ndarray, " g"]:
    """How far parts of the rows bring each group back: the Jaccard overlap with the group of their dendrogram that
    is most alike. The least one, but for one of several folds, which may be unlucky."""
    overlaps, own = [], level.astype(float)
    for part, shared in again:
        other, counts = part.groups.astype(float), shared.astype(float)
        both = own @ counts @ other.T
        here, there = own @ counts.sum(axis=1), other @ counts.sum(axis=0)
        overlaps.append((both / np.maximum(here[:, None] + there - both, 1)).max(axis=1))
    return np.sort(overlaps, axis=0)[int(len(again) > 2)]
