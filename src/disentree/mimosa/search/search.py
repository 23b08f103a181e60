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
from jaxtyping import Float, Int

from disentree.mimosa.coordinates.choosing import is_far
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.structureless import Columns, fit_gaussian, precision_of_coordinates
from disentree.mimosa.finders.atlas import finder as atlas
from disentree.mimosa.finders.flats import noisy_subspaces, sheets, subspaces
from disentree.mimosa.finders.flats.noisy_subspaces import WhiteNoise
from disentree.mimosa.finders.modes import mixture
from disentree.mimosa.finders.switches import finder as switches
from disentree.mimosa.search.judge import (
    DOUBT,
    FEW,
    STRUCTURELESS,
    TESTED_DOUBT,
    Verdict,
    beyond_doubt,
    held_out_bits,
    saving,
    splits,
    structureless,
)
from disentree.mimosa.search.regions import Looked, look_again, wide_enough
from disentree.utils.interrupts import plain_interrupts

FEWEST = 30  # rows, to look for structure in
# A candidate with more leaves must save this many times the bits of one with fewer: cutting a leaf in pieces
# always describes a little better how dense it is along itself, which is not structure.
MORE = 1.05
# Bits per row that an atlas saves, for mixtures not to be asked, or for leaves that rows lie on exactly to be
# given up: those are no chance, one more exact direction saves far more, and the rest is density along leaves.
THIN = 4.0
HIGHER = 1.15  # mean dimension of rows on a candidate with fewer leaves relative to that on another, at most
LOOKED_AT = 2000  # rows that tell whether leaves fall apart
AGAIN_FOLDS = 2  # of few rows, that decide about what is found inside components
WHOLE = 5000  # rows below which mixtures, which are quick, are found on all rows


@dataclass(frozen=True)
class Outcome:
    """What the search chose, and what else there was.

    Attributes
    ----------
    candidate : Candidate
        The chosen decomposition.
    table : list of dict
        Every candidate, best first: finder, components, dimensions, bits (held-out, per row) and seconds.
    description_length : float
        Held-out bits per row of the chosen one.
    saved_bits, doubt : float
        Bits per row that it saves over the best model without structure, and the standard error of that.
    silent : tuple of str, default=()
        Finders that were asked and had nothing to offer.
    interrupted : bool, default=False
        Whether Ctrl-C ended the search, and it chose among what there was.
    """

    candidate: Any
    table: list[dict[str, Any]]
    description_length: float
    saved_bits: float
    doubt: float
    silent: tuple[str, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class Finder:
    """A way to propose decompositions.

    Attributes
    ----------
    name : str
    find : callable
        Candidates from rows.
    again : callable
        The same candidates fitted to a part of the rows, given those of all rows.
    whole : int, default=FEW
        With fewer rows than this, structure is found on all of them, and judged by candidates fitted again to a
        part; with more it is found on that part.
    """

    name: str
    find: Callable[[Float[np.ndarray, "n D"], np.random.Generator], Sequence[Any]]
    again: Callable[[Float[np.ndarray, "n D"], np.random.Generator, Sequence[Any]], Sequence[Any]]
    whole: int = FEW


def table_finders(
    floor: Float[np.ndarray, " D"],
    columns: Columns,
    noise: WhiteNoise | None,
    n_neighbors: int,
    n_jobs: int,
    rigor: float = 1.0,
) -> list[Finder]:
    """For the principal components of a table, in the order in which they are asked."""

    def dithered(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # anywhere within their cell of the grid that values come on, so that ties say nothing
        return Z + rng.uniform(-0.5, 0.5, Z.shape) * floor

    def find_mixture(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        return mixture.find(dithered(Z, rng), wide_enough(Z, floor), rng, columns, rigor)

    def fit_mixture(Z: np.ndarray, rng: np.random.Generator, found: Sequence[Any]) -> Sequence[Any]:
        return mixture.refit(dithered(Z, rng), wide_enough(Z, floor), rng, columns, found)

    errors = precision_of_coordinates(columns)[0]

    def find_atlas(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        found = atlas.find(dithered(Z, rng) if len(np.unique(Z, axis=0)) < len(Z) else Z, errors, rng)
        return [] if found is None else [Candidate("atlas", found.components, found.shares)]

    def find_subspaces(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        found = subspaces.find(Z, floor, rng, n_neighbors, n_jobs)
        return [] if found is None else [found]

    def find_in_noise(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        if noise is None:
            return []
        found = noisy_subspaces.find(Z, floor, rng, noise, n_neighbors, n_jobs)
        return [] if found is None else [found]

    def find_switches(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        found = switches.find(dithered(Z, rng), floor, rng, noise)
        return [] if found is None else [found]

    return [
        Finder("subspaces", find_subspaces, lambda Z, rng, found: find_subspaces(Z, rng)),
        Finder("noisy subspaces", find_in_noise, lambda Z, rng, found: find_in_noise(Z, rng)),
        Finder("switches", find_switches, lambda Z, rng, found: find_switches(Z, rng)),
        Finder("atlas", find_atlas, lambda Z, rng, found: find_atlas(Z, rng)),
        Finder("mixture", find_mixture, fit_mixture, WHOLE),
    ]


def table_inside(columns: Columns, n_neighbors: int, n_jobs: int) -> Callable[..., Looked | None]:
    """Looks into components of a table."""
    return partial(look_again, columns=columns, n_neighbors=n_neighbors, n_jobs=n_jobs)


def latent_finders(n_neighbors: int, n_jobs: int) -> list[Finder]:
    """For the latent of an autoencoder."""

    def find_sheets(Z: np.ndarray, rng: np.random.Generator) -> Sequence[Any]:
        found = sheets.find(Z, n_neighbors, np.random.SeedSequence(int(rng.integers(2**63))), n_jobs)
        return [] if found is None else [found]

    return [Finder("sheets", find_sheets, lambda Z, rng, found: find_sheets(Z, rng))]


def search(
    Z: Float[np.ndarray, "n D"],
    floor: Float[np.ndarray, " D"],
    columns: Columns | None,
    finders: Sequence[Finder],
    seed: np.random.SeedSequence,
    step: Callable[[str], AbstractContextManager[Any]],
    inside: Callable[..., Looked | None] | None = None,
    rigor: float = 1.0,
) -> Outcome:
    """The decomposition that describes held-out rows in the fewest bits.

    Parameters
    ----------
    Z : array of shape (n, D)
        Rows in coordinates that hold the data.
    floor : array of shape (D,)
        The precision of each coordinate.
    columns : Columns or None
        The table's own columns, if the coordinates are linear in them.
    finders : sequence of Finder
        In the order in which they are asked.
    seed : SeedSequence
    step : callable
        A context for each step, given its name: shows progress and takes the time.
    inside : callable or None, default=None
        Looks into the components of the chosen candidate: given it, rows to search, rows that decide, and a
        Generator.
    rigor : float, default=1.0
        How many times the usual doubt a saving must exceed.

    Returns
    -------
    Outcome
    """
    split_seed, *seeds = seed.spawn(6)
    last_seed = seeds.pop()
    Z = Z[~is_far(Z)] if Z.size else Z
    if Z.shape[1] == 0 or len(Z) < FEWEST:
        one = Candidate("gaussian", [fit_gaussian(Z, floor)], np.ones(1))
        return Outcome(one, [_row(one, 0.0, 0.0)], 0.0, 0.0, 0.0)
    held = splits(Z, np.random.default_rng(split_seed))
    few = len(Z) < FEW
    fitted = Z if few else np.delete(Z, held[0], axis=0)
    with step("models without structure"):
        found: dict[str, Any] = {c.finder: c for c in structureless(fitted, floor, columns)}
        plain = list(found.values())
        verdicts = held_out_bits(
            lambda part: structureless(part, floor, columns) if few else plain, Z, floor, held
        )
    # One that was added later comes last here, so that what the others find has not changed.
    own_seeds = dict(
        zip(sorted((f.name for f in finders), key="switches".__eq__), [*seeds, *seed.spawn(1)], strict=False)
    )
    needless: set[str] = set()
    silent: list[str] = []
    interrupted = False
    for finder in finders:
        if finder.name in needless:
            continue
        find_seed, fold_seed = own_seeds[finder.name].spawn(2)
        try:
            with plain_interrupts(), step(finder.name):
                start = time.perf_counter()
                whole = len(Z) < finder.whole
                new = finder.find(Z if whole else fitted, np.random.default_rng(find_seed))
                seconds = time.perf_counter() - start
                found |= {c.finder: c for c in new}
                if not new:
                    silent.append(finder.name)
                    continue
                needless.update(name for c in new for name in c.details.get("needless", ()))
                fits = (
                    partial(_fold, finder, new, np.random.default_rng(fold_seed))
                    if whole
                    else lambda part, n=new: n
                )
                scored = held_out_bits(fits, Z, floor, held)
                for name, verdict in scored.items():
                    if name in found:
                        verdicts[name] = Verdict(name, verdict.bits, seconds + verdict.seconds)
                if finder.name == "atlas" and _is_thin(found, verdicts, fitted):
                    needless.add("mixture")
        except np.linalg.LinAlgError as error:
            warnings.warn(f"{finder.name} was left out: {error}", RuntimeWarning, stacklevel=2)
        except KeyboardInterrupt:
            if not set(verdicts) - set(STRUCTURELESS):
                raise
            warnings.warn(f"interrupted: {finder.name} was not finished", RuntimeWarning, stacklevel=2)
            interrupted = True
            break
    leaves = {name: connected_leaves(found[name], fitted) for name in verdicts}
    chosen = choose(found, verdicts, leaves, Z.shape[1], rigor)
    outcome = replace(chosen, silent=tuple(silent), interrupted=interrupted)
    if interrupted or inside is None or not outcome.saved_bits or is_product(outcome.candidate):
        return outcome
    with step("looking again"):
        return look_inside(
            outcome, inside, Z, np.concatenate(held[:AGAIN_FOLDS]), np.random.default_rng(last_seed)
        )


def look_inside(
    outcome: Outcome,
    inside: Callable[..., Looked | None],
    Z: Float[np.ndarray, "n D"],
    held: Int[np.ndarray, " m"],
    rng: np.random.Generator,
) -> Outcome:
    """The outcome after the components of the chosen candidate were looked into."""
    start = time.perf_counter()
    looked = inside(outcome.candidate, np.delete(Z, held, axis=0), Z[held], rng=rng)
    if looked is None:
        return outcome
    bits = outcome.description_length - looked.saved_bits
    row = _row(looked.candidate, bits, time.perf_counter() - start)
    doubt = float(np.hypot(outcome.doubt, looked.doubt))
    saved = outcome.saved_bits + looked.saved_bits
    return Outcome(looked.candidate, led_by(row, outcome.table), bits, saved, doubt, outcome.silent)


def _is_thin(found: dict[str, Any], verdicts: dict[str, Verdict], Z: Float[np.ndarray, "n D"]) -> bool:
    """Whether an atlas found leaves so thin and curved that Gaussians would need very many pieces to follow them.
    Leaves that fall apart may be clouds that happen to lie on one chart."""
    leaves = found["atlas"]
    if "atlas" not in verdicts or max(leaves.dimensions) == Z.shape[1]:
        return False
    curved = [share for leaf, share in zip(leaves.components, leaves.shares, strict=True) if leaf.is_curved]
    if sum(curved) < 0.5:
        return False
    plain = min((verdicts[name] for name in STRUCTURELESS if name in verdicts), key=lambda v: v.mean)
    if saving(verdicts["atlas"], plain)[0] <= THIN or not beyond_doubt(verdicts["atlas"], plain):
        return False
    return connected_leaves(leaves, Z) == len(leaves.components)


def _fold(finder: Finder, found: Sequence[Any], rng: np.random.Generator, part: np.ndarray) -> Sequence[Any]:
    return finder.again(part, rng, found)


def connected_leaves(candidate: Any, Z: Float[np.ndarray, "n D"]) -> int:
    """The number of leaves, where one whose rows fall apart counts as several: two clouds on one line are no fewer
    for being called a line."""
    if len(candidate.components) == 1 and candidate.finder in STRUCTURELESS:
        return 1
    some = Z[:: max(1, len(Z) // LOOKED_AT)]
    labels = candidate.posteriors(some).argmax(axis=1)
    return sum(subspaces.n_connected(some[labels == c]) for c in range(len(candidate.components)))


def is_product(candidate: Any) -> bool:
    """Whether a candidate is a product of choices."""
    return isinstance(candidate, switches.ProductCandidate)


def _product_instead(
    best: Verdict, structured: Sequence[Verdict], found: dict[str, Any], plain: Verdict
) -> Verdict:
    """A product that saves nearly as much as leaves one by one, if there is one: it says the same, and why there
    are so many. Where it saves more, leaves must be fewer than its options to be preferred."""
    products = [v for v in structured if is_product(found[v.finder])]
    if not products:
        return best
    product = products[0]
    if best is product:
        leaves = [v for v in structured if v is not product]
        n_options = sum(len(row) for row in found[product.finder].options)
        fewer = [v for v in leaves if len(found[v.finder].components) < n_options]
        return next((v for v in fewer if saving(v, plain)[0] * MORE >= saving(product, plain)[0]), product)
    loses = saving(best, product)[0]
    return product if loses <= min(THIN, (1 - 1 / MORE) * saving(best, plain)[0]) else best


def _mean_dimension(candidate: Any) -> float:
    return float(np.dot(candidate.shares, candidate.dimensions) / np.sum(candidate.shares))


def _row(candidate: Any, bits: float, seconds: float, why_not: str = "") -> dict[str, Any]:
    return {
        "finder": candidate.finder,
        "components": len(candidate.components),
        "dimensions": sorted(candidate.dimensions),
        "bits": bits,
        "seconds": seconds,
        "why_not": why_not,
    }


def led_by(chosen: dict[str, Any], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table after another proposal was chosen: those that have no fewer bits than this one need no reason why
    they were not chosen, which they may have had beside the one before."""
    return [chosen, *(row if row["bits"] < chosen["bits"] else {**row, "why_not": ""} for row in others)]


def choose(
    found: dict[str, Any], verdicts: dict[str, Verdict], n_leaves: dict[str, int], n_dims: int, rigor: float = 1.0
) -> Outcome:
    """The candidate of fewest bits, unless one with fewer leaves saves nearly as much; without a saving beyond
    doubt it is the best model without structure."""
    order = sorted(verdicts.values(), key=lambda v: v.mean)
    plain = next(v for v in order if v.finder in STRUCTURELESS)
    clouds = {name for name, c in found.items() if len(c.components) == 1 and c.dimensions[0] == n_dims}
    structured = [
        v
        for v in order
        if v.finder not in clouds
        and v is not plain
        and beyond_doubt(v, plain, rigor * (TESTED_DOUBT if "valleys" in found[v.finder].details else DOUBT))
    ]
    best = structured[0] if structured else plain
    for other in structured[1:]:
        if is_product(found[best.finder]) or is_product(found[other.finder]):
            continue
        # one leaf of three dimensions is not simpler than three of one and two
        higher = _mean_dimension(found[other.finder]) > HIGHER * _mean_dimension(found[best.finder])
        fewer = n_leaves[other.finder] < n_leaves[best.finder] and not higher
        # leaves of mixtures have valleys between them, and are not cut from one
        valleys = all("valleys" in found[v.finder].details for v in (best, other))
        exact = found[other.finder].details.get("exact", False) and saving(best, other)[0] <= THIN
        if exact or (fewer and not valleys and saving(other, plain)[0] * MORE >= saving(structured[0], plain)[0]):
            best = other
    best = _product_instead(best, structured, found, plain)
    mean, doubt = saving(best, plain)

    def why_not(v: Verdict) -> str:
        """Why a proposal of fewer bits than the chosen one was not chosen."""
        if v is best or v.mean >= best.mean:
            return ""
        if v.finder in clouds:
            return "it is one cloud too"
        if v not in structured:
            return "what it saves may be chance"
        if is_product(found[best.finder]):
            return "independent choices say nearly the same"
        if found[best.finder].details.get("exact", False):
            return "the chosen leaves hold exactly"
        return "fewer leaves do nearly as well"

    table = [
        _row(found[v.finder], v.mean, v.seconds, why_not(v))
        for v in sorted(order, key=lambda v: (v is not best, v.mean))
    ]
    return Outcome(found[best.finder], table, best.mean, max(mean, 0.0), doubt)
