"""What can be said about the rows of a branch that does not hold elsewhere: a fact is a statement about columns
that is true or false in every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.explain.columns import Columns, level_text, listed, percent, round_between
from disentree.mimosa.explain.relations import HOLDS, Relation, constant_holds, constant_relation

CONTRAST = 0.3  # least difference between the shares of rows here and elsewhere in which a fact holds
DOUBT = 2.6  # standard errors by which a fact must differ from none: one in a hundred for each of few facts
EXACT = 0.05  # contrast by which an exact fact may be less and still be told first
BESIDE = 0.5  # of the first fact's contrast that others must have, to be told too
ROUNDED = 0.01  # contrast that a limit may lose for a round number
MOST_LEVELS = 3  # values of a categorical column in one fact
SHORT = 16  # letters in a name for the values of a categorical column, with the sign before them
LESS = 0.05  # share by which a value must be more frequent here, to be named with others


@dataclass(frozen=True)
class Fact:
    """A statement about columns.

    Attributes
    ----------
    kind : {"relation", "not", "empty", "filled", "value", "above", "below", "level"}
    columns : tuple of str
    text : str
        As it stands in a sentence.
    name : tuple of str
        The same in short, for names: before the column, the column or formula, and after it.
    holds : array of bool of shape (n,)
    about : str
        The kind of the relation, if it is one.
    denied : str
        What is the case where an exact one does not hold.
    """

    kind: str
    columns: tuple[str, ...]
    text: str
    name: tuple[str, str, str]
    holds: Bool[np.ndarray, " n"]
    about: str = ""
    denied: str = ""

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


@dataclass(frozen=True)
class Measured:
    """A fact, the shares of held-out rows in which it holds, of the branch and of its siblings, and the difference
    of these shares in the rows that it was found in."""

    fact: Fact
    here: float
    elsewhere: float
    found: float

    @property
    def contrast(self) -> float:
        """The difference between the two."""
        return self.here - self.elsewhere

    @property
    def text(self) -> str:
        """A sentence without its period."""
        return shares_text(self.fact.text, self.here, self.elsewhere)

    @property
    def in_short(self) -> str:
        """The same, after another one."""
        return f"{self.fact.text} ({percent(self.here)}, {percent(self.elsewhere)})"


def shares_text(text: str, here: float, elsewhere: float) -> str:
    """Something that is said of rows, and the shares of rows that it holds for."""
    return f"{text} in {percent(here)} of these, {percent(elsewhere)} elsewhere"


def measure(fact: Fact, side: Side) -> Measured | None:
    """The shares of held-out rows; None if the fact does not hold there, or that cannot be told from so few."""
    found = [fact.holds[rows] for rows in (side.held_here, side.held_there)]
    if not all(map(len, found)):
        return None
    shares = [float(holds.mean()) for holds in found]
    guarded = [(holds.sum() + 1) / (len(holds) + 2) for holds in found]
    doubt = np.sqrt(sum(p * (1 - p) / (len(holds) + 2) for p, holds in zip(guarded, found, strict=True)))
    if shares[0] - shares[1] < CONTRAST or guarded[0] - guarded[1] < DOUBT * doubt:
        return None
    if fact.kind in ("relation", "empty", "not", "filled") and shares[0] < HOLDS - 0.04:
        return None
    return Measured(
        fact, shares[0], shares[1], float(fact.holds[side.here].mean() - fact.holds[side.there].mean())
    )


# -------------------------------------------------------------------- finding them


def relation_facts(columns: Columns, relations: Sequence[Relation]) -> list[Fact]:
    """Relations as facts."""
    return [
        Fact("relation", _names(columns, r), r.text, ("", r.text, ""), r.holds, r.kind, r.denied)
        for r in relations
    ]


def denied_facts(columns: Columns, relations: Sequence[Relation]) -> list[Fact]:
    """That relations of siblings do not hold."""
    out = []
    for r in relations:
        there = ~np.isnan(columns.numbers[:, list(r.columns)]).any(axis=1)
        pair = r.kind == "equal" and len(r.columns) == 2
        single = r.kind == "constant" and len(r.columns) == 1
        formula = r.text.replace(" = ", " ≠ ") if pair or single else f"not {r.text}"
        out.append(Fact("not", _names(columns, r), r.denied, ("", formula, ""), ~r.holds & there, r.kind, r.text))
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
        kept = tuple(j for j, share in shares.items() if share < 1 - CONTRAST)
        if kept:
            out.append(constant_relation(columns, kept, value))
    return out


def emptiness_facts(columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]) -> list[Fact]:
    """Columns that are empty here and not elsewhere, and the other way round: all that go together in one fact."""
    share_here, share_there = (columns.empty[rows].mean(axis=0) for rows in (here, there))
    out = []
    for kind, low, high in (("empty", share_there, share_here), ("filled", share_here, share_there)):
        found = np.flatnonzero((high >= HOLDS if kind == "empty" else low <= 1 - HOLDS) & (high - low >= CONTRAST))
        if not len(found):
            continue
        contrast = (high - low)[found]
        group = found[contrast >= contrast.max() - LESS]
        group = group[np.argsort(-(high - low)[group], kind="stable")]
        cells = columns.empty[:, group]
        holds = np.asarray(cells.all(axis=1) if kind == "empty" else ~cells.any(axis=1))
        names = tuple(columns.names[j] for j in group)
        texts = [
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} empty",
            f"{listed(names)} {'has' if len(names) == 1 else 'have'} a value",
        ]
        text, denied = texts if kind == "empty" else texts[::-1]
        out.append(
            Fact(kind, names, text, ("no " if kind == "empty" else "with ", names[0], ""), holds, kind, denied)
        )
    return out


def threshold_facts(
    columns: Columns, here: Bool[np.ndarray, " n"], there: Bool[np.ndarray, " n"]
) -> list[tuple[float, Fact]]:
    """For each column of numbers the limit that tells the rows apart best, and by how much it does."""
    order, X = columns.order, columns.numbers
    counts = [rows[order].cumsum(axis=0) / rows.sum() for rows in (here, there)]
    ordered = np.take_along_axis(X, order, axis=0)
    both = (here | there)[order]
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
        if abs(higher[best]) < CONTRAST:
            continue
        # A round number that is about as good.
        near = higher * np.sign(higher[best]) < abs(higher[best]) - ROUNDED
        first = int(np.flatnonzero(near[:best])[-1]) + 1 if near[:best].any() else 0
        last = best + (int(near[best:].argmax()) - 1 if near[best:].any() else len(near) - 1 - best)
        limit = round_between(float(values[cuts[first]]), float(values[cuts[last] + 1]))
        fact = _threshold(columns, j, limit, bool(higher[best] > 0))
        out.append((float(fact.holds[here].mean() - fact.holds[there].mean()), fact))
    return out


def _threshold(columns: Columns, j: int, limit: float, above: bool) -> Fact:
    x, name, shown = columns.numbers[:, j], columns.number_names[j], columns.show(j, limit)
    words = ("after", "until") if j in columns.dates else ("above", "at most")
    if above:
        return Fact(
            "above", (name,), f"{name} {words[0]} {shown}", ("", name, f" > {shown}"), np.asarray(x > limit)
        )
    return Fact("below", (name,), f"{name} {words[1]} {shown}", ("", name, f" ≤ {shown}"), np.asarray(x <= limit))


def value_facts(
    columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]
) -> list[tuple[float, Fact]]:
    """For each column of numbers its most frequent value here, if that is far more frequent than elsewhere."""
    out = []
    for j, name in enumerate(columns.number_names):
        values, counts = np.unique(columns.numbers[here, j], return_counts=True)
        if np.isnan(values[counts.argmax()]) or counts.max() < 0.5 * len(here):
            continue
        value = float(values[counts.argmax()])
        holds = constant_holds(columns, j, value)
        shown = columns.show(j, value)
        fact = Fact("value", (name,), f"{name} = {shown}", ("", name, f" = {shown}"), holds)
        out.append((float(holds[here].mean() - holds[there].mean()), fact))
    return out


def level_facts(
    columns: Columns, here: Int[np.ndarray, " a"], there: Int[np.ndarray, " b"]
) -> list[tuple[float, Fact]]:
    """For each categorical column the values that are more frequent here."""
    out = []
    for j, (name, levels) in enumerate(zip(columns.category_names, columns.levels, strict=True)):
        values = columns.categories[:, j]
        if not len(levels) or (values[here] < 0).all() or (values[there] < 0).all():
            continue
        more = _shares(values[here], len(levels)) - _shares(values[there], len(levels))
        order = np.argsort(-more, kind="stable")
        chosen = [int(k) for k in order[:MOST_LEVELS] if more[k] >= LESS]
        least = int(more.argmin())
        if max(-more[least], more[chosen].sum()) < CONTRAST:
            continue
        if -more[least] > more[chosen].sum() + LESS:
            text, short = f"{name} is not {level_text(levels[least])}", level_in_short("≠", levels[least])
            holds = (values != least) & (values >= 0)
        elif chosen:
            words = [level_text(levels[k]) for k in chosen]
            text = f"{name} is {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}"
            short, holds = _levels_in_short(words), np.isin(values, chosen)
        else:
            continue
        contrast = float(holds[here].mean() - holds[there].mean())
        out.append((contrast, Fact("level", (name,), text, ("", name, short), holds)))
    return out


def level_in_short(sign: str, level: str) -> str:
    """One value for a name, after "=" or "≠"."""
    return f" {sign} {level_text(level, SHORT - len(sign) - 2)}"


def _levels_in_short(words: Sequence[str]) -> str:
    """Values for a name: one or two of them, or the first and how many more."""
    if len(words) == 1:
        return level_in_short("=", words[0])
    both = f" = {' or '.join(words)}"
    return both if len(both) <= SHORT else f" = {level_text(words[0], SHORT // 2)} or {len(words) - 1} more"


def _shares(values: Int[np.ndarray, " m"], n_levels: int) -> Float[np.ndarray, " k"]:
    """The share of each level among the cells that have one."""
    return np.bincount(values[values >= 0], minlength=n_levels)[:n_levels] / max(1, int((values >= 0).sum()))


def _names(columns: Columns, relation: Relation) -> tuple[str, ...]:
    return tuple(columns.number_names[j] for j in relation.columns)


def find_facts(
    columns: Columns, side: Side, own: Sequence[Relation], others: Sequence[Relation], most: int = 4
) -> list[Measured]:
    """The few facts that tell a branch from its siblings, as they hold in held-out rows.

    Parameters
    ----------
    columns : Columns
    side : Side
    own, others : sequence of Relation
        That hold in the branch, and in one of its siblings.
    most : int, default=4

    Returns
    -------
    list of Measured
        By how different its share is elsewhere; exact ones before others that are about as good.
    """
    here, there = side.here, side.there
    exact = relation_facts(columns, single_constants(columns, own, there))
    exact += emptiness_facts(columns, here, there)
    found = _best(exact, side)
    if not any(m.fact.kind in ("relation", "empty") for m in found):
        found += _best(denied_facts(columns, single_constants(columns, others, here)), side)
        found.sort(key=_rank)
    told = {name for m in found for name in m.fact.columns}
    inside = np.zeros((2, len(columns)), bool)
    inside[0, here], inside[1, there] = True, True
    single = [*threshold_facts(columns, inside[0], inside[1]), *level_facts(columns, here, there)]
    by_value = {fact.columns[0]: (c, fact) for c, fact in value_facts(columns, here, there)}
    single = [max(by_value.get(f.columns[0], (-1.0, f)), (c, f), key=lambda item: item[0]) for c, f in single]
    least = max([CONTRAST, *(BESIDE * m.contrast for m in found[:1])])
    single = [(c, f) for c, f in single if f.columns[0] not in told and c >= least]
    single.sort(key=lambda item: (-item[0], item[1].columns))
    found += [m for _, fact in single[: 2 * most] if (m := measure(fact, side))]
    found.sort(key=lambda m: -(m.found + EXACT * m.fact.is_exact))
    return [m for m in found if m.contrast >= BESIDE * found[0].contrast][:most]


def _best(facts: Sequence[Fact], side: Side) -> list[Measured]:
    kept = []
    for fact in facts:
        if fact.holds[side.here].mean() - fact.holds[side.there].mean() >= CONTRAST:
            kept.append(measure(fact, side))
    return sorted((m for m in kept if m is not None), key=_rank)


def _rank(m: Measured) -> tuple[float, int, tuple[str, ...]]:
    order = ("empty", "filled", "constant", "equal", "ratio", "sum")
    return (-round(m.found, 2), order.index(m.fact.about) if m.fact.about in order else 9, m.fact.columns)
