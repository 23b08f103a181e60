"""One fit: from rows to a tree and the path of every row. Nothing here is an estimator, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from disentree.geometry.neighbors import thinned
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import with_names
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import drawn
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate, likeliest, posteriors_of
from disentree.mimosa.density.structureless import Background, background_of, fits_nowhere
from disentree.mimosa.explain.reasons import tree_names
from disentree.mimosa.explain.telling import telling_frame
from disentree.mimosa.inputs import is_frame, numbered, numbers_in, with_columns, with_gaps
from disentree.mimosa.mixed.fit import fit_table
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.search.structure import Settings, Structure, find_structure
from disentree.mimosa.tree.codes import LeafMaps, find_matches, find_same
from disentree.mimosa.tree.component import Component, components_of
from disentree.mimosa.tree.lost_enclosures import lost_enclosures
from disentree.mimosa.tree.placing import moved
from disentree.rows import Blocks, Survey, concatenated
from disentree.tables import Codec, infer_schema


def placed(
    candidate: Candidate,
    table: TableModel | None,
    hierarchy: Hierarchy,
    reach: Reach,
    representation: Representation,
    rows: Any,
) -> tuple[Float[np.ndarray, "n paths"], Float[np.ndarray, " n"]]:
    """The probability of each path for rows, an array or the cells of a table, given that they are of one of them;
    and the bits that all columns of each row take, up to a constant."""
    numbers = rows if table is None else table.numbers(rows)
    Z, beyond = reach(representation, numbers)
    if table is None:
        joint, others = candidate.log_joint(Z), 0.0
        bits = -np.asarray(logsumexp(joint, axis=1)) / np.log(2)
        posteriors = posteriors_of(joint, candidate.shares)
    else:
        posteriors, bits, others = table.placed(candidate, hierarchy, rows, Z)
    # Beyond the reach of densities bits still rise.
    return posteriors, bits * (1 + beyond) + others + reach.bits_off(representation, numbers, Z)


@dataclass(frozen=True)
class Fit:
    """What was found: the fitted attributes of `MIMOSA`, whose documentation describes them."""

    hierarchy: Hierarchy
    plain_hierarchy: Hierarchy  # the same with the names that it has before reasons are looked for
    labels: Int[np.ndarray, " n"]
    core_labels: Int[np.ndarray, " n"]
    sample: Int[np.ndarray, " m"] | None  # the rows that it was found in; None for all
    components: list[Component]
    matches: list[list[int]]
    candidate: Candidate
    candidates: list[dict[str, Any]]
    description_length: float
    saved_bits: float
    saved_bits_doubt: float
    representation: Representation
    embedding: Float[np.ndarray, "m D"]  # of the sample
    floor: Float[np.ndarray, " D"]  # the precision of each coordinate
    columns: Columns | None  # the way back from them
    reach: Reach  # of the training rows
    usual_bits: float  # that a row takes, by which others are strange
    strange_from: float  # the bits above that one training row in a thousand takes
    nowhere: int  # rows that fit no leaf
    table: TableModel | None
    features: Float[np.ndarray, "m f"] | None  # of the sample of a table, for the maps of its leaves
    again: list[Int[np.ndarray, "k _"]]  # how parts of the rows bring each leaf back, if that was asked
    silent: list[str]  # finders that proposed nothing
    interrupted: bool
    timings: dict[str, float]


@dataclass(frozen=True)
class Rest:
    """All rows, of which a sample is searched."""

    blocks: Blocks  # with the columns that are in use
    sample: Int[np.ndarray, " m"]  # numbers of the rows that are searched, in ascending order
    survey: Survey

    def with_columns(self, names: Sequence[Any]) -> Rest:
        """With some of the columns."""
        return replace(self, blocks=self.blocks.then(partial(with_columns, names)))

    def prepared(self, table: bool) -> Blocks:
        """As the search takes them: data frames of a table, else arrays of numbers."""
        return self.blocks if table else self.blocks.then(numbers_in)


def searched(X: Any, most: int | None, random_state: int | None) -> tuple[Any, Rest | None]:
    """The rows to search: all, or a sample of more than `most` rows of a table, if they are many, with the rest.
    All if `most` is None, and of images."""
    is_numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"
    is_flat = X.is_flat if isinstance(X, Blocks) else is_frame(X) or is_numbers
    n, most = len(X) if is_flat and most is not None else 0, max(10 * FIT.landmarks, most or 0)
    if n <= most:
        return with_gaps(X.all() if isinstance(X, Blocks) else X), None
    sample, blocks = drawn(n, most, np.random.SeedSequence(random_state).spawn(4)[1]), Blocks.of(X)
    survey, rows = Survey.of(blocks, sample)
    return numbered(rows) if survey.empty.any() else rows, Rest(blocks, sample, survey)


def codec_of(sample: Any, rest: Rest | None, codec: Codec | None = None) -> Codec:
    """What the columns of a data frame are, which may be a sample; `codec` is what is known of them."""
    if codec is not None and (rest is None or not codec.schema.is_plain):
        return codec
    schema = infer_schema(sample) if codec is None else codec.schema
    return Codec(schema if rest is None else rest.survey.of_all(schema, sample)).measured(sample)


@dataclass(frozen=True)
class Assign:
    """The likeliest path of rows, the same where it is nearly certain and else -1, and how many rows fit none."""

    candidate: Candidate
    table: TableModel | None
    hierarchy: Hierarchy
    representation: Representation
    broad: Background

    def __call__(self, rows: Any, start: int = 0) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], int]:
        """Of a block of rows."""
        cells = rows if self.table is None else self.table.codec.read(rows)
        numbers = rows if self.table is None else self.table.numbers(cells)
        return self.of(cells, self.representation.transform(numbers))

    def of(
        self, cells: Any, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], int]:
        """Of rows in the coordinates, and the cells of a table."""
        labels, nowhere = np.empty((2, len(Z)), np.int64), 0
        for start in range(0, len(Z), FIT.landmarks):
            block = slice(start, start + FIT.landmarks)
            joint = self.candidate.log_joint(Z[block])
            top = joint.max(axis=1)
            none = ~np.isfinite(top)  # so far from all leaves that every density is zero
            joint[none], top[none] = np.log(np.maximum(self.candidate.shares, 1e-300)), 0.0
            shares = np.exp(joint - top[:, None])
            whole = shares.sum(axis=1)
            log_density = np.where(none, -np.inf, np.log(whole) + top)
            nowhere += int(fits_nowhere(log_density, self.broad, Z[block]).sum())
            if self.table is not None:
                shares = self.table.placed(self.candidate, self.hierarchy, cells.take(block), Z[block])[0]
                whole = np.ones(len(shares))
            labels[:, block] = shares.argmax(axis=1)
            labels[1, block][shares.max(axis=1) < FIT.core * whole] = -1
        return labels[0], labels[1], nowhere


def in_order(blocks: Blocks, assign: Callable[[Any, int], Any]) -> tuple[np.ndarray, np.ndarray, int]:
    """Labels of all rows, and of those in a core, as small integers, and how many rows fit no leaf."""
    both, start, nowhere = np.empty((2, len(blocks)), np.int32), 0, 0
    for labels, core, strays in blocks.map(assign):
        both[:, start : start + len(labels)] = labels, core
        start += len(labels)
        nowhere += strays
    return both[0], both[1], nowhere


def fit(
    X: Any,
    settings: Settings,
    random_state: int | None = 0,
    codec: Codec | None = None,
    frame: Any = None,
    rest: Rest | None = None,
    names: list[str] | None = None,
) -> Fit:
    """The tree of rows that have been checked: an array of numbers or images, or a data frame and the codec of its
    columns if some are of other kinds or have empty cells. The columns of `frame` give the branches their
    names; of a sparse matrix those of its columns, `names`, that tell leaves. If these rows are a sample of the
    `rest`, all of that are labeled block by block."""
    step = Steps(settings.verbose)
    seeds = np.random.SeedSequence(random_state).spawn(4)
    table: TableModel | None = None
    cells: Any = X  # or those of a table
    everything = None if rest is None else rest.prepared(codec is not None and not codec.schema.is_plain)
    if codec is None or codec.schema.is_plain:
        found = find_structure(X, settings, seeds, step, everything=everything)
    else:
        found, table, cells = fit_table(X, codec, settings, seeds, step, everything)
        codec = table.codec
    tree, outcome, embedding = found.arrangement, found.outcome, found.embedding
    hierarchy, candidate, representation = tree.hierarchy, tree.candidate, found.coordinates.representation
    broad = background_of(embedding, len(embedding) if rest is None else len(rest.blocks))
    assign, sample = Assign(candidate, table, hierarchy, representation, broad), None
    with step("assignment"):
        # Many rows would say the same.
        some = thinned(np.arange(len(embedding)), FIT.landmarks)
        rows: Any = X[some] if table is None else cells.take(some)
        reach = Reach.of(representation, rows if table is None else table.numbers(rows), embedding[some])
        bits = placed(candidate, table, hierarchy, reach, representation, rows)[1]
        # Held-out bits where they are all: an array has no other columns than numbers.
        usual_bits = outcome.description_length if table is None and not len(reach.off) else float(bits.mean())
        strange_from = float(np.quantile(bits, 0.999) - usual_bits)
        if rest is None or everything is None:
            labels, core_labels, nowhere = assign.of(cells, embedding)
            own = labels
        else:
            labels, core_labels, nowhere = in_order(everything, assign)
            sample = rest.sample
            if found.rare is not None:  # the sample has few of these rows
                added = np.setdiff1d(found.rare, sample)
                more = rest.blocks.take(added)
                numbers = numbers_in(more) if table is None else table.numbers(table.codec.read(more))
                cells = cells if table is None else table.codec.read(concatenated([X, more]))
                embedding = np.concatenate([embedding, representation.transform(numbers)])
                frame = None if frame is None else concatenated([frame, more])
                sample = np.concatenate([sample, added])
            own = labels[sample]
        own_cells: Any = cells
        features = None if table is None else table.codec.features(own_cells)
    fitted = embedding if features is None else features
    same: list[list[int]] = []
    partly: list[list[int]] = []
    if settings.placement != "down":
        with step("placement"):
            core = hierarchy if table is None else table.core
            leaves = own if table is None else likeliest(candidate, embedding)[0]
            # what variables do to images is told when there is a decoder; those of other kinds do nothing alike
            if representation.kind == "linear" and not candidate.is_apart:
                same, partly = find_same(core, embedding, leaves, representation.inverse_transform)
            if same:
                place = moved(hierarchy, same)
                hierarchy, partly = place.after, [place.columns(columns) for columns in partly]
                table = None if table is None else replace(table, core=moved(table.core, same).after)
    with step("assignment"):
        dimensions = [path.dimension for path in hierarchy.paths]
        both = labels, core_labels
        components = components_of(embedding, *both, dimensions, tree.parents, tree.enclosed, sample=sample)
        lost = lost_enclosures(hierarchy, tree.enclosed)
        matches = find_matches(hierarchy, lost, fitted, own)
        known = {column for columns in matches for column in columns}
        matches += [columns for columns in partly if not known.intersection(columns)]
    named = hierarchy
    if frame is not None or names is not None:
        with step("names"):
            maps, shown = LeafMaps(fitted, hierarchy, own, matches), np.arange(len(fitted))
            if frame is None:
                frame, shown = telling_frame(X, own[: X.shape[0]], names)  # rare kinds come after them
            own, fitted = own[shown], fitted[shown]
            told = tree_names(frame, hierarchy, own, codec, lambda some: maps.encode(fitted[some], own[some]))
            named = with_names(hierarchy, told)
    return Fit(
        hierarchy=named,
        plain_hierarchy=hierarchy,
        labels=labels,
        core_labels=core_labels,
        sample=sample,
        components=components,
        matches=matches,
        candidate=candidate,
        candidates=outcome.table,
        description_length=outcome.description_length,
        saved_bits=outcome.saved_bits,
        saved_bits_doubt=outcome.doubt,
        representation=representation,
        embedding=embedding,
        floor=found.coordinates.floor,
        columns=found.coordinates.columns,
        reach=reach,
        usual_bits=usual_bits,
        strange_from=strange_from,
        nowhere=nowhere,
        table=table,
        features=features,
        again=_by_paths(found),
        silent=list(outcome.silent),
        interrupted=outcome.interrupted,
        timings=step.timings,
    )


def _by_paths(found: Structure) -> list[Int[np.ndarray, "k _"]]:
    """How parts of the rows bring leaves back, in the order of the paths."""
    again, order = found.outcome.again, found.arrangement.order
    return [both[list(order)] for both in again if len(both) == len(order)]
