"""The tree of a table with columns of any kind and empty cells.

What exists where gives the branches (`existence.py`, `branches.py`). The numbers that all rows have are searched
as any array is; one that is not known is filled in by their joint Gaussian. Categorical columns tell the leaves of
that search apart by a likelihood of their own: the share of each value in each leaf. If there are no leaves among
the numbers, groups are looked for that differ in categories alone (`classes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.formatting import either
from disentree.mimosa.mixed.branches import (
    Branch,
    Names,
    choices,
    make_branches,
    path_codes,
    product_hierarchy,
    thing_names,
)
from disentree.mimosa.mixed.category_evidence import fit_evidence
from disentree.mimosa.mixed.dimension import centered, shared_dimension, weighted_blocks
from disentree.mimosa.mixed.few_valued import Answered, answered, places_among
from disentree.mimosa.mixed.imputation import Filling, fit_filling
from disentree.mimosa.mixed.latent_classes import FoundClasses
from disentree.mimosa.mixed.nesting import MOST_PATHS, choose_switches, n_paths
from disentree.mimosa.mixed.presence import FEWEST_NUMBERS, MOSTLY, Existence, find_existence, is_heaped
from disentree.tables import Cells, Codec

MOST_EMPTY = 0.2  # of the cells of a column of numbers that is searched
FEWEST_WHOLE = 30  # different whole numbers in a column that is searched
FEWEST_NAMED = 100  # whole numbers that all differ, to be taken for numbers of the rows
MOST_WITH_LEAVES = 8 * MOST_PATHS  # paths, if there are leaves among the numbers too
MOST_HEAPED = 0.1  # of the rows of such a column with the same number
REPEATED = 0.2  # of the bits of leaves that must be left when it is known what exists


@dataclass(frozen=True)
class TableModel:
    """How rows of a table get to their paths.

    Attributes
    ----------
    about : dict
        The codec, as JSON.
    existence : Existence
    branches : list of Branch
    searched : list of int
        Columns of numbers that were searched.
    filling : Filling
        Of those.
    core : dict
        The hierarchy of what was found among them, as JSON.
    more : int
        Continuous variables at the root, beside those of the core.
    dimensions : list of int
        Continuous variables of each switch.
    evidence : list of array
        For each categorical column that no branch owns, the log of each value's share in a leaf of the core,
        relative to its share in all rows; in the last row 0, for empty cells.
    consulted : list of int
        These columns.
    names : Names
    counted : list of int
        Columns of few whole numbers that are taken as categories, too.
    counts : list of array
        Their values.
    counted_evidence : list of array
        As `evidence`, for these.
    """

    about: dict[str, Any]
    existence: Existence
    branches: list[Branch]
    searched: list[int]
    filling: Filling
    core: dict[str, Any]
    more: int
    dimensions: list[int]
    evidence: list[Float[np.ndarray, "_ _"]]
    consulted: list[int]
    names: Names
    counted: list[int] = field(default_factory=list)
    counts: list[Float[np.ndarray, " _"]] = field(default_factory=list)
    counted_evidence: list[Float[np.ndarray, "_ _"]] = field(default_factory=list)

    @property
    def codec(self) -> Codec:
        """The way from frames to cells and back."""
        return Codec.from_dict(self.about)

    def numbers(self, cells: Cells) -> Float[np.ndarray, "n k"]:
        """The numbers that were searched, without a gap."""
        return self.filling(cells.numbers[:, self.searched])

    def log_evidence(self, cells: Cells) -> Float[np.ndarray, "n leaves"]:
        """What the categories of each row say about its leaf of the core."""
        out = np.zeros((len(cells), len(Hierarchy.from_dict(self.core).paths)))
        for column, table in zip(self.consulted, self.evidence, strict=True):
            out += table[cells.categories[:, column]]
        for column, values, table in zip(self.counted, self.counts, self.counted_evidence, strict=True):
            out += table[places_among(values, cells.numbers[:, column])]
        return out

    def paths(self, hierarchy: Hierarchy, cells: Cells) -> Int[np.ndarray, "n leaves"]:
        """The path of each row for every leaf of the core that it may be on."""
        core = Hierarchy.from_dict(self.core)
        present = self.existence.present(cells)
        codes = path_codes(hierarchy, core, self.more, self.branches, choices(self.branches, cells, present))
        out = np.empty((len(cells), len(core.paths)), np.int64)
        for path in core.paths:
            for column, option in path.choices:
                codes[:, column] = option
            out[:, path.index] = hierarchy.path_of(codes)
            codes[:, [column for column, _ in path.choices]] = np.nan
        return out

    def absent(self, hierarchy: Hierarchy) -> Bool[np.ndarray, "paths switches"]:
        """Which things do not exist on each path."""
        core = Hierarchy.from_dict(self.core)
        out = np.ones((len(hierarchy.paths), len(self.existence.switches)), bool)
        if not self.branches:
            return out
        below = hierarchy.variables[core.n_variables + self.more :]
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
        owned = {column for switch in self.existence.switches for column in switch.columns}
        for j in set(np.flatnonzero(self.existence.absent).tolist()) - owned:  # no branch says it: a flag does
            gone = flags[:, codec.flags[j]] < 0.5
            _clear(numbers, categories, j, gone, np.nan)
        absent = self.absent(hierarchy)[paths]
        for s, switch in enumerate(self.existence.switches):
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
    absent = np.array([c.n_empty > MOSTLY * len(frame) for c in codec.used], bool)
    codec = codec.with_empty({c.name: "absent" if a else c.empty for c, a in zip(codec.used, absent, strict=True)})
    existence = Existence([], absent, np.zeros(len(absent)))
    filling = Filling(np.zeros(0), np.zeros((0, 0)))
    core = Hierarchy.flat(0).to_dict()
    return TableModel(codec.to_dict(), existence, [], [], filling, core, 0, [], [], [], Names([], []))


# -------------------------------------------------------------------- fitting


@dataclass(frozen=True)
class Existing:
    """What was found before the numbers are searched."""

    codec: Codec
    cells: Cells
    existence: Existence
    branches: list[Branch]
    searched: list[int]
    filling: Filling


def find_branches(frame: Any, codec: Codec, rng: np.random.Generator) -> Existing:
    """Branches of a table, and the columns of numbers that are left to search."""
    if not codec.used:
        reasons = "; ".join(f"{c.name}: {c.note}" for c in codec.schema.left_out[:3])
        raise ValueError(f"X has no column that can be used ({reasons})")
    cells = codec.read(frame)
    existence = find_existence(cells, codec.schema, rng)
    meanings = {
        column.name: "absent" if existence.absent[j] else "random" if column.n_empty else "none"
        for j, column in enumerate(codec.used)
    }
    codec = codec.with_empty(meanings)
    branches = make_branches(existence, cells, codec.schema, existence.present(cells))
    owned = {column for switch in existence.switches for column in switch.columns}
    only_numbers = not codec.schema.categorical and not cells.empty.any()
    searched = [j for j, x in enumerate(cells.numbers.T) if only_numbers or (j not in owned and _is_searched(x))]
    return Existing(codec, cells, existence, branches, searched, fit_filling(cells.numbers[:, searched]))


def _is_searched(x: Float[np.ndarray, " n"]) -> bool:
    return bool(np.isnan(x).mean() <= MOST_EMPTY) and _is_continuous(x)


def _is_continuous(x: Float[np.ndarray, " n"]) -> bool:
    """Whether numbers are many and none stands for nothing; whole numbers that are few or heaped may be counts or
    codes, and those that are all different numbers of the rows, whose values are no places on a line."""
    there = x[~np.isnan(x)]
    values, counts = np.unique(there, return_counts=True)
    if len(values) <= FEWEST_NUMBERS or is_heaped(there):
        return False
    if not (values == np.round(values)).all():
        return True
    names_rows = counts.max() == 1 and len(there) >= FEWEST_NAMED
    return bool(len(values) > FEWEST_WHOLE and counts.max() <= MOST_HEAPED * len(there) and not names_rows)


def says_more(found: Existing, leaves: Int[np.ndarray, " n"]) -> bool:
    """Whether leaves among the numbers are something else than what exists: a sum of areas is on a line of its own
    where there is no second floor."""
    whole = _bits(leaves)
    if not whole:
        return False
    present = found.existence.present(found.cells)
    combinations = np.unique(present, axis=0, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(combinations)
    left = sum(size * _bits(leaves[combinations == c]) for c, size in enumerate(sizes)) / len(leaves)
    return bool(left > REPEATED * whole)


def answers_in(found: Existing) -> Answered:
    """Columns with few values that no branch owns or is decided by."""
    return answered(found.cells, found.codec.schema, _left(found), found.searched)


def _left(found: Existing) -> list[int]:
    """Columns that no branch owns or is decided by."""
    p = found.cells.numbers.shape[1]
    owned = {column for switch in found.existence.switches for column in switch.columns}
    deciding = {p + branch.column for branch in found.branches if branch.column >= 0}
    return [j for j in range(len(found.codec.used)) if j not in owned | deciding]


def _bits(labels: Int[np.ndarray, " n"]) -> float:
    share = np.bincount(labels) / len(labels)
    return float(-(share[share > 0] * np.log2(share[share > 0])).sum())


def finish(
    found: Existing,
    core: Hierarchy,
    log_joint: Float[np.ndarray, "n leaves"],
    has_leaves: bool,
    rng: np.random.Generator,
    classes: FoundClasses | None = None,
) -> tuple[TableModel, Hierarchy]:
    """The model and the hierarchy of the whole table.

    Parameters
    ----------
    found : Existing
    core : Hierarchy
        Of the numbers that were searched.
    log_joint : array of shape (n, leaves)
        Log of share times density of each row and path of `core`.
    has_leaves : bool
        Whether there is structure among the numbers.
    rng : Generator
    classes : FoundClasses, default=None
        Of the columns of `answers_in`, if these are the paths of `core`.
    """
    cells, codec, p = found.cells, found.codec, found.cells.numbers.shape[1]
    about = None if classes is None else answers_in(found)
    if has_leaves or classes is not None:
        found = _with_fewer(found, MOST_WITH_LEAVES // len(core.paths))
    left = _left(found)
    rest = [j for j in left if j not in found.searched]
    blocks = weighted_blocks(cells, codec, rest)
    if classes is not None and about is not None:  # what differs between classes is no variable within them
        blocks = centered(blocks, classes.posteriors(about.columns).argmax(axis=1))
    more = shared_dimension(blocks, rng, least=int(classes is None))
    present = found.existence.present(cells)
    dimensions = [
        shared_dimension(weighted_blocks(cells.take(present[:, s]), codec, switch.columns), rng)
        for s, switch in enumerate(found.existence.switches)
    ]
    names = branch_names(found, codec)
    consulted = [j - p for j in left if j >= p] if has_leaves else []
    evidence = fit_evidence(cells.categories, consulted, log_joint, codec, rng) if has_leaves else []
    model = TableModel(
        codec.to_dict(), found.existence, found.branches, found.searched, found.filling, core.to_dict(), more,
        dimensions, evidence, consulted if evidence else [], names,
    )  # fmt: skip
    if classes is not None and about is not None:
        n = len(about.categorical)
        model = replace(
            model, evidence=classes.tables[:n], consulted=about.categorical, counted=about.counted,
            counts=about.counts, counted_evidence=classes.tables[n:],
        )  # fmt: skip
    return model, product_hierarchy(core, more, found.branches, dimensions, names)


def _with_fewer(found: Existing, most_paths: int) -> Existing:
    """As many branches as the paths allow, when leaves among the numbers multiply them."""
    if n_paths(found.existence.switches) <= most_paths:
        return found
    present = found.existence.present(found.cells)
    kept = choose_switches(found.existence.switches, list(present.T), most_paths)
    existence = replace(found.existence, switches=kept)
    branches = make_branches(existence, found.cells, found.codec.schema, existence.present(found.cells))
    return replace(found, existence=existence, branches=branches)


def branch_names(found: Existing, codec: Codec) -> Names:
    """Names from the columns that a thing owns."""
    groups = thing_names(found.existence, codec.used)
    branches = [
        codec.schema.categorical[b.column].name if b.column >= 0 else either([groups[s] for s in b.switches])
        for b in found.branches
    ]
    return Names(branches, groups)
