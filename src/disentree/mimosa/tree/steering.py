"""A tree that was steered: leaves of the tree that was found, split further or merged, and the rows on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.merging import Merging, merge_paths, split_path
from disentree.hierarchy.renaming import relabeled
from disentree.mimosa.tree.levels import Levels


@dataclass(frozen=True)
class Split:
    """A leaf of the tree before in several."""

    path: int
    names: list[str]
    dimensions: list[int]


@dataclass(frozen=True, eq=False)
class Steering:
    """What was split in the tree that was found, one leaf after the other, and then merged.

    Merges are pairs of paths of the finest tree, the one after all splits, and so are the paths of rows.
    """

    found: Hierarchy
    named: Hierarchy  # the same with its names
    enclosed: list[list[int]]  # for each path of `found` those that it encloses directly
    labels: Int[np.ndarray, " n"]
    core_labels: Int[np.ndarray, " n"]
    splits: list[Split] = field(default_factory=list)
    merges: list[list[int]] = field(default_factory=list)
    matches: list[list[int]] = field(default_factory=list)  # of the variables of `found`

    @cached_property
    def _split(self) -> list[Merging]:
        out, tree = [], self.found
        for split in self.splits:
            out.append(split_path(tree, split.path, split.names, split.dimensions))
            tree = out[-1].after
        return out

    @property
    def finest(self) -> Hierarchy:
        """The tree after all splits."""
        return self._split[-1].after if self._split else self.found

    @cached_property
    def _merged(self) -> tuple[Hierarchy, Int[np.ndarray, " k"]]:
        tree = self.finest
        now = np.arange(len(tree.paths))
        for a, b in self.merges:
            if now[a] != now[b]:
                step = merge_paths(tree, int(now[a]), int(now[b]))
                tree, now = step.after, np.array(step.paths)[now]
        return tree, now

    @property
    def tree(self) -> Hierarchy:
        """The tree after all splits and merges."""
        return self._merged[0]

    @property
    def named_tree(self) -> Hierarchy:
        """`tree` with the names of `named`."""
        return replace(self, found=self.named).tree

    @property
    def unnamed_tree(self) -> Hierarchy:
        """`tree` with numbers in place of the names in choices whose options have other rows than before."""
        tree = self.tree
        known = _rows_of_options(self.finest, np.arange(len(self.finest.paths)))
        own = _rows_of_options(tree, self.path_of)
        variables, options = [v.name for v in tree.variables], [list(v.options) for v in tree.variables]
        for v in tree.variables:
            if any(known.get((v.name, option)) != own[v.name, option] for option in v.options):
                variables[v.index] = next(name for n in count(1) if (name := f"c{n}") not in variables)
                options[v.index] = [str(k) for k in range(v.n_options)]
        return relabeled(tree, variables, options)

    @property
    def path_of(self) -> Int[np.ndarray, " k"]:
        """The path of `tree` for each path of the finest tree."""
        return self._merged[1]

    def paths(self, finest: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The paths of rows in `tree`, given those in the finest tree; -1 stays."""
        return np.where(finest < 0, -1, self.path_of[finest])

    @property
    def origin(self) -> Int[np.ndarray, " k"]:
        """The path of `found` for each path of the finest tree."""
        origin = np.arange(len(self.found.paths))
        for step in self._split:
            origin = origin[list(step.paths)]
        return origin

    @property
    def origins(self) -> list[list[int]]:
        """The paths of `found` for each path of `tree`."""
        return [np.unique(self.origin[self.path_of == path]).tolist() for path in range(len(self.tree.paths))]

    def tree_enclosed(self) -> list[tuple[int, ...]]:
        """For each path of `tree` those that it encloses directly."""
        origin = self.origin
        out: list[dict[int, None]] = [{} for _ in self.tree.paths]
        for finest, path in enumerate(self.path_of):
            for found in self.enclosed[origin[finest]]:
                out[path] |= dict.fromkeys(self.path_of[origin == found].tolist())
        return [tuple(inner for inner in own if inner != path) for path, own in enumerate(out)]

    def finest_probabilities(
        self, proba: Float[np.ndarray, "n found"], parts: Sequence[Float[np.ndarray, "n _"]]
    ) -> Float[np.ndarray, "n finest"]:
        """The probability of each path of the finest tree, given those of `found` and, for each leaf that was
        split, those of its parts."""
        for split, step, own in zip(self.splits, self._split, parts, strict=True):
            before = np.array(step.paths)
            proba = proba[:, before]
            proba[:, before == split.path] *= own
        return proba

    def probabilities(self, finest: Float[np.ndarray, "n finest"]) -> Float[np.ndarray, "n paths"]:
        """The probability of each path of `tree`."""
        out = np.zeros((len(finest), len(self.tree.paths)))
        np.add.at(out.T, self.path_of, finest.T)
        return out

    def merging(self, a: int, b: int) -> Steering:
        """With two paths of `tree` merged."""
        pair = [int(np.flatnonzero(self.path_of == path)[0]) for path in (a, b)]
        return replace(self, merges=[*self.merges, pair])

    def cut(self, levels: Levels, n_leaves: int) -> Steering:
        """Merged until there are at most so many leaves, along the levels of `tree`."""
        out = self
        for step in levels.steps:
            if len(out.tree.paths) <= n_leaves:
                break
            out = out.merging(*step.pairs[0])
        return out

    def unmerging(self, path: int) -> Steering | None:
        """Without the last merge that a path of `tree` comes from; None if it comes from none."""
        for last in range(len(self.merges) - 1, -1, -1):
            if self.path_of[self.merges[last][0]] == path:
                return replace(self, merges=[*self.merges[:last], *self.merges[last + 1 :]])
        return None

    def without_split(self) -> Steering | None:
        """Without the last split, if its parts are one leaf again; None if they are not."""
        if not self.splits:
            return None
        before, own = np.array(self._split[-1].paths), self.splits[-1].path
        if len(np.unique(self.path_of[before == own])) > 1:
            return None
        merges = [[int(before[a]), int(before[b])] for a, b in self.merges if before[a] != before[b]]
        labels, core = (np.where(paths < 0, -1, before[paths]) for paths in (self.labels, self.core_labels))
        return replace(self, splits=self.splits[:-1], merges=merges, labels=labels, core_labels=core)

    def splitting(
        self,
        path: int,
        names: list[str],
        dimensions: list[int],
        labels: Int[np.ndarray, " m"],
        core_labels: Int[np.ndarray, " m"],
    ) -> Steering:
        """With a path of `tree` that comes from no merge in several, and the parts that its rows are in."""
        own = int(np.flatnonzero(self.path_of == path)[0])
        before = np.array(split_path(self.finest, own, names, dimensions).paths)
        parts, new = np.flatnonzero(before == own), np.unique(before, return_index=True)[1]
        rows = self.labels == own
        after, after_core = (np.where(own < 0, -1, new[own]) for own in (self.labels, self.core_labels))
        after[rows] = parts[labels]
        after_core[rows] = np.where(core_labels < 0, -1, parts[core_labels])
        merges = [[int(new[a]), int(new[b])] for a, b in self.merges]
        splits = [*self.splits, Split(own, names, dimensions)]
        return replace(self, splits=splits, merges=merges, labels=after, core_labels=after_core)


def _rows_of_options(tree: Hierarchy, path_of: Int[np.ndarray, " k"]) -> dict[tuple[str, str], set[int]]:
    """For each option, by the names of its variable and of itself, the paths of the finest tree that have it."""
    out: dict[tuple[str, str], set[int]] = {}
    for path in tree.paths:
        for column, option in path.choices:
            v = tree.variables[column]
            own = out.setdefault((v.name, v.options[option]), set())
            own |= set(np.flatnonzero(path_of == path.index).tolist())
    return out
