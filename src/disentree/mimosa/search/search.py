"""The search for structure: finders propose decompositions, the judge compares them on rows they have not seen.

Every candidate is a density in the same coordinates. Of many rows the finders see a part and the judge counts bits
on the rest. Few rows are divided in folds, so that each row is held out once, and the structure is that of all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import is_far
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.parts import joined
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.finders.atlas.finder import Atlas
from disentree.mimosa.finders.budget import Budget
from disentree.mimosa.finders.connected import connected_leaves
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats.finder import ExactSubspaces, NoisySubspaces, Sheets
from disentree.mimosa.finders.modes.finder import Mixtures
from disentree.mimosa.finders.protocol import Finder, Rows
from disentree.mimosa.finders.switches.finder import Switches
from disentree.mimosa.search.asking import Tried, named, proposed, row_of, without_structure
from disentree.mimosa.search.choose import Decision, Score, best_plain, choose, has_structure, saving
from disentree.mimosa.search.dependence import exceeds_margins
from disentree.mimosa.search.groups import as_parts, divide
from disentree.mimosa.search.heaps import spread_heaps
from disentree.mimosa.search.regions import look_again
from disentree.mimosa.search.replication import brought_back, joined_leaves
from disentree.mimosa.tree.parts import other_half, splits
from disentree.utils.interrupts import plain_interrupts

Step = Callable[
    [str], AbstractContextManager[Any]
]  # a context for a step, which shows progress and takes the time


@dataclass(frozen=True)
class Outcome:
    """What the search chose, and what else there was."""

    candidate: Candidate
    table: list[dict[str, Any]]  # `MIMOSA.candidates_`: every candidate, the chosen one first
    description_length: float  # held-out bits per row of the chosen one
    saved_bits: float  # per row, over the best model without structure
    doubt: float  # its standard error
    silent: tuple[str, ...] = ()  # finders that were asked and proposed nothing
    interrupted: bool = False  # Ctrl-C ended the search, which chose among what there was
    # rows that each leaf shares with the leaves that a part of the rows has by itself, for each part, if asked
    again: Sequence[Int[np.ndarray, "k _"]] = ()


def finders_for(is_table: bool) -> list[Finder]:
    """Those that are asked, in their order: for a table, or for the latent of an autoencoder."""
    if not is_table:
        return [Sheets()]
    return [ExactSubspaces(), NoisySubspaces(), Switches(), Atlas(), Mixtures()]


def seed_of(step: str, seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """The seed of a step or finder, which does not depend on who else is asked: the child of a number, by which
    answers of earlier versions come back, or of its name for any other finder."""
    numbers = {"split": 0, "subspaces": 1, "sheets": 1, "noisy subspaces": 2, "atlas": 3, "mixture": 4}
    numbers |= {"looking again": 5, "switches": 6}
    key = (numbers[step],) if step in numbers else (7, *step.encode())
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key), pool_size=seed.pool_size)


def nothing_to_search(Z: Float[np.ndarray, "n D"]) -> bool:
    """Whether rows are hardly any, or all the same."""
    return Z.shape[1] == 0 or len(Z) < FIT.fewest


def one_leaf(rows: Rows) -> Outcome:
    """All rows as one leaf, without a search."""
    one = LeafCandidate("gaussian", [fit_gaussian(rows.Z, rows.floor)], np.ones(1))
    return Outcome(one, [row_of(one, 0.0, 0.0)], 0.0, 0.0, 0.0)


def search(rows: Rows, finders: Sequence[Finder], seed: np.random.SeedSequence, step: Step) -> Outcome:
    """The decomposition that describes held-out rows in the fewest bits, as far as `choose` has it so."""

    def rng_of(name: str) -> np.random.Generator:
        return np.random.default_rng(seed_of(name, seed))

    Z = rows.Z[~is_far(rows.Z)] if rows.Z.size else rows.Z
    if nothing_to_search(Z):
        return one_leaf(replace(rows, Z=Z))
    as_they_are = Z
    if rows.columns is not None:
        Z = spread_heaps(Z, rows.columns, rng_of("ends"))
    rows, held = replace(rows, Z=Z), splits(Z, rng_of("split"))

    @cache
    def dependent() -> bool:
        """Columns that depend on each other by no more than margins and correlations tell have no groups."""
        with step("dependence between columns"):
            return rows.columns is None or exceeds_margins(Z, rows.columns, rng_of("dependence"))

    with step("models without structure"):
        tried = without_structure(rows, held)
    silent: list[str] = []
    unseen: list[str] = []  # by finders whose budget was spent before there was a candidate
    interrupted = False
    for finder in finders:
        if finder.name in _needless(tried, rows.rigor):
            continue
        if isinstance(finder, Mixtures) and _thin(tried, rows.rigor).is_plain and not dependent():
            continue
        try:
            with plain_interrupts(), step(finder.name):
                own = replace(rows, budget=Budget(FINDERS.work))
                new = proposed(finder, own, held, seed_of(finder.name, seed))
            unseen += [] if new else [f"{what} ({finder.name})" for what in own.budget.left_out]
            tried += new
            silent += [] if new else [finder.name]
        except np.linalg.LinAlgError as error:
            warnings.warn(f"{finder.name} was left out: {error}", RuntimeWarning, stacklevel=2)
        except KeyboardInterrupt:
            if all(one.finder is None for one in tried):
                raise
            warnings.warn(f"interrupted: {finder.name} was not finished", RuntimeWarning, stacklevel=2)
            interrupted = True
            break
    again: Sequence[Int[np.ndarray, "k _"]] = ()
    if interrupted:
        decision = choose([one.score for one in tried], rows.rigor)
    else:
        with step("replication"):
            decision, tried, again = _that_comes_back(tried, rows, held, rng_of("replication"))
    best = decision.chosen
    outcome = _outcome(decision, tried, tuple(silent), interrupted, again)
    outcome.table[0]["left_out"] = ", ".join([*filter(None, [outcome.table[0]["left_out"]]), *unseen])
    if interrupted or outcome.candidate.product is not None:
        return outcome
    # density varies along a thin leaf by how it is curved, so that only a gap divides it
    grouped = None
    single = len(outcome.candidate.components) == 1
    if (best.is_plain or (single and connected_leaves(outcome.candidate, Z) > 1)) and dependent():
        with step("groups"):
            grouped = _groups(tried, decision, outcome, rows, as_they_are, rng_of("groups"))
            outcome = grouped or outcome
    if rows.columns is None or not outcome.saved_bits:
        return outcome
    with step("looking again"):
        # of few rows, those of a part of the folds decide about what is found in regions
        decide = np.concatenate(held[: max(1, len(held) // 2)])
        own = replace(rows, budget=Budget(FINDERS.work))
        return look_inside(outcome, own, decide, rng_of("looking again"), grouped is not None)


def _outcome(
    decision: Decision,
    tried: Sequence[Tried],
    silent: tuple[str, ...],
    interrupted: bool,
    again: Sequence[Int[np.ndarray, "k _"]],
) -> Outcome:
    order = sorted(tried, key=lambda one: (one.score is not decision.chosen, one.score.mean))
    table = [one.row | {"why_not": decision.why_not.get(one.score.finder, "")} for one in order]
    mean = decision.chosen.mean
    return Outcome(
        order[0].candidate, table, mean, decision.saved_bits, decision.doubt, silent, interrupted, again
    )


def _that_comes_back(
    tried: list[Tried], rows: Rows, held: Sequence[Int[np.ndarray, " _"]], rng: np.random.Generator
) -> tuple[Decision, list[Tried], Sequence[Int[np.ndarray, "k _"]]]:
    """The decision among candidates that parts of the rows bring back, with the leaves that they bring back, and
    the rows that these share with those of the parts: of few rows what is left without a fold, of many one half,
    most of which the finder did not see."""
    half = other_half(len(rows.Z), held[0], rng)
    while True:
        decision = choose([one.score for one in tried], rows.rigor)
        best = next(one for one in tried if one.score is decision.chosen)
        if best.finder is None or not _may_be_chance(best.candidate, rows):
            return decision, tried, ()
        refits = best.refits
        if len(rows.Z) >= FIT.few:  # which were not divided in folds
            own = replace(rows, budget=best.budget).some(half)
            refits = named(best.candidate.finder, best.finder.refit(own, rng, [best.candidate]))
        back = brought_back(best.candidate, refits, len(held), rows.Z)
        tried = [one for one in tried if one is not best]
        if back is not None:
            candidate, again = back
            return decision, [*tried, replace(best, candidate=candidate)], again


def _may_be_chance(candidate: Candidate, rows: Rows) -> bool:
    """Not leaves that rows lie on to the rounding of the machine, nor combinations of choices, which all rows tell
    together."""
    fine = bool((rows.floor < COORDINATES.exact * rows.Z.std(axis=0).max()).all())
    single = len(candidate.components) == 1
    return not (single or candidate.product is not None or (candidate.is_exact and fine))


def look_inside(
    outcome: Outcome, rows: Rows, held: Int[np.ndarray, " m"], rng: np.random.Generator, divided: bool = False
) -> Outcome:
    """The outcome after the components of the chosen candidate were looked into."""
    began = time.perf_counter()
    looked = look_again(
        outcome.candidate, replace(rows, Z=np.delete(rows.Z, held, axis=0)), rows.Z[held], rng, divided
    )
    if looked is None:
        return outcome
    after = improved(outcome, looked.candidate, looked.saved_bits, looked.doubt, time.perf_counter() - began)
    unseen = [*filter(None, [after.table[0]["left_out"]]), *rows.budget.left_out]
    return replace(after, table=[after.table[0] | {"left_out": ", ".join(unseen)}, *after.table[1:]])


def improved(outcome: Outcome, candidate: Candidate, saved_bits: float, doubt: float, seconds: float) -> Outcome:
    """The outcome with another candidate, which saves bits over the one that was chosen."""
    bits = outcome.description_length - saved_bits
    table = led_by(row_of(candidate, bits, seconds), outcome.table)
    doubt = float(np.hypot(outcome.doubt, doubt))
    return Outcome(candidate, table, bits, outcome.saved_bits + saved_bits, doubt, outcome.silent)


def _groups(
    tried: Sequence[Tried],
    decision: Decision,
    outcome: Outcome,
    rows: Rows,
    as_they_are: Float[np.ndarray, "n D"],
    rng: np.random.Generator,
) -> Outcome | None:
    """The outcome with one leaf, thin or not, in groups with valleys between them. Groups of rows whose heaps were
    spread are told apart by these rows as they are."""
    began = time.perf_counter()
    best = decision.chosen
    # a mixture cuts a thin leaf that is curved
    densities = [one.candidate for one in tried if one.score.is_density and best.is_plain]
    groups = divide(rows, densities, rng)
    if groups is None:
        return None
    own = next((one for one in tried if one.candidate.finder == groups.division.name), None)
    if own is None or own.score.mean >= best_plain([one.score for one in tried]).mean:
        # a mixture that describes rows worse than one cloud tells groups apart all the same
        own = next(one for one in tried if one.score is best)
        if best.is_plain:
            clouds = [one for one in tried if one.score.is_plain or one.score.is_density]
            own = min(clouds, key=lambda one: one.score.mean)
    one = own.candidate
    if one.finder == groups.division.name and rows.Z is as_they_are:
        candidate = joined_leaves(one, groups.group)
    else:
        is_thin = not (own.score.is_plain or own.score.is_density)
        density = joined(one.components, one.shares)
        candidate = as_parts(groups, density, replace(rows, Z=as_they_are), is_thin)
    row = row_of(candidate, own.score.mean, time.perf_counter() - began)
    others = [one for one in outcome.table if one["finder"] != row["finder"]]
    saved, doubt = saving(own.score.bits, decision.plain.bits)
    return replace(
        outcome,
        candidate=candidate,
        table=led_by(row, others),
        description_length=own.score.mean,
        saved_bits=saved,
        doubt=doubt,
        again=groups.again,
    )


def _thin(tried: Sequence[Tried], rigor: float) -> Score:
    """What would be chosen among candidates that are no densities of all rows."""
    return choose([one.score for one in tried if not one.score.is_density], rigor).chosen


def _needless(tried: Sequence[Tried], rigor: float) -> set[str]:
    """Finders that need not be asked any more. Only a candidate that has structure itself can say so."""
    plain = best_plain([one.score for one in tried])
    out: set[str] = set()
    for one in tried:
        enough = saving(one.score.bits, plain.bits)[0] > one.candidate.needless_bits
        if one.candidate.makes_needless and enough and has_structure(one.score, plain, rigor):
            out.update(one.candidate.makes_needless)
    return out


def led_by(chosen: dict[str, Any], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table after another proposal was chosen: those that have no fewer bits than this one need no reason why
    they were not chosen, which they may have had beside the one before. What was not looked at stays with the
    first."""
    unseen = [row["left_out"] for row in (chosen, *others[:1]) if row.get("left_out")]
    chosen = chosen | {"left_out": ", ".join(dict.fromkeys(unseen))}
    return [chosen, *(row if row["bits"] < chosen["bits"] else {**row, "why_not": ""} for row in others)]
