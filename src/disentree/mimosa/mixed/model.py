"""How rows of a table with columns of any kind and empty cells get to their paths.

What exists where gives the branches. The numbers that all rows have are searched as any array is. Categorical
columns tell the leaves of that search apart by a likelihood of their own: the share of each value in each leaf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.mixed.branches import Branch, Names, choices, grafted, path_codes
from disentree.mimosa.mixed.constants import MIXED
from disentree.mimosa.mixed.few_valued import places_among
from disentree.mimosa.mixed.imputation import Imputation
from disentree.mimosa.mixed.presence import Presence
from disentree.tables import Cells, Codec


@dataclass(frozen=True)
class TableModel:
    """How rows of a table get to their paths.

    The columns of the table are those of `codec`; some of its numbers, `searched`, have been searched as any array
    is, with gaps filled in by `imputation`, and gave the tree `core`. Things that exist in some rows only
    (`presence`) are the branches beside it, with as many continuous variables as `dimensions` says for each.
    """

    codec: Codec
    presence: Presence
    branches: list[Branch]
    searched: list[int]
    imputation: Imputation
    core: Hierarchy
    more: int  # continuous variables at the root, beside those of the core
    dimensions: list[int]
    names: Names
    # For each categorical column that no branch owns (`consulted`), the log of each value's share in a leaf of the
    # core, relative to its share in all rows; in the last row 0, for empty cells.
    evidence: list[Float[np.ndarray, "_ _"]] = field(default_factory=list)
    consulted: list[int] = field(default_factory=list)
    # The same for columns of few whole numbers that are taken as categories, too, with their values.
    counted: list[int] = field(default_factory=list)
    counts: list[Float[np.ndarray, " _"]] = field(default_factory=list)
    counted_evidence: list[Float[np.ndarray, "_ _"]] = field(default_factory=list)
    # Things that no branch opens but the leaves of the core that have them, with the log of the share of rows
    # without and with them in each leaf.
    tied: list[int] = field(default_factory=list)
    tied_evidence: list[Float[np.ndarray, "2 _"]] = field(default_factory=list)

    def with_tied(self, tied: Mapping[int, Float[np.ndarray, "2 _"]]) -> TableModel:
        """With things on the leaves that have them."""
        core: Hierarchy | None = self.core
        for s, evidence in tied.items():
            assert core is not None  # `tied_switches` has made sure
            core = grafted(core, evidence[1] > evidence[0], self.dimensions[s], self.names.groups[s])
        assert core is not None
        return replace(self, core=core, tied=list(tied), tied_evidence=list(tied.values()))

    def numbers(self, cells: Cells) -> Float[np.ndarray, "n k"]:
        """The numbers that were searched, without a gap."""
        return self.imputation(cells.numbers[:, self.searched])

    def log_evidence(self, cells: Cells) -> Float[np.ndarray, "n leaves"]:
        """What the categories of each row say about its leaf of the core."""
        out = np.zeros((len(cells), len(self.core.paths)))
        for column, table in zip(self.consulted, self.evidence, strict=True):
            out += table[cells.categories[:, column]]
        for column, values, table in zip(self.counted, self.counts, self.counted_evidence, strict=True):
            out += table[places_among(values, cells.numbers[:, column])]
        if self.tied:
            there = self.presence.present(cells)[:, self.tied].astype(np.int64)
            out += sum(table[rows] for table, rows in zip(self.tied_evidence, there.T, strict=True))
        return out

    def embed(self, cells: Cells, representation: Representation) -> Float[np.ndarray, "n D"]:
        """The numbers that were searched, in the embedding."""
        numbers = self.numbers(cells)
        return representation.transform(numbers if numbers.shape[1] else np.zeros((len(cells), 1)))

    def posteriors(
        self, candidate: Candidate, hierarchy: Hierarchy, cells: Cells, Z: Float[np.ndarray, "n D"]
    ) -> Float[np.ndarray, "n paths"]:
        """The probability of each path. What exists says which paths are open to a row; numbers, in the embedding,
        and categories which of these it is on."""
        weights = candidate.posteriors(Z)
        if self.evidence or self.counted_evidence or self.tied:
            with np.errstate(divide="ignore"):
                joint = np.log(weights) + self.log_evidence(cells)
            weights = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        out = np.zeros((len(cells), len(hierarchy.paths)))
        np.put_along_axis(out, self.paths(hierarchy, cells), weights, axis=1)
        return out

    def leaves_of(self, hierarchy: Hierarchy) -> list[int]:
        """The leaf of the core that each path of the whole tree is on: their columns are the same."""
        leaf = {frozenset(path.choices): path.index for path in self.core.paths}
        n = self.core.n_variables
        return [leaf[frozenset(one for one in path.choices if one[0] < n)] for path in hierarchy.paths]

    def paths(self, hierarchy: Hierarchy, cells: Cells) -> Int[np.ndarray, "n leaves"]:
        """The path of each row for every leaf of the core that it may be on."""
        present = self.presence.present(cells)
        codes = path_codes(hierarchy, self.core, self.more, self.branches, choices(self.branches, cells, present))
        out = np.empty((len(cells), len(self.core.paths)), np.int64)
        for path in self.core.paths:
            for column, option in path.choices:
                codes[:, column] = option
            out[:, path.index] = hierarchy.path_of(codes)
            codes[:, [column for column, _ in path.choices]] = np.nan
        return out

    def absent(self, hierarchy: Hierarchy) -> Bool[np.ndarray, "paths switches"]:
        """Which things do not exist on each path."""
        out = np.ones((len(hierarchy.paths), len(self.presence.switches)), bool)
        leaf_of = {frozenset(path.choices): path.index for path in self.core.paths} if self.tied else {}
        for s, evidence in zip(self.tied, self.tied_evidence, strict=True):
            for path in hierarchy.paths:
                own = frozenset(choice for choice in path.choices if choice[0] < self.core.n_variables)
                out[path.index, s] = np.diff(evidence[:, leaf_of[own]])[0] <= 0
        if not self.branches:
            return out
        below = hierarchy.variables[self.core.n_variables + self.more :]
        columns = [v.index for v in below if v.kind == "categorical"]
        where = dict(zip(columns, _places(self.branches), strict=True))
        for path in hierarchy.paths:
            for column, option in path.choices:
                if column in where:
                    branch = self.branches[where[column]]
                    for s, there in zip(branch.switches, branch.exists[option], strict=True):
                        out[path.index, s] &= not there
        return out

    def frame(self, features: Float[np.ndarray, "n f"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"]) -> Any:
        """A data frame from features and the path of each row: cells of things that do not exist are empty, or
        have the value that stands for nothing."""
        codec = self.codec
        cells = codec.cells(features)
        numbers, categories = cells.numbers, cells.categories
        flags = features[:, codec.n_plain :]
        owned = {column for switch in self.presence.switches for column in switch.columns}
        for j in set(np.flatnonzero(self.presence.absent).tolist()) - owned:  # no branch says it: a flag does
            gone = flags[:, codec.flags[j]] < 0.5
            _clear(numbers, categories, j, gone, np.nan)
        absent = self.absent(hierarchy)[paths]
        for s, switch in enumerate(self.presence.switches):
            for column, sign in zip(switch.columns, switch.signs, strict=True):
                _clear(numbers, categories, column, absent[:, s], sign)
        return codec.frame(Cells(numbers, categories))


def _clear(
    numbers: Float[np.ndarray, "n p"],
    categories: Int[np.ndarray, "n q"],
    column: int,
    rows: Bool[np.ndarray, " n"],
    sign: float,
) -> None:
    """Give cells the value that stands for nothing; NaN for empty cells."""
    p = numbers.shape[1]
    if column < p:
        numbers[rows, column] = sign
    else:
        categories[rows, column - p] = -1 if np.isnan(sign) else int(sign)


def _places(branches: Sequence[Branch]) -> list[int]:
    """The branch of each categorical of `product_hierarchy`, in the order of its columns."""
    out: list[int] = []

    def visit(b: int) -> None:
        out.append(b)
        for exists in branches[b].exists:
            for s, there in zip(branches[b].switches, exists, strict=True):
                if there:
                    for c in range(len(branches)):
                        if branches[c].parent == s:
                            visit(c)

    for b in range(len(branches)):
        if branches[b].parent < 0:
            visit(b)
    return out


def table_without_branches(frame: Any, codec: Codec) -> TableModel:
    """For a table whose tree is given: empty cells are empty again where a flag says so."""
    absent = np.array([c.n_empty > MIXED.mostly * len(frame) for c in codec.used], bool)
    codec = codec.with_empty({c.name: "absent" if a else c.empty for c, a in zip(codec.used, absent, strict=True)})
    presence = Presence([], absent, np.zeros(len(absent)))
    nothing = Imputation(np.zeros(0), np.zeros((0, 0)))
    return TableModel(codec, presence, [], [], nothing, Hierarchy.flat(0), 0, [], Names([], []))
