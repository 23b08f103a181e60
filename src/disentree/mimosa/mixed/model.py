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
from scipy.special import logsumexp

from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.mixed.branches import Branch, Names, grafted
from disentree.mimosa.mixed.evidence import Existence, UsualCells
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
    existence: Existence | None = None  # None if the tree was given
    usual_cells: UsualCells | None = None
    # Of a tree whose leaves were merged or split since: the one that was found, and those of its paths that are
    # on each path.
    found: Hierarchy | None = None
    origins: list[list[int]] = field(default_factory=list)

    def with_tied(self, tied: Mapping[int, Float[np.ndarray, "2 _"]]) -> TableModel:
        """With things on the leaves that have them."""
        core: Hierarchy | None = self.core
        for s, evidence in tied.items():
            assert core is not None  # `tied_switches` has made sure
            core = grafted(core, evidence[1] > evidence[0], self.dimensions[s], self.names.groups[s])
        assert core is not None
        return replace(self, core=core, tied=list(tied), tied_evidence=list(tied.values()))

    def numbers(self, cells: Cells) -> Float[np.ndarray, "n k"]:
        """The numbers that were searched, without a gap; a column of zeros if there are none."""
        return numbers_of(self.searched, self.imputation, cells)

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

    def placed(
        self, candidate: Candidate, hierarchy: Hierarchy, cells: Cells, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Float[np.ndarray, "n paths"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The probability of each path; the bits that the numbers of each row take, and those of its other cells,
        up to a constant.

        Numbers, in the embedding, and categories say which leaf of the core a row is on, and all columns that show
        what exists which of the branches."""
        assert self.existence is not None  # the tree was found, not given
        assert self.usual_cells is not None
        leaves = candidate.log_joint(Z)
        none = ~np.isfinite(leaves).any(axis=1)  # so far from all leaves that every density is zero
        leaves[none] = np.log(np.maximum(candidate.shares, 1e-300))
        numbers = leaves.max(axis=1)  # apart, since those of far rows are huge
        leaves = leaves - numbers[:, None] + self.log_evidence(cells)
        of_path, options, exists = self._routes(hierarchy)
        absent, there = self.existence.of_switches(self.presence.switches, cells)
        voted = self.presence.present(cells)[:, self.tied]  # with their own evidence on leaves
        leaves += np.where(voted, there[:, self.tied], absent[:, self.tied]).sum(axis=1, keepdims=True)
        free = [s for branch in self.branches for s in branch.switches]
        parts, of_parts = [(there - absent)[:, free]], [exists[:, free]]
        for b, shares in enumerate(self.existence.of_options(self.branches, cells)):
            parts.append(shares)
            of_parts.append(options[:, [b]] == np.arange(shares.shape[1]))
        branches = np.concatenate(parts, axis=1) @ np.concatenate(of_parts, axis=1).T.astype(np.float64)
        joint = leaves[:, of_path] + branches + absent[:, free].sum(axis=1, keepdims=True)
        whole = np.asarray(logsumexp(joint, axis=1))
        others = self.usual_cells.bits(cells, self.codec) - whole / np.log(2)
        return np.exp(joint - whole[:, None]), -numbers / np.log(2), others

    def leaves_of(self, hierarchy: Hierarchy) -> list[int]:
        """The leaf of the core that each path of the whole tree is on."""
        return self._routes(hierarchy)[0].tolist()

    def _routes(
        self, hierarchy: Hierarchy
    ) -> tuple[Int[np.ndarray, " paths"], Int[np.ndarray, "paths b"], Bool[np.ndarray, "paths s"]]:
        """For each path its leaf of the core, the option of each branch (-1 where the branch is not open), and
        which things exist."""
        core, whole = _numbered(self.core), _numbered(hierarchy)  # wherever their other variables are
        leaf_of = {frozenset((core[c], k) for c, k in path.choices): path.index for path in self.core.paths}
        where = dict(zip(range(len(core), len(whole)), _places(self.branches), strict=True))
        of_path = np.zeros(len(hierarchy.paths), np.int64)
        options = np.full((len(hierarchy.paths), len(self.branches)), -1)
        for path in hierarchy.paths:
            choices = [(whole[column], option) for column, option in path.choices]
            of_path[path.index] = leaf_of[frozenset(one for one in choices if one[0] < len(core))]
            for number, option in choices:
                if number in where:
                    options[path.index, where[number]] = option
        exists = np.zeros((len(hierarchy.paths), len(self.presence.switches)), bool)
        for b, branch in enumerate(self.branches):
            on = np.flatnonzero(options[:, b] >= 0)
            exists[np.ix_(on, np.array(branch.switches))] |= np.array(branch.exists)[options[on, b]]
        for s, evidence in zip(self.tied, self.tied_evidence, strict=True):
            exists[:, s] = (evidence[1] > evidence[0])[of_path]
        return of_path, options, exists

    def absent(self, hierarchy: Hierarchy) -> Bool[np.ndarray, "paths switches"]:
        """Which things do not exist on each path."""
        if not self.branches and not self.tied:  # also of a tree that was given, which has other leaves
            return np.ones((len(hierarchy.paths), len(self.presence.switches)), bool)
        if self.found is not None and len(hierarchy.paths) == len(self.origins) and hierarchy != self.found:
            absent = ~self._routes(self.found)[2]
            return np.stack([absent[own].all(axis=0) for own in self.origins])
        return ~self._routes(hierarchy)[2]

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


def numbers_of(searched: Sequence[int], imputation: Imputation, cells: Cells) -> Float[np.ndarray, "n k"]:
    """Some columns of numbers, without a gap; a column of zeros if there are none."""
    numbers = imputation(cells.numbers[:, searched])
    return numbers if numbers.shape[1] else np.zeros((len(cells), 1))


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


def _numbered(hierarchy: Hierarchy) -> dict[int, int]:
    """The categoricals of a tree by their columns, in order."""
    columns = [v.index for v in hierarchy.variables if v.kind == "categorical"]
    return {column: number for number, column in enumerate(columns)}


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
    absent = np.array([c.n_empty > FIT.half * len(frame) for c in codec.used], bool)
    codec = codec.with_empty({c.name: "absent" if a else c.empty for c, a in zip(codec.used, absent, strict=True)})
    presence = Presence([], absent, np.zeros(len(absent)))
    nothing = Imputation(np.zeros(0), np.zeros((0, 0)))
    return TableModel(codec, presence, [], [], nothing, Hierarchy.flat(0), 0, [], Names([], []))
