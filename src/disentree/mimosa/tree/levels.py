"""Levels of a tree: from the leaves that were found, those two that differ least are merged again and again.

Two leaves differ by how far their centers are apart, in units of the covariance that rows have within leaves, and
by how many rows they have: the bits that Gaussians of this covariance lose when they get one center (Ward's
criterion in these units).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.neighbors import thinned
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.merging import Merging, merge_paths, mergers
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.tree.parts import brought_overlap, splits

Leaves = frozenset[int]  # of the tree that was found


@dataclass(frozen=True)
class Step:
    """One level to the next coarser one."""

    pairs: list[tuple[int, int]]  # paths of the finer tree that become one
    merging: Merging
    height: float  # bits per row that are lost from the finest level to here


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a tree whose rows are on given paths.

    `again` has for each part of the rows that was searched by itself how many rows each leaf shares with those of
    the part; without it, nobody has asked whether leaves come back.
    """

    hierarchy: Hierarchy
    Z: Float[np.ndarray, "n D"]
    labels: Int[np.ndarray, " n"]
    again: Sequence[Int[np.ndarray, "k _"]] = ()
    leaf_of: Sequence[int] | None = None  # each path, if some differ in what no part was asked for: what exists

    @cached_property
    def steps(self) -> list[Step]:
        """From the finest level to a single leaf."""
        tree, height, out = self.hierarchy, 0.0, []
        leaves = [frozenset([path.index]) for path in tree.paths]
        while len(tree.paths) > 1:
            ways = mergers(tree)
            losses = [sum(self._loss(leaves[a], leaves[b]) for a, b in pairs) for pairs in ways]
            pairs = ways[int(np.argmin(losses))]
            merging = merge_paths(tree, *pairs[0])
            height += min(losses) / max(len(self._rows), 1)
            out.append(Step(pairs, merging, height))
            tree, leaves = merging.after, self._groups(merging.paths, leaves)
        return out

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """What each level saves, the coarsest first."""
        leaves = [frozenset([path.index]) for path in self.hierarchy.paths]
        rows = [self._level(leaves)]
        for step in self.steps:
            leaves = self._groups(step.merging.paths, leaves)
            rows.append(self._level(leaves))
        return rows[::-1]

    def linkage(self) -> Float[np.ndarray, "m 4"]:
        """The steps as scipy has them: two clusters, the bits per row lost by then, and the leaves in both."""
        number = list(range(len(self.hierarchy.paths)))
        sizes = [1] * len(number)
        out: list[list[float]] = []
        for step in self.steps:
            new = dict(zip(range(len(number)), number, strict=True))
            for a, b in step.pairs:
                out.append([new[a], new[b], step.height, sizes[new[a]] + sizes[new[b]]])
                sizes.append(int(out[-1][3]))
                new[a] = new[b] = len(sizes) - 1
            number = [0] * len(step.merging.after.paths)
            for path, after in enumerate(step.merging.paths):
                number[after] = new[path]
        return np.array(out).reshape(-1, 4)

    def divisions(self) -> list[dict[str, Any]]:
        """For each categorical of the tree: `variable`, its column; `bits`, which one Gaussian for each of its
        options saves over one for all of them, per row that was held out, of all rows; and `support`, how far
        parts of the rows bring back each option (None where they were not asked, or no row has it)."""
        out = []
        for v in self.hierarchy.variables:
            if v.kind == "categorical":
                paths = self.hierarchy.paths
                options = [
                    frozenset(path.index for path in paths if (v.index, k) in path.choices)
                    for k in range(v.n_options)
                ]
                brought = self._brought(options)
                out.append({"variable": v.index, "bits": self._saved(options), "support": brought})
        return out

    # ---------------------------------------------------------------- inside

    @staticmethod
    def _groups(paths: Sequence[int], leaves: Sequence[Leaves]) -> list[Leaves]:
        out: list[Leaves] = [frozenset()] * (max(paths) + 1)
        for path, after in enumerate(paths):
            out[after] |= leaves[path]
        return out

    @cached_property
    def _rows(self) -> Int[np.ndarray, " m"]:
        return thinned(np.flatnonzero(self.labels >= 0), FIT.landmarks)

    @cached_property
    def _points(self) -> Float[np.ndarray, "m D"]:
        """Rows in few coordinates, all of the same deviation."""
        Z = self.Z[self._rows]
        Z = Z - Z.mean(axis=0)
        _, s, V = np.linalg.svd(Z, full_matrices=False)
        kept = np.flatnonzero(s > DENSITY.score_floor * s[:1])[: COORDINATES.most_linear]
        return Z @ V[kept].T / s[kept] * np.sqrt(len(Z))

    @cached_property
    def _on_leaf(self) -> Int[np.ndarray, " m"]:
        return self.labels[self._rows]

    @cached_property
    def _sizes(self) -> Int[np.ndarray, " k"]:
        return np.bincount(self._on_leaf, minlength=len(self.hierarchy.paths))

    @cached_property
    def _centers(self) -> Float[np.ndarray, "k D"]:
        """Of the leaves, in units of the covariance within leaves."""
        Y = self._points
        sums = np.zeros((len(self._sizes), Y.shape[1]))
        np.add.at(sums, self._on_leaf, Y)
        means = sums / np.maximum(self._sizes, 1)[:, None]
        rest = Y - means[self._on_leaf]
        within = rest.T @ rest / max(len(Y), 1) + DENSITY.score_floor * np.eye(Y.shape[1])
        return np.linalg.solve(np.linalg.cholesky(within), means.T).T

    def _size(self, leaves: Leaves) -> int:
        return int(self._sizes[list(leaves)].sum())

    def _center(self, leaves: Leaves) -> Float[np.ndarray, " D"]:
        some = list(leaves)
        return self._sizes[some] @ self._centers[some] / max(self._size(leaves), 1)

    def _loss(self, a: Leaves, b: Leaves) -> float:
        """Bits that all rows lose if two leaves are one."""
        m, n = self._size(a), self._size(b)
        apart = np.square(self._center(a) - self._center(b)).sum() if m and n else 0.0
        return float(m * n / max(m + n, 1) * apart / (2 * np.log(2)))

    @cached_property
    def _floor(self) -> Float[np.ndarray, " D"]:
        return np.full(self._points.shape[1], DENSITY.score_floor)

    @cached_property
    def _known(self) -> dict[tuple[Leaves, int], Float[np.ndarray, " _"]]:
        return {}

    @cached_property
    def _held(self) -> list[Int[np.ndarray, " _"]]:
        return splits(self._points, np.random.default_rng(0))

    def _log_joint(self, leaves: Leaves, held: int) -> Float[np.ndarray, " _"]:
        """Of rows that are held out, on some leaves as one Gaussian that was fitted to the others."""
        if (leaves, held) not in self._known:
            rows = np.setdiff1d(np.arange(len(self._rows)), self._held[held])
            own = self._points[rows[np.isin(self._on_leaf[rows], list(leaves))]]
            logs = np.full(len(self._held[held]), -np.inf)
            if len(own):
                model = fit_gaussian(own, self._floor)
                logs = model.log_density(self._points[self._held[held]]) + np.log(len(own) / len(rows))
            self._known[leaves, held] = logs
        return self._known[leaves, held]

    def _held_out(self, leaves: Sequence[Leaves]) -> float:
        logs = [
            np.logaddexp.reduce([self._log_joint(own, held) for own in leaves], axis=0)
            for held in range(len(self._held))
        ]
        return -float(np.concatenate(logs).mean()) / np.log(2)

    def _saved(self, options: Sequence[Leaves]) -> float:
        """Bits per row of all that one Gaussian for each option saves over one for their rows together."""
        options = [own for own in options if self._size(own)]
        together, saved, count = frozenset[int]().union(*options), 0.0, 0
        for held in range(len(self._held) if len(options) > 1 else 0):
            rows = np.isin(self._on_leaf[self._held[held]], list(together))
            apart = np.logaddexp.reduce([self._log_joint(own, held) for own in options], axis=0)[rows]
            one = self._log_joint(together, held)[rows]
            known = np.isfinite(apart) & np.isfinite(one)
            saved, count = saved + float((apart - one)[known].sum()), count + len(self._held[held])
        return saved / max(count, 1) / float(np.log(2))

    def _brought(self, options: Sequence[Leaves]) -> list[float | None]:
        """How far parts of the rows bring back each option."""
        leaf_of = self.leaf_of or range(len(self.hierarchy.paths))
        asked = [frozenset(leaf_of[path] for path in own) for own in options]
        every = frozenset(leaf_of)
        known = self.again and len(self.again[0]) == len(every)
        if not known or sum(map(len, asked)) > len(frozenset[int]().union(*asked)):
            return [None] * len(options)
        rest = every.difference(*asked)
        groups = [*asked, *([rest] if rest else [])]
        both = [np.stack([part[list(own)].sum(axis=0) for own in groups]) for part in self.again]
        overlaps = brought_overlap(both)[: len(options)]
        return [float(share) if self._size(own) else None for share, own in zip(overlaps, options, strict=True)]

    def _level(self, leaves: Sequence[Leaves]) -> dict[str, Any]:
        together = frozenset().union(*leaves)
        saved = self._held_out([together]) - self._held_out(leaves) if len(leaves) > 1 else 0.0
        about = {"n_leaves": len(leaves), "bits": float(saved), "support": self._support(leaves)}
        return {**about, "paths": [sorted(own) for own in leaves]}

    def _support(self, leaves: Sequence[Leaves]) -> float | None:
        """How far parts of the rows bring the least certain leaf back."""
        if not self.again or len(self.again[0]) != len(self.hierarchy.paths):
            return None
        both = [np.stack([part[list(own)].sum(axis=0) for own in leaves]) for part in self.again]
        return float(brought_overlap(both).min())
