"""One fit: from rows to a tree and the path of every row. Nothing here is an estimator, and nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from disentree.geometry.neighbors import thinned
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import with_names
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate, likeliest, posteriors_of
from disentree.mimosa.density.structureless import fits_nowhere
from disentree.mimosa.explain.reasons import tree_names
from disentree.mimosa.explain.telling import telling_frame
from disentree.mimosa.mixed.fit import fit_table
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.search.structure import Settings, Structure, find_structure
from disentree.mimosa.tree.codes import LeafMaps, find_matches, find_same
from disentree.mimosa.tree.component import Component, components_of
from disentree.mimosa.tree.lost_enclosures import lost_enclosures
from disentree.mimosa.tree.placing import moved
from disentree.tables import Codec


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
    components: list[Component]
    matches: list[list[int]]
    candidate: Candidate
    candidates: list[dict[str, Any]]
    description_length: float
    saved_bits: float
    saved_bits_doubt: float
    representation: Representation
    embedding: Float[np.ndarray, "n D"]
    floor: Float[np.ndarray, " D"]  # the precision of each coordinate
    columns: Columns | None  # the way back from them
    reach: Reach  # of the training rows
    usual_bits: float  # that a row takes, by which others are strange
    strange_from: float  # the bits above that one training row in a thousand takes
    nowhere: int  # rows that fit no leaf
    table: TableModel | None
    features: Float[np.ndarray, "n f"] | None  # of the rows of a table, for the maps of its leaves
    again: list[Int[np.ndarray, "k _"]]  # how parts of the rows bring each leaf back, if that was asked
    silent: list[str]  # finders that proposed nothing
    interrupted: bool
    timings: dict[str, float]

    @property
    def local_dimensions(self) -> Int[np.ndarray, " n"]:
        """The dimension of the leaf of each row."""
        return np.array([path.dimension for path in self.hierarchy.paths])[self.labels]


def fit(
    X: Any,
    settings: Settings,
    random_state: int | None = 0,
    codec: Codec | None = None,
    frame: Any = None,
    names: list[str] | None = None,
) -> Fit:
    """The tree of rows that have been checked: an array of numbers or images, or a data frame and the codec of its
    columns if some are of other kinds or have empty cells. The columns of `frame` give the branches their
    names; of a sparse matrix those of the `names` of its columns that tell leaves."""
    step = Steps(settings.verbose)
    seeds = np.random.SeedSequence(random_state).spawn(4)
    if codec is None or codec.schema.is_plain:
        found, table, features, cells = find_structure(X, settings, seeds, step), None, None, X
        hierarchy, candidate = found.arrangement.hierarchy, found.arrangement.candidate
        with step("assignment"):
            labels, certain = likeliest(candidate, found.embedding)
    else:
        found, table, cells = fit_table(X, codec, settings, seeds, step)
        hierarchy, candidate, codec = found.arrangement.hierarchy, found.arrangement.candidate, table.codec
        with step("assignment"):
            posteriors = table.placed(candidate, hierarchy, cells, found.embedding)[0]
            features = codec.features(cells)
            labels, certain = posteriors.argmax(axis=1), posteriors.max(axis=1)
    tree, outcome = found.arrangement, found.outcome
    core_labels = np.where(certain >= FIT.core, labels, -1)
    with step("assignment"):
        # Many rows would say the same.
        some = thinned(np.arange(len(labels)), FIT.landmarks)
        rows: Any = X[some] if table is None else cells.take(some)
        representation = found.coordinates.representation
        reach = Reach.of(representation, rows if table is None else table.numbers(rows), found.embedding[some])
        bits = placed(candidate, table, hierarchy, reach, representation, rows)[1]
        # Held-out bits where they are all: an array has no other columns than numbers.
        usual_bits = outcome.description_length if table is None and not len(reach.off) else float(bits.mean())
        strange_from = float(np.quantile(bits, 0.999) - usual_bits)
        nowhere = int(fits_nowhere(candidate, found.embedding, found.embedding).sum())
    partly: list[list[int]] = []
    if settings.placement != "down":
        with step("placement"):
            core = hierarchy if table is None else table.core
            leaves = labels if table is None else likeliest(candidate, found.embedding)[0]
            same, partly = find_same(core, found.embedding, leaves)
            if same:
                place = moved(hierarchy, same)
                hierarchy, partly = place.after, [place.columns(columns) for columns in partly]
                table = None if table is None else replace(table, core=moved(table.core, same).after)
    with step("assignment"):
        dimensions = [path.dimension for path in hierarchy.paths]
        components = components_of(found.embedding, labels, core_labels, dimensions, tree.parents, tree.enclosed)
        lost = lost_enclosures(hierarchy, tree.enclosed)
        matches = find_matches(hierarchy, lost, found.embedding if features is None else features, labels)
        known = {column for columns in matches for column in columns}
        matches += [columns for columns in partly if not known.intersection(columns)]
    named = hierarchy
    if frame is not None or names is not None:
        with step("names"):
            rows = found.embedding if features is None else features
            maps, shown = LeafMaps(rows, hierarchy, labels, matches), np.arange(len(rows))
            if frame is None:
                frame, shown = telling_frame(X, labels, names)
            own, rows = labels[shown], rows[shown]
            found_names = tree_names(frame, hierarchy, own, codec, lambda some: maps.encode(rows[some], own[some]))
            named = with_names(hierarchy, found_names)
    return Fit(
        hierarchy=named,
        plain_hierarchy=hierarchy,
        labels=labels,
        core_labels=core_labels,
        components=components,
        matches=matches,
        candidate=candidate,
        candidates=outcome.table,
        description_length=outcome.description_length,
        saved_bits=outcome.saved_bits,
        saved_bits_doubt=outcome.doubt,
        representation=representation,
        embedding=found.embedding,
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
