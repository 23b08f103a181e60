"""What can be said about the rows of a branch that does not hold elsewhere: a fact is a statement about columns
that is true or false in every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import category_text, empty_columns, filled_columns, listed, round_between
from disentree.mimosa.explain.relations import Relation, constant_holds, constant_relation


@dataclass(frozen=True)
class Fact:
    """A statement about columns."""

    kind: str  # "relation", "not" (of a relation), "empty", "filled", "value", "above", "below" or "level"
    columns: tuple[str, ...]
    text: str  # as it stands in a sentence
    holds: Bool[np.ndarray, " n"]
    about: str = ""  # the kind of the relation, if it is one
    denied: str = ""  # what is the case where an exact one does not hold

    @property
    def is_exact(self) -> bool:
        """Whether it is a relation, or about cells that are empty."""
        return self.kind in ("relation", "not", "empty", "filled")


@dataclass(frozen=True)
class Side:
    """A branch and its siblings: the rows that reasons are looked for in, and the held-out ones."""

    here: Int[np.ndarray, " a"]
    there: Int[np.ndarray, " b"]
    held_here: Int[np.ndarray, " c"]
    held_there: Int[np.ndarray, " d"]
    weight: Float[
        np.ndarray, " n"
    ]  # rows that each of the table stands for: of large paths only some are looked at

    @property
    def found_in(self) -> Labeled:
        """The rows that reasons are looked for in."""
        return self._labeled(self.here, self.there)

    @property
    def held_out(self) -> Labeled:
        """The rows that they are measured on."""
        return self._labeled(self.held_here, self.held_there)

    def _labeled(self, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> Labeled:
        rows = np.concatenate([here, there])
        return rows, np.arange(len(rows)) < len(here), self.weight[rows]


Labeled = tuple[
    Int[np.ndarray, " m"], Bool[np.ndarray, " m"], Float[np.ndarray, " m"]
]  # rows, whether of the branch, weights


def shares_of(
    holds: Bool[np.ndarray, " m"], y: Bool[np.ndarray, " m"], w: Float[np.ndarray, " m"]
) -> tuple[float, float]:
    """Recall and precision of a statement: the share of a branch's rows (`y`) that it holds for, and the share of
    the rows that it holds for which are of the branch."""
    both = float(w[holds & y].sum())
    return both / max(float(w[y].sum()), 1e-300), both / max(float(w[holds].sum()), 1e-300)


@dataclass(frozen=True)
class Measured:
    """A fact, and how much more often it holds in a branch than in its siblings."""

    fact: Fact
    here: float  # share of held-out rows of the branch
    elsewhere: float  # and of its siblings
    found: float  # difference of these shares in the rows that it was found in

    @property
    def contrast(self) -> float:
        """The difference between the two shares of held-out rows."""
        return self.here - self.elsewhere


def differ(here: Bool[np.ndarray, " a"], elsewhere: Bool[np.ndarray, " b"]) -> bool:
    """Whether something holds for so many more rows of a branch than of its siblings that it is worth telling and
    beyond chance."""
    shares = [(holds.sum() + 1) / (len(holds) + 2) for holds in (here, elsewhere)]
    variance = sum(p * (1 - p) / (len(holds) + 2) for p, holds in zip(shares, (here, elsewhere), strict=True))
    is_large = here.mean() - elsewhere.mean() >= EXPLAIN.contrast
    return bool(is_large and shares[0] - shares[1] >= FIT.sure * np.sqrt(variance))


def measure(fact: Fact, side: Side) -> Measured | None:
    """The shares of held-out rows; None if the fact does not hold there, or that cannot be told from so few."""
    here, elsewhere = fact.holds[side.held_here], fact.holds[side.held_there]
    if not len(here) or not len(elsewhere) or not differ(here, elsewhere):
        return None
    if fact.is_exact and here.mean() < 1 - EXPLAIN.small_share:
        return None
    share, other = (
        float(np.average(holds, weights=side.weight[rows]))
        for holds, rows in ((here, side.held_here), (elsewhere, side.held_there))
    )
    return Measured(fact, share, other, _contrast(fact.holds, side.here, side.there))


def _contrast(holds: Bool[np.ndarray, " n"], here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> float:
    """How much more often something holds in some rows than in others."""
    return float(holds[here].mean() - holds[there].mean())


def relation_facts(columns: Columns, relations: Sequence[Relation]) -> list[Fact]:
    """Relations as facts."""
    return [Fact("relation", _names(columns, r), r.text, r.holds, r.kind, r.denied) for r in relations]


def denied_facts(columns: Columns, relations: Sequence[Relation]) -> list[Fact]:
    """That relations of siblings do not hold."""
    out = []
    for r in relations:
        there = ~np.isnan(columns.numbers[:, list(r.columns)]).any(axis=1)
        out.append(Fact("not", _names(columns, r), r.denied, ~r.holds & there, r.kind, r.text))
    return out


def single_constants(
    columns: Columns, relations: Sequence[Relation], there: Int[np.ndarray, " b"]
) -> list[Relation]:
    """Relations with groups of constants cut down to the columns for which that is different elsewhere."""
    out = []
    for r in relations:
        if r.kind != "constant" or len(r.columns) == 1:
            out.append(r)
            continue
        value = float(columns.numbers[r.holds][0, r.columns[0]])
        shares = {j: float(constant_holds(columns, j, value)[there].mean()) for j in r.columns}
        kept = tuple(j for j, share in shares.items() if share < 1 - EXPLAIN.contrast)
        if kept:
            out.append(constant_relation(columns, kept, value))
    return out


def emptiness_facts(columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> list[Fact]:
    """Columns that are empty here and not elsewhere, and the other way round: all that go together in one fact."""
    share_here, share_there = (columns.empty[rows].mean(axis=0) for rows in (here, there))
    out = []
    for kind, low, high in (("empty", share_there, share_here), ("filled", share_here, share_there)):
        found = np.flatnonzero(
            (high >= 1 - FIT.least_share if kind == "empty" else low <= FIT.least_share)
            & (high - low >= EXPLAIN.contrast)
        )
        if not len(found):
            continue
        contrast = (high - low)[found]
        group = found[contrast >= contrast.max() - EXPLAIN.small_share]
        group = group[np.argsort(-(high - low)[group], kind="stable")]
        cells = columns.empty[:, group]
        holds = np.asarray(cells.all(axis=1) if kind == "empty" else ~cells.any(axis=1))
        names = tuple(columns.names[j] for j in group)
        texts = [empty_columns(names), filled_columns(names)]
        text, denied = texts if kind == "empty" else texts[::-1]
        out.append(Fact(kind, names, text, holds, kind, denied))
    return out


def threshold_facts(columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> list[Fact]:
    """For each column of numbers the limit that tells the rows apart best."""
    order, X = columns.order, columns.numbers
    inside = np.zeros((2, len(columns)), bool)
    inside[0, here], inside[1, there] = True, True
    counts = [rows[order].cumsum(axis=0) / rows.sum() for rows in inside]
    ordered = np.take_along_axis(X, order, axis=0)
    both = (inside[0] | inside[1])[order]
    out = []
    for j in range(X.shape[1]):
        seen = np.flatnonzero(both[:, j] & ~np.isnan(ordered[:, j]))
        values = ordered[seen, j]
        cuts = np.flatnonzero(np.diff(values) > 0)
        if not len(cuts):
            continue
        below = [c[seen[cuts], j] for c in counts]
        total = [c[seen[-1], j] for c in counts]
        if not all(total):
            continue
        # The limit is chosen among values: where there are none is another fact.
        higher = below[1] / total[1] - below[0] / total[0]
        best = int(np.abs(higher).argmax())
        if abs(higher[best]) < EXPLAIN.contrast:
            continue
        # A round number that is about as good.
        near = higher * np.sign(higher[best]) < abs(higher[best]) - FIT.least_share
        first = int(np.flatnonzero(near[:best])[-1]) + 1 if near[:best].any() else 0
        last = best + (int(near[best:].argmax()) - 1 if near[best:].any() else len(near) - 1 - best)
        limit = round_between(float(values[cuts[first]]), float(values[cuts[last] + 1]))
        out.append(_threshold(columns, j, limit, bool(higher[best] > 0)))
    return out


def _threshold(columns: Columns, j: int, limit: float, above: bool) -> Fact:
    x, name = columns.numbers[:, j], columns.number_names[j]
    holds = np.asarray(x > limit if above else x <= limit)
    text = columns.between(j, *((limit, None) if above else (None, limit)))
    return Fact("above" if above else "below", (name,), text, holds)


def value_facts(columns: Columns, here: Int[np.ndarray, " a"]) -> list[Fact]:
    """For each column of numbers the value of most rows here, if there is one."""
    out = []
    for j, name in enumerate(columns.number_names):
        values, counts = np.unique(columns.numbers[here, j], return_counts=True)
        if np.isnan(values[counts.argmax()]) or counts.max() < 0.5 * len(here):
            continue
        value = float(values[counts.argmax()])
        holds, shown = constant_holds(columns, j, value), columns.show(j, value)
        out.append(Fact("value", (name,), f"{name} = {shown}", holds))
    return out


def level_facts(columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> list[Fact]:
    """For each categorical column the values that are more frequent here."""
    out = []
    for j, (name, levels) in enumerate(zip(columns.category_names, columns.levels, strict=True)):
        values = columns.categories[:, j]
        if not len(levels) or (values[here] < 0).all() or (values[there] < 0).all():
            continue
        more = _shares(values[here], len(levels)) - _shares(values[there], len(levels))
        order = np.argsort(-more, kind="stable")
        chosen = [int(k) for k in order[: EXPLAIN.listed_short] if more[k] >= EXPLAIN.small_share]
        least = int(more.argmin())
        if max(-more[least], more[chosen].sum()) < EXPLAIN.contrast:
            continue
        if -more[least] > more[chosen].sum() + EXPLAIN.small_share:
            text = f"{name} is not {category_text(levels[least])}"
            holds = (values != least) & (values >= 0)
        elif chosen:
            words = [category_text(levels[k]) for k in chosen]
            text = f"{name} is {listed(words, last='or')}"
            holds = np.isin(values, chosen)
        else:
            continue
        out.append(Fact("level", (name,), text, holds))
    return out


def _shares(values: Int[np.ndarray, " m"], n_levels: int) -> Float[np.ndarray, " k"]:
    """The share of each level among the cells that have one."""
    return np.bincount(values[values >= 0], minlength=n_levels)[:n_levels] / max(1, int((values >= 0).sum()))


def _names(columns: Columns, relation: Relation) -> tuple[str, ...]:
    return tuple(columns.number_names[j] for j in relation.columns)


def find_facts(
    columns: Columns, side: Side, own: Sequence[Relation], others: Sequence[Relation]
) -> list[Measured]:
    """The few facts that tell a branch from its siblings, as they hold in held-out rows.

    `own` are relations that hold in the branch, `others` those of one of its siblings. Facts are sorted by how
    different their share is elsewhere; exact ones are before others that are about as good.
    """
    here, there, most = side.here, side.there, EXPLAIN.listed

    def contrast(fact: Fact) -> float:
        return _contrast(fact.holds, here, there)

    exact = relation_facts(columns, single_constants(columns, own, there))
    exact += emptiness_facts(columns, here, there)
    found = _best(exact, side)
    if not any(m.fact.kind in ("relation", "empty") for m in found):
        found += _best(denied_facts(columns, single_constants(columns, others, here)), side)
        found.sort(key=_rank)
    told = {name for m in found for name in m.fact.columns}
    single = [*threshold_facts(columns, here, there), *level_facts(columns, here, there)]
    by_value = {fact.columns[0]: fact for fact in value_facts(columns, here)}
    single = [max(by_value.get(f.columns[0], f), f, key=contrast) for f in single if f.columns[0] not in told]
    least = max([EXPLAIN.contrast, *(FIT.half * m.contrast for m in found[:1])])
    single = sorted((f for f in single if contrast(f) >= least), key=lambda f: (-contrast(f), f.columns))
    found += [m for fact in single[: 2 * most] if (m := measure(fact, side))]
    found.sort(key=lambda m: -(m.found + EXPLAIN.small_share * m.fact.is_exact))
    return [m for m in found if m.contrast >= FIT.half * found[0].contrast][:most]


def _best(facts: Sequence[Fact], side: Side) -> list[Measured]:
    clear = (f for f in facts if _contrast(f.holds, side.here, side.there) >= EXPLAIN.contrast)
    return sorted((m for fact in clear if (m := measure(fact, side))), key=_rank)


def _rank(m: Measured) -> tuple[float, int, tuple[str, ...]]:
    order = ("empty", "filled", "constant", "equal", "ratio", "sum")
    return (-round(m.found, 2), order.index(m.fact.about) if m.fact.about in order else 9, m.fact.columns)
