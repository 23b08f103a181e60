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
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import is_far
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.mixture_leaf import MixtureCandidate
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
from disentree.mimosa.search.choose import Decision, Score, best_plain, choose, has_structure, saving
from disentree.mimosa.search.constants import SEARCH
from disentree.mimosa.search.dependence import exceeds_margins
from disentree.mimosa.search.groups import as_parts, divide
from disentree.mimosa.search.heaps import spread_heaps
from disentree.mimosa.search.judge import STRUCTURELESS, held_out_bits, structureless
from disentree.mimosa.search.regions import look_again
from disentree.mimosa.search.replication import brought_back, joined_leaves
from disentree.mimosa.tree.parts import parts_of, splits
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


def finders_for(rows: Rows) -> list[Finder]:
    """Those that are asked, in their order: for a table, or for the latent of an autoencoder."""
    if rows.columns is None:
        return [Sheets()]
    return [ExactSubspaces(), NoisySubspaces(), Switches(), Atlas(), Mixtures()]


def seed_of(step: str, seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """The seed of a step or finder, which does not depend on who else is asked: the child of a number, by which
    answers of earlier versions come back, or of its name for any other finder."""
    numbers = {"split": 0, "subspaces": 1, "sheets": 1, "noisy subspaces": 2, "atlas": 3, "mixture": 4}
    numbers |= {"looking again": 5, "switches": 6}
    key = (numbers[step],) if step in numbers else (7, *step.encode())
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key), pool_size=seed.pool_size)


def search(rows: Rows, finders: Sequence[Finder], seed: np.random.SeedSequence, step: Step) -> Outcome:
    """The decomposition that describes held-out rows in the fewest bits, as far as `choose` has it so."""
    Z, floor = rows.Z, rows.floor
    Z = Z[~is_far(Z)] if Z.size else Z
    if Z.shape[1] == 0 or len(Z) < SEARCH.fewest:
        one = LeafCandidate("gaussian", [fit_gaussian(Z, floor)], np.ones(1))
        return Outcome(one, [_row(one, 0.0, 0.0)], 0.0, 0.0, 0.0)
    if rows.columns is not None:
        Z = spread_heaps(Z, rows.columns, np.random.default_rng(seed_of("ends", seed)))
    held = splits(Z, np.random.default_rng(seed_of("split", seed)))
    few = len(Z) < FIT.few
    rows, fitted = replace(rows, Z=Z), replace(rows, Z=Z if few else np.delete(Z, held[0], axis=0))
    found: dict[str, Candidate] = {}
    scores: dict[str, Score] = {}
    seconds: dict[str, float] = {}

    def add(new: Sequence[Candidate], fits: Callable[[np.ndarray], Sequence[Candidate]], began: float) -> None:
        """Score candidates, given how they are fitted to a part of the rows."""
        proposed = {candidate.finder: candidate for candidate in new}
        took = time.perf_counter() - began
        for name, own in held_out_bits(fits, Z, floor, held).items():
            if name in proposed:
                found[name] = proposed[name]
                scores[name] = _scored(proposed[name], own.bits, fitted)
                seconds[name] = took + own.seconds

    with step("models without structure"):
        plain = structureless(fitted.Z, floor, rows.columns)
        add(plain, lambda part: structureless(part, floor, rows.columns) if few else plain, time.perf_counter())
    # columns that depend on each other by no more than their margins and correlations tell have no groups
    with step("dependence between columns"):
        rng = np.random.default_rng(seed_of("dependence", seed))
        dependent = rows.columns is None or exceeds_margins(Z, rows.columns, rng)
    needless: set[str] = set()
    budgets = {finder.name: Budget(FINDERS.work) for finder in finders}
    found_by: dict[str, Finder] = {}
    refits: dict[str, list[Candidate]] = {}  # of folds
    silent: list[str] = []
    interrupted = False
    for finder in finders:
        thin = choose([s for s in scores.values() if not s.is_density], rows.rigor).chosen
        if finder.name in needless or (isinstance(finder, Mixtures) and thin.is_plain and not dependent):
            continue
        try:
            with plain_interrupts(), step(finder.name):
                began = time.perf_counter()
                propose, refit = map(np.random.default_rng, seed_of(finder.name, seed).spawn(2))
                whole = len(Z) < finder.whole_below
                own = replace(rows if whole else fitted, budget=budgets[finder.name])
                new = finder.propose(own, propose)
                if not new:
                    silent.append(finder.name)
                    continue
                fits = partial(_refitted, finder, own, refit, new, refits) if whole else lambda _, new=new: new
                add(new, fits, began)
                found_by |= dict.fromkeys((one.finder for one in new), finder)
                needless |= _needless(new, scores, rows.rigor)
        except np.linalg.LinAlgError as error:
            warnings.warn(f"{finder.name} was left out: {error}", RuntimeWarning, stacklevel=2)
        except KeyboardInterrupt:
            if not set(scores) - STRUCTURELESS:
                raise
            warnings.warn(f"interrupted: {finder.name} was not finished", RuntimeWarning, stacklevel=2)
            interrupted = True
            break
    again: Sequence[Int[np.ndarray, "k _"]] = ()
    if interrupted:
        decision = choose(list(scores.values()), rows.rigor)
    else:
        with step("replication"):
            rng = np.random.default_rng(seed_of("replication", seed))
            decision, again = _that_comes_back(found, scores, found_by, refits, rows, rng, budgets)
    best = decision.chosen
    order = sorted(scores.values(), key=lambda s: (s is not best, s.mean))
    left_out = {name: ", ".join(budgets[by.name].left_out) for name, by in found_by.items()}
    table = [_row(found[s.finder], s.mean, seconds[s.finder], decision.why_not.get(s.finder, "")) for s in order]
    table = [row | {"left_out": left_out.get(row["finder"], "")} for row in table]
    outcome = Outcome(
        found[best.finder],
        table,
        best.mean,
        decision.saved_bits,
        decision.doubt,
        tuple(silent),
        interrupted,
        again,
    )
    if interrupted or best.is_product:
        return outcome
    # density varies along a thin leaf by how it is curved, so that only a gap divides it
    if dependent and (best.is_plain or best.n_leaves == 1 < best.n_connected):
        with step("groups"):
            began = time.perf_counter()
            grouped = _groups(found, scores, best, rows, np.random.default_rng(seed_of("groups", seed)))
            if grouped is not None:
                candidate, own, again = grouped
                row = _row(candidate, own.mean, time.perf_counter() - began)
                others = [one for one in table if one["finder"] != row["finder"]]
                saved, doubt = saving(own.bits, decision.plain.bits)
                outcome = Outcome(
                    candidate, led_by(row, others), own.mean, saved, doubt, tuple(silent), again=again
                )
    if rows.columns is None or not outcome.saved_bits:
        return outcome
    with step("looking again"):
        rng = np.random.default_rng(seed_of("looking again", seed))
        # of few rows, those of a part of the folds decide about what is found in regions
        divided = outcome.candidate is not found[best.finder]
        own = replace(rows, budget=budgets.get("atlas", rows.budget))
        return look_inside(outcome, own, np.concatenate(held[: max(1, len(held) // 2)]), rng, divided)


def _refitted(
    finder: Finder,
    rows: Rows,
    rng: np.random.Generator,
    found: Sequence[Candidate],
    kept: dict[str, list[Candidate]],
    part: np.ndarray,
) -> Sequence[Candidate]:
    new = finder.refit(replace(rows, Z=part), rng, found)
    for candidate in new:
        kept.setdefault(candidate.finder, []).append(candidate)
    return new


def _that_comes_back(
    found: dict[str, Candidate],
    scores: dict[str, Score],
    found_by: dict[str, Finder],
    refits: dict[str, list[Candidate]],
    rows: Rows,
    rng: np.random.Generator,
    budgets: dict[str, Budget],
) -> tuple[Decision, Sequence[Int[np.ndarray, "k _"]]]:
    """The decision among candidates that parts of the rows bring back, with the leaves that they bring back, and
    the rows that these share with those of the parts."""
    parts = parts_of(len(rows.Z), rng, least=3)
    asked: list[Finder] = []
    while True:
        decision = choose(list(scores.values()), rows.rigor)
        name = decision.chosen.finder
        if decision.chosen.is_plain or not _may_be_chance(found[name], rows):
            return decision, ()
        finder = found_by[name]
        refits_leaves = name in refits and not isinstance(finder, Mixtures)  # which refits densities
        if finder not in asked and not refits_leaves:
            asked.append(finder)
            rigor = rows.rigor * float(np.sqrt(len(parts[0]) / len(rows.Z)))
            own = replace(rows, rigor=rigor, budget=budgets[finder.name])
            new = [finder.propose(replace(own, Z=rows.Z[part]), rng) for part in parts]
            names = [other for other, by in found_by.items() if by is finder]
            refits |= {other: [one for own in new for one in own if one.finder == other] for other in names}
        back = brought_back(found[name], refits[name], len(parts), rows.Z)
        if back is not None:
            found[name], again = back
            scores[name] = replace(decision.chosen, n_leaves=len(found[name].components))
            return replace(decision, chosen=scores[name]), again
        del scores[name]


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
    own = replace(rows, Z=np.delete(rows.Z, held, axis=0))
    looked = look_again(outcome.candidate, own, rows.Z[held], rng, divided)
    if looked is None:
        return outcome
    after = improved(outcome, looked.candidate, looked.saved_bits, looked.doubt, time.perf_counter() - began)
    chosen = after.table[0] | {"left_out": ", ".join(rows.budget.left_out)}
    return replace(after, table=[chosen, *after.table[1:]])


def improved(outcome: Outcome, candidate: Candidate, saved_bits: float, doubt: float, seconds: float) -> Outcome:
    """The outcome with another candidate, which saves bits over the one that was chosen."""
    bits = outcome.description_length - saved_bits
    table = led_by(_row(candidate, bits, seconds), outcome.table)
    doubt = float(np.hypot(outcome.doubt, doubt))
    return Outcome(candidate, table, bits, outcome.saved_bits + saved_bits, doubt, outcome.silent)


def _groups(
    found: dict[str, Candidate], scores: dict[str, Score], best: Score, rows: Rows, rng: np.random.Generator
) -> tuple[LeafCandidate, Score, Sequence[Int[np.ndarray, "k _"]]] | None:
    """One leaf, thin or not, in groups with valleys between them, the score of its density, and how parts of the
    rows bring the groups back."""
    # a mixture cuts a thin leaf that is curved
    densities = [s for s in scores.values() if s.is_density and best.is_plain]
    groups = divide(rows, [found[s.finder] for s in densities], rng)
    if groups is None:
        return None
    own = scores.get(groups.division.name)
    if own is not None and own.mean < min(s.mean for s in scores.values() if s.is_plain):
        return joined_leaves(found[own.finder], groups.group), own, groups.again
    # a mixture that describes rows worse than one cloud tells groups apart all the same
    score = best if not best.is_plain else min(scores.values(), key=lambda s: (not _is_cloud(s), s.mean))
    one = found[score.finder]
    return as_parts(groups, joined(one.components, one.shares), rows, not _is_cloud(score)), score, groups.again


def _is_cloud(score: Score) -> bool:
    return score.is_plain or score.is_density


def _scored(candidate: Candidate, bits: np.ndarray, rows: Rows) -> Score:
    """A candidate's row in the table of scores, its leaves counted on rows that finders saw."""
    dimensions, is_plain = candidate.dimensions, candidate.finder in STRUCTURELESS
    return Score(
        candidate.finder,
        bits,
        n_leaves=len(dimensions),
        n_connected=1 if is_plain else connected_leaves(candidate, rows.Z),
        mean_dimension=float(np.dot(candidate.shares, dimensions) / np.sum(candidate.shares)),
        is_plain=is_plain,
        is_cloud=dimensions == [rows.Z.shape[1]],
        is_exact=candidate.is_exact,
        is_density=isinstance(candidate, MixtureCandidate) and not _is_thin_in_part(candidate),
        n_options=0 if candidate.product is None else candidate.product.n_options,
    )


def _is_thin_in_part(candidate: MixtureCandidate) -> bool:
    """Whether leaves of a mixture are all of different dimensions, as a line in a plane."""
    return 1 < len(candidate.dimensions) == len(set(candidate.dimensions))


def _needless(new: Sequence[Candidate], scores: dict[str, Score], rigor: float) -> set[str]:
    """Finders that need not be asked any more. Only a candidate that has structure itself can say so."""
    plain = best_plain(list(scores.values()))
    out: set[str] = set()
    for candidate in new:
        score = scores.get(candidate.finder)
        if score is None or saving(score.bits, plain.bits)[0] <= candidate.needless_bits:
            continue
        if has_structure(score, plain, rigor):
            out.update(candidate.makes_needless)
    return out


def _row(candidate: Candidate, bits: float, seconds: float, why_not: str = "") -> dict[str, Any]:
    dimensions = sorted(candidate.dimensions)
    row = {"finder": candidate.finder, "components": len(dimensions), "dimensions": dimensions}
    return row | {"bits": bits, "seconds": seconds, "why_not": why_not, "left_out": ""}


def led_by(chosen: dict[str, Any], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table after another proposal was chosen: those that have no fewer bits than this one need no reason why
    they were not chosen, which they may have had beside the one before."""
    return [chosen, *(row if row["bits"] < chosen["bits"] else {**row, "why_not": ""} for row in others)]
