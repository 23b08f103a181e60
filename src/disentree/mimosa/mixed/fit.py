"""The tree of a table with columns of any kind and empty cells.

What exists where gives the branches. The numbers that all rows have are searched as any array is; one that is not
known is imputed by their joint Gaussian. If there are no leaves among the numbers, groups are looked for that
differ in categories alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.explain.formatting import either
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.mixed.branches import (
    Branch,
    Names,
    choices,
    grafted,
    make_branches,
    product_hierarchy,
    thing_names,
)
from disentree.mimosa.mixed.constants import MIXED
from disentree.mimosa.mixed.dimension import centered, shared_dimension, weighted_blocks
from disentree.mimosa.mixed.evidence import fit_evidence, fit_existence, fit_usual_cells
from disentree.mimosa.mixed.few_valued import FewValued, few_valued
from disentree.mimosa.mixed.imputation import Imputation, fit_imputation
from disentree.mimosa.mixed.latent_classes import LatentClasses, find_classes
from disentree.mimosa.mixed.model import TableModel, numbers_of
from disentree.mimosa.mixed.nesting import choose_switches, n_paths
from disentree.mimosa.mixed.presence import Presence, find_presence, has_zeros
from disentree.mimosa.mixed.presence_bits import presence_bits
from disentree.mimosa.mixed.scoring import CLASSES, with_classes, with_presence, without_leaves
from disentree.mimosa.mixed.sharing import repeat
from disentree.mimosa.search.search import Outcome
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.search.structure import Settings, Structure, find_structure
from disentree.mimosa.tree.arrange import Arrangement, arrange_leaves
from disentree.mimosa.tree.constants import TREE
from disentree.rows import Blocks
from disentree.tables import Cells, Codec
from disentree.tables.kinds import is_whole


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of a table before its numbers are searched."""

    codec: Codec
    cells: Cells
    presence: Presence
    present: Bool[np.ndarray, "n s"]  # in which rows each thing exists
    branches: list[Branch]
    searched: list[int]
    imputation: Imputation

    @property
    def free(self) -> list[int]:
        """Columns that no branch owns or is decided by."""
        p = self.cells.numbers.shape[1]
        owned = {column for switch in self.presence.switches for column in switch.columns}
        deciding = {p + branch.column for branch in self.branches if branch.column >= 0}
        return [j for j in range(len(self.codec.used)) if j not in owned | deciding]

    def with_fewer_branches(self, most_paths: int) -> Columns:
        """As many branches as the paths allow, when leaves among the numbers multiply them."""
        if n_paths(self.presence.switches) <= most_paths:
            return self
        kept = choose_switches(self.presence.switches, list(self.present.T), most_paths)
        presence = replace(self.presence, switches=kept)
        present = presence.present(self.cells)
        branches = make_branches(presence, self.cells, self.codec.schema, present)
        return replace(self, presence=presence, present=present, branches=branches)


def fit_table(
    frame: Any,
    codec: Codec,
    settings: Settings,
    seeds: Sequence[np.random.SeedSequence],
    step: Steps,
    everything: Blocks | None = None,
) -> tuple[Structure, TableModel, Cells]:
    """The structure of a table, how rows get to its paths, and the cells of these rows; rare kinds are looked for
    in `everything`, if the frame is a sample of that."""
    rng = np.random.default_rng(seeds[3])
    with step("what exists where"):
        columns = read_columns(frame, codec, rng)
    cells = columns.cells
    known = cells.numbers[:, columns.searched]
    numbers = numbers_of(columns.searched, columns.imputation, cells)
    # What is imputed would be a manifold of its own.
    complete = np.isfinite(known.sum(axis=1))
    weights = settings.column_weights
    own = None if weights is None or not columns.searched else weights[columns.searched]
    rest = everything
    if rest is not None:
        rest = rest.then(columns.codec.read).then(partial(numbers_of, columns.searched, columns.imputation))
    found = find_structure(numbers, replace(settings, column_weights=own), seeds, step, complete, rest)
    with step("hierarchy"):
        joint = found.arrangement.candidate.log_joint(found.embedding)
        if _has_leaves(found.outcome) and not says_more(columns.present, joint.argmax(axis=1)):
            found = _as_one_cloud(found)
            joint = found.arrangement.candidate.log_joint(found.embedding)
    has_leaves = _has_leaves(found.outcome)
    answers = classes = None
    if not has_leaves and CLASSES not in settings.skipped:
        with step(CLASSES):
            began = time.perf_counter()
            answers = few_valued(cells, columns.codec.schema, columns.free, columns.searched)
            classes = find_classes(answers.columns, answers.n_levels, np.random.default_rng(seeds[3].spawn(1)[0]))
            if classes is not None:
                likeliest = classes.posteriors(answers.columns).argmax(axis=1)
                classes = classes if says_more(columns.present, likeliest) else None
            found = _with_classes(found, classes, time.perf_counter() - began)
    with step("hierarchy"):
        alone, switched = presence_bits(columns.presence, columns.present, cells, columns.codec)
        core = found.arrangement.hierarchy
        if has_leaves or classes is not None:
            columns = columns.with_fewer_branches(TREE.most_combined // len(core.paths))
        tied = tied_switches(columns, core, joint.argmax(axis=1)) if has_leaves else {}
        columns = replace(columns, branches=[b for b in columns.branches if not tied.keys() & set(b.switches)])
        table = _table_model(columns, core, rng, classes, answers)
        if has_leaves:
            table = _with_evidence(table.with_tied(tied), columns, joint, rng, weights)
        table = _with_shares(table, columns)
        hierarchy = product_hierarchy(table.core, table.more, table.branches, table.dimensions, table.names)
        arrangement = replace(found.arrangement, hierarchy=hierarchy)
        n = len(hierarchy.paths)
        if n != len(arrangement.parents):  # what exists where has given the tree other paths
            arrangement = replace(arrangement, parents=[None] * n, enclosed=[()] * n)
        outcome = with_presence(found.outcome, alone, switched, len(table.branches))
    return replace(found, outcome=outcome, arrangement=arrangement), table, cells


def read_columns(frame: Any, codec: Codec, rng: np.random.Generator) -> Columns:
    """Branches of a table, and the columns of numbers that are left to search."""
    if not codec.used:
        reasons = "; ".join(f"{c.name}: {c.note}" for c in codec.schema.left_out[:3])
        raise ValueError(f"X has no column that can be used ({reasons})")
    cells = codec.read(frame)
    presence, present = find_presence(cells, codec.schema, rng)
    meanings = {
        column.name: "absent" if presence.absent[j] else "random" if column.n_empty else "none"
        for j, column in enumerate(codec.used)
    }
    codec = codec.with_empty(meanings)
    branches = make_branches(presence, cells, codec.schema, present)
    owned = {column for switch in presence.switches for column in switch.columns}
    only_numbers = not codec.schema.categorical and not cells.empty.any()
    searched = [j for j, x in enumerate(cells.numbers.T) if only_numbers or (j not in owned and _is_searched(x))]
    imputation = fit_imputation(cells.numbers[:, searched])
    return Columns(codec, cells, presence, present, branches, searched, imputation)


def _is_searched(x: Float[np.ndarray, " n"]) -> bool:
    """Whether a column is of numbers that are many, mostly known, and none of which stands for nothing. Whole
    numbers that are few or tied may be counts or codes; if they all differ, they may be numbers of the rows."""
    gaps = np.isnan(x)
    if gaps.mean() > MIXED.most_empty:
        return False
    there = x[~gaps]
    values, counts = np.unique(there, return_counts=True)
    most_tied = FINDERS.counted * len(there)
    if len(values) <= MIXED.few_values or (has_zeros(there) and (there == 0).sum() > most_tied):
        return False
    if not is_whole(values):
        return True
    names_rows = counts.max() == 1 and len(there) >= FIT.enough
    few_ties = counts.max() <= most_tied
    return bool(len(values) > FIT.fewest and few_ties and not names_rows)


def tied_switches(
    columns: Columns, core: Hierarchy, leaves: Int[np.ndarray, " n"]
) -> dict[int, Float[np.ndarray, "2 leaves"]]:
    """Things that exist in the rows of some leaves, so that a choice of their own would repeat that of the leaf:
    the log of the share of rows without and with them in each leaf."""
    out: dict[int, Float[np.ndarray, "2 leaves"]] = {}
    parents = {switch.parent for switch in columns.presence.switches}
    for s in (b.switches[0] for b in columns.branches if len(b.switches) == 1 and b.parent < 0):
        there = columns.present[:, s]
        counts = (
            np.stack([np.bincount(leaves[there == k], minlength=len(core.paths)) for k in (False, True)]) + 0.5
        )
        has = counts[1] > counts[0]
        if s not in parents and repeat(there, has[leaves]) and grafted(core, has, 0, "") is not None:
            out[s] = np.log(counts / counts.sum(axis=0))
    return out


def says_more(present: Bool[np.ndarray, "n s"], leaves: Int[np.ndarray, " n"]) -> bool:
    """Whether leaves are something else than what exists: a sum of areas is on a line of its own where there is no
    second floor."""
    whole = _entropy(leaves)
    if not whole:
        return False
    combinations = np.unique(present, axis=0, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(combinations)
    left = sum(size * _entropy(leaves[combinations == c]) for c, size in enumerate(sizes)) / len(leaves)
    return bool(left > TREE.dependent * whole)


def _entropy(labels: Int[np.ndarray, " n"]) -> float:
    share = np.bincount(labels) / len(labels)
    return float(-(share[share > 0] * np.log2(share[share > 0])).sum())


def _has_leaves(outcome: Outcome) -> bool:
    """Whether something was found among the numbers: groups may save no bits."""
    return outcome.saved_bits > 0 or len(outcome.candidate.components) > 1


def _as_one_cloud(found: Structure) -> Structure:
    cloud = LeafCandidate("gaussian", [fit_gaussian(found.landmarks, found.coordinates.floor)], np.ones(1))
    arrangement = arrange_leaves(cloud, found.landmarks)
    return replace(found, outcome=without_leaves(found.outcome, arrangement.candidate), arrangement=arrangement)


def _with_classes(found: Structure, classes: LatentClasses | None, seconds: float) -> Structure:
    """With the classes as leaves: the one cloud of numbers is that of each of them."""
    outcome, tree = found.outcome, found.arrangement
    if classes is None:
        return replace(found, outcome=replace(outcome, silent=(*outcome.silent, CLASSES)))
    k, cloud = len(classes.shares), tree.candidate.components[0]
    core = tree.hierarchy.to_dict()
    core["variables"].append({"kind": "categorical", "options": [{"variables": []}] * k})
    tree = Arrangement(
        Hierarchy.from_dict(core), LeafCandidate(CLASSES, [cloud] * k, classes.shares), [None] * k, [()] * k
    )
    outcome = with_classes(outcome, classes, cloud.dimension, seconds)
    return replace(found, outcome=outcome, arrangement=tree)


def _table_model(
    columns: Columns,
    core: Hierarchy,
    rng: np.random.Generator,
    classes: LatentClasses | None,
    answers: FewValued | None,
) -> TableModel:
    """How rows get to the paths of `core` and of the branches beside it; `classes` are of the columns
    `answers`."""
    cells, codec = columns.cells, columns.codec
    blocks = weighted_blocks(cells, codec, [j for j in columns.free if j not in columns.searched])
    if classes is not None and answers is not None:  # what differs between classes is no variable within them
        blocks = centered(blocks, classes.posteriors(answers.columns).argmax(axis=1))
    more = shared_dimension(blocks, rng, least=int(classes is None))
    dimensions = [
        shared_dimension(weighted_blocks(cells.take(columns.present[:, s]), codec, switch.columns), rng)
        for s, switch in enumerate(columns.presence.switches)
    ]
    model = TableModel(
        codec=codec,
        presence=columns.presence,
        branches=columns.branches,
        searched=columns.searched,
        imputation=columns.imputation,
        core=core,
        more=more,
        dimensions=dimensions,
        names=_names(columns),
    )
    if classes is None or answers is None:
        return model
    n = len(answers.categorical)
    return replace(
        model,
        evidence=classes.tables[:n],
        consulted=answers.categorical,
        counted=answers.counted,
        counts=answers.counts,
        counted_evidence=classes.tables[n:],
    )


def _with_evidence(
    table: TableModel,
    columns: Columns,
    joint: Float[np.ndarray, "n leaves"],
    rng: np.random.Generator,
    weights: Float[np.ndarray, " m"] | None = None,
) -> TableModel:
    """With what the categories that no branch owns say about the leaves of the numbers."""
    p = columns.cells.numbers.shape[1]
    consulted = [j - p for j in columns.free if j >= p]
    evidence = fit_evidence(columns.cells.categories, consulted, joint, columns.codec, rng)
    if weights is not None:
        evidence = [weights[p + j] * own for j, own in zip(consulted, evidence, strict=True)] if evidence else []
    return replace(table, evidence=evidence, consulted=consulted) if evidence else table


def _with_shares(table: TableModel, columns: Columns) -> TableModel:
    """With what cells show of what exists, and what they usually are."""
    presence, branches, cells = columns.presence, columns.branches, columns.cells
    chosen = choices(branches, cells, columns.present)
    return replace(
        table,
        existence=fit_existence(presence, branches, cells, columns.present, chosen),
        usual_cells=fit_usual_cells(cells, columns.codec, presence, branches, columns.searched),
    )


def _names(columns: Columns) -> Names:
    """Names from the columns that a thing owns."""
    schema = columns.codec.schema
    groups = thing_names(columns.presence, columns.codec.used, schema.columns)
    categorical = schema.categorical
    branches = [
        categorical[b.column].name if b.column >= 0 else either([groups[s] for s in b.switches])
        for b in columns.branches
    ]
    return Names(branches, groups)
