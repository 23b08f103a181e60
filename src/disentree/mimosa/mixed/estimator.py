"""MIMOSA on data frames with columns of any kind and empty cells."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.sizes import with_sizes
from disentree.mimosa.base import TreeEstimator
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.mixed.latent_classes import FoundClasses, find_classes
from disentree.mimosa.mixed.model import Existing, TableModel, answers_in, find_branches, finish, says_more
from disentree.mimosa.mixed.presence_bits import existence_bits
from disentree.mimosa.search.judge import STRUCTURELESS
from disentree.mimosa.search.search import led_by
from disentree.mimosa.stability.stability import Found, in_words
from disentree.tables import Cells, Codec

CLASSES = "classes"  # as a finder is called


class TableTreeEstimator(TreeEstimator):
    """The part of MIMOSA that a table with other columns than numbers, or with empty cells, needs.

    What all rows have in common is searched by the part that arrays need too: `_find`, `_set_hierarchy`, `_assign`
    and `_components` of the class below it.
    """

    table_: TableModel | None = None
    features_: Float[np.ndarray, "n f"] | None = None  # of the rows of a table, for the maps of its leaves
    candidate_: Any
    candidates_: list[dict[str, Any]]
    saved_bits_: float
    saved_bits_doubt_: float
    _find: Any
    _set_hierarchy: Any
    _assign: Any
    _components: Any
    _parents: list[int | None]
    _enclosed: list[tuple[int, ...]]
    _floor: Float[np.ndarray, " D"]
    _silent: tuple[str, ...]
    _unasked: tuple[str, ...]

    def _fit_table(self, frame: Any, codec: Codec, seeds: Sequence[np.random.SeedSequence]) -> Any:
        """The tree of columns of any kind: what exists where, and what is found among the numbers."""
        self._remember(frame)
        rng = np.random.default_rng(seeds[3])
        with self._timed("what exists where"):
            found = find_branches(frame, codec, rng)
        numbers = found.filling(found.cells.numbers[:, found.searched])
        # What is filled in would be a manifold of its own.
        known = np.isfinite(found.cells.numbers[:, found.searched].sum(axis=1))
        outcome, Z = self._find(numbers if numbers.shape[1] else np.zeros((len(frame), 1)), seeds, known)
        with self._timed("hierarchy"):
            self._set_hierarchy(outcome.candidate, Z)
            joint = self.candidate_.log_joint(self.embedding_)
            if self.saved_bits_ and not says_more(found, joint.argmax(axis=1)):
                self._forget_leaves(Z)
                joint = self.candidate_.log_joint(self.embedding_)
        has_leaves = self.saved_bits_ > 0
        classes = None if has_leaves else self._find_classes(found, seeds[3])
        with self._timed("hierarchy"):
            self.table_, self.hierarchy_ = finish(found, self.hierarchy_, joint, has_leaves, rng, classes)
            self._count_existence(*existence_bits(found))
            self.features_ = self.table_.codec.features(found.cells)
        with self._timed("assignment"):
            self._assign(self._table_proba(found.cells, self.embedding_))
            dimensions = [path.dimension for path in self.hierarchy_.paths]
            if len(self._parents) != len(dimensions):  # what exists where has given the tree other paths
                self._parents, self._enclosed = [None] * len(dimensions), [()] * len(dimensions)
            self.components_ = self._components(dimensions, self._parents, self._enclosed)
        return self

    def _find_classes(self, found: Existing, seed: np.random.SeedSequence) -> FoundClasses | None:
        """Groups that differ in categories alone: the one cloud of numbers is then that of each of them."""
        if CLASSES in self._unasked:
            return None
        began = time.perf_counter()
        with self._timed("classes"):
            about = answers_in(found)
            classes = find_classes(about.columns, about.n_levels, np.random.default_rng(seed.spawn(1)[0]))
        if classes is not None and not says_more(found, classes.posteriors(about.columns).argmax(axis=1)):
            classes = None
        if classes is None:
            self._silent = (*self._silent, CLASSES)
            return None
        k, cloud = len(classes.shares), self.candidate_.components[0]
        self.candidate_ = LeafCandidate(CLASSES, [cloud] * k, classes.shares)
        tree = self.hierarchy_.to_dict()
        tree["variables"].append({"kind": "categorical", "options": [{"variables": []}] * k})
        self.hierarchy_ = Hierarchy.from_dict(tree)
        self._parents, self._enclosed = [None] * k, [()] * k
        row = {"finder": CLASSES, "components": k, "dimensions": [cloud.dimension] * k}
        bits = self.description_length_ - classes.saved
        row |= {"bits": bits, "seconds": time.perf_counter() - began, "why_not": ""}
        self.candidates_ = led_by(row, self.candidates_)
        self.description_length_ = bits
        self.saved_bits_, self.saved_bits_doubt_ = classes.saved, classes.doubt
        return classes

    def _forget_leaves(self, Z: Float[np.ndarray, "m D"]) -> None:
        """Take the numbers for one cloud: their leaves only repeat what exists where."""
        self._set_hierarchy(LeafCandidate("gaussian", [fit_gaussian(Z, self._floor)], np.ones(1)), Z)
        self.candidates_.sort(key=lambda row: (row["finder"] not in STRUCTURELESS, row["bits"]))
        self.description_length_ = self.candidates_[0]["bits"]
        for row in self.candidates_:
            fewer = row["bits"] < self.description_length_
            row["why_not"] = "its groups only repeat what exists where" if fewer else ""
        self.saved_bits_ = self.saved_bits_doubt_ = 0.0

    def _remember(self, frame: Any) -> None:
        """The names of a frame's columns, as scikit-learn does."""
        if len(frame) < 2:
            raise ValueError(f"X must have at least 2 rows, got {len(frame)}")
        self.shape_ = (frame.shape[1],)
        self.n_features_in_: int = frame.shape[1]
        self.feature_names_in_ = np.array([str(name) for name in frame.columns], dtype=object)

    def _count_existence(self, alone: Float[np.ndarray, " n"], switched: Float[np.ndarray, " n"]) -> None:
        """Add the bits for which cells have a value, so that all proposals are of the same cells: with the
        branches, or of every column on its own for models without structure, the chosen one's too."""
        saved, n_branches = alone - switched, len(self.table_.branches) if self.table_ is not None else 0
        chosen, *others = self.candidates_
        if n_branches and chosen["finder"] in STRUCTURELESS:
            others.append(dict(chosen))
        for row in others:
            is_plain = row["finder"] in STRUCTURELESS
            row["bits"] += float((alone if is_plain else switched).mean())
            row["branches"] = 0 if is_plain else n_branches
        chosen["bits"] += float(switched.mean())
        chosen["branches"] = n_branches
        self.candidates_ = led_by(chosen, sorted(others, key=lambda row: row["bits"]))
        self.description_length_ += float(switched.mean())
        self.saved_bits_ += float(saved.mean())
        self.saved_bits_doubt_ = float(np.hypot(self.saved_bits_doubt_, saved.std() / np.sqrt(len(saved))))

    def _core(self, cells: Cells) -> Float[np.ndarray, "n D"]:
        """The numbers that were searched, in the embedding."""
        assert self.table_ is not None
        numbers = self.table_.numbers(cells)
        return self.representation_.transform(numbers if numbers.shape[1] else np.zeros((len(cells), 1)))

    def _table_proba(self, cells: Cells, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n paths"]:
        """What exists says which paths are open to a row; numbers and categories which of these it is on."""
        assert self.table_ is not None
        weights = self.candidate_.posteriors(Z)
        if self.table_.evidence or self.table_.counted_evidence:
            with np.errstate(divide="ignore"):
                joint = np.log(weights) + self.table_.log_evidence(cells)
            weights = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        out = np.zeros((len(cells), len(self.hierarchy_.paths)))
        np.put_along_axis(out, self.table_.paths(self.hierarchy_, cells), weights, axis=1)
        return out

    def _found_by(self) -> str:
        finder = self.candidates_[0]["finder"]
        if self.table_ is None or not self.table_.branches:
            return finder
        return "what exists where" if finder in STRUCTURELESS else f"what exists where, and {finder}"

    def _table_summary(self) -> str:
        """The tree of a table with the share of rows on every branch, and what its columns are."""
        assert self.table_ is not None
        schema = self.table_.codec.schema
        left_out = "".join(f"\nleft out {column.name}: {column.note}" for column in schema.left_out)
        used = len(schema.columns) - len(schema.left_out)
        first = (
            f"{len(self.labels_)} rows, {used} columns ({len(schema.numeric)} of numbers, "
            f"{len(schema.categorical)} of categories), {len(self.table_.branches)} branches by what exists"
        )
        support = None
        if self.stability_ is not None:
            words = (f"; {in_words(one)}" for one in self.stability_.branch_support)
            support = dict(zip(Found.of(self).branches, words, strict=True))
        lines = [f"{first}{left_out}", str(with_sizes(self.hierarchy_, self.labels_, after=support))]
        return "\n".join(lines + ([] if self.stability_ is None else self.stability_.factor_lines()))
