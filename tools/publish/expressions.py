"""A small language for numbers in documents: which study, which rows, which column, which statistic.

    mean r4c of disentanglement where model=cofhae, dataset=spaceshapes
    least mean r4c of disentanglement where model=cofhae, dataset=chopsticks-* by dataset
    spread h_error of table1 where method=default, dataset=chopsticks-depth3-either
    most purity of noise where method=paper, noise=0.001 to 2 places
    range mean r4c of disentanglement where model=cofhae against model=ae|vae by dataset
    higher r4c of ablations where model=hier-a against model=hier by dataset
    higher r4c of images where images=smooth against r4c of image-baselines where model=*
    published h_error of chopsticks-depth3-either
    mean flat bits of example to 0 places
    about command of table1
    text dimensions of structure where method=mimosa, dataset=humid-air
    entry files.accepted of reliability.json

Statistics: mean, least, most, median, spread (mean ± standard deviation), values and count (of runs). A column may
be that of the best run alone, as in `best r4c`.
`by COLUMN` takes the statistic for each value of the column, and the word before it of those: each (the default),
least, most, range or mean. `against` gives differences, to the best group of the rows that it selects: of the same
study, or, if it names a column and a study, of that one. In `where`, values are patterns, `|` separates
alternatives and `!=` excludes. `higher`, `lower` and `same` count the groups of which this can be said beyond the
spread ("6 of 8"); as claims they have to be true of all, after `mostly` of more than half and after `somewhere` of
at least one, as in `somewhere lower r4c of ablations where model=hier against 0.95 by seed`. They are `against`
other rows, `published`, or a number, which all runs have to be above or below. Of several sources, as in `of
table1|table1-paper`, the first that has such runs counts. `steady` claims that the means of all groups lie within
a factor of 1.5. `text` gives a column that is no number, and `entry` what a JSON file of a benchmark has at a
place (of a list, how long it is). The source `example` is that of the paper on parsimony, computed here.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from disentree.errors import UserError
from disentree.studies.published import TABLE1
from disentree.studies.running.results import Row, deviation, mean, rise
from tools.publish.sources import NoSource, Source

PLACES = {"h_error": 1, "seconds": 0}  # of decimals; 3 for all other columns
GROUPS: dict[str, Callable[[Sequence[float]], float]] = {"mean": mean, "least": min, "most": max}
STATISTICS = {**GROUPS, "median": statistics.median}
OUTER = (*GROUPS, "each", "range")
OTHERS = ("spread", "values", "count", "text", "entry", "published", "about", "steady")
ABOUT = ("command", "seeds", "samples", "scale", "build")
COMPARISONS = {"higher": 1, "lower": -1, "same": 0}
# How many of n groups a claim has to be true of.
QUANTIFIERS: dict[str, Callable[[int], int]] = {
    "": lambda n: n,
    "mostly": lambda n: n // 2 + 1,
    "somewhere": lambda n: 1,
}
STEADY = 1.5
EXAMPLE = "example"
MIXED = 2  # runs on both sides of a number
PUBLISHED_RUNS = 5  # restarts behind each number of the paper's table

Read = Callable[[str], Source]


@dataclass(frozen=True)
class Query:
    """What an expression asks for."""

    outer: str  # what is taken of the groups; empty without `by`
    statistic: str  # what is taken of the rows
    column: str
    source: str
    where: tuple[tuple[str, bool, str], ...] = ()  # conditions: column, whether it must match, alternatives
    against: tuple[tuple[str, bool, str], ...] = ()
    by: str = ""  # column of the groups; empty for none
    places: int | None = None  # decimals
    rival: tuple[str, str] | None = None  # column and source that `against` selects from; None for the same


_SYNTAX = re.compile(
    r"^(?P<words>.+?) of (?P<source>\S+?)(?: where (?P<where>.+?))?(?: against (?P<against>.+?))?"
    r"(?: by (?P<by>[\w ]+?))?(?: to (?P<places>\d) places?)?$"
)
_RIVAL = re.compile(r"^(?P<column>.+?) of (?P<source>\S+?)(?: where (?P<where>.+))?$")
_CONDITION = re.compile(r"^([\w ]+?)(!?=)(.+)$")


def parse(text: str) -> Query:
    """An expression as a query; an error that names what is wrong with it."""
    match = _SYNTAX.match(" ".join(text.split()))
    if match is None:
        raise UserError(f"{text!r} is not of the form 'STATISTIC COLUMN of STUDY where COLUMN=VALUE'")
    words = match["words"].split()
    outer = words.pop(0) if match["by"] and len(words) > 2 and words[0] in OUTER else ""
    known = (*STATISTICS, *OTHERS, *COMPARISONS)
    if words[0] not in known:
        raise UserError(f"{text!r} begins with {words[0]!r}; known are {', '.join(known)}")
    rival = _RIVAL.match(match["against"] or "")
    return Query(
        outer or ("each" if match["by"] else ""),
        words[0],
        " ".join(words[1:]),
        match["source"],
        _conditions(match["where"], text),
        _conditions(rival["where"], text) if rival else _against(match["against"], text),
        match["by"] or "",
        int(match["places"]) if match["places"] else None,
        (rival["column"], rival["source"]) if rival else None,
    )


def _conditions(words: str | None, text: str) -> tuple[tuple[str, bool, str], ...]:
    out = []
    for word in (words or "").split(","):
        if not word.strip():
            continue
        match = _CONDITION.match(word.strip())
        if match is None:
            raise UserError(f"{text!r}: {word.strip()!r} is not of the form COLUMN=VALUE")
        out.append((match[1], match[2] == "=", match[3]))
    return tuple(out)


def _against(words: str | None, text: str) -> tuple[tuple[str, bool, str], ...]:
    if words is None or "=" in words:
        return _conditions(words, text)
    return ((words.strip(), True, ""),)  # "published" or a number


def value_text(text: str, read: Read) -> str:
    """What stands in a document for an expression; `read` gives the source of a name."""
    query = parse(text)
    if query.statistic == "published":
        value, spread = _published(query, text)
        return f"{number(value, 2)} ± {number(spread, 2)}" if spread else number(value, 2)
    source = pick(query, read, text)
    if query.statistic == "about":
        return _about(source, query.column, text)
    if query.statistic == "entry":
        return _entry(source, query, text)
    if query.statistic == "text":
        return _texts(source, query, text)
    if query.statistic in COMPARISONS:
        found = compared(query, source, text, read)
        return f"{sum(r == COMPARISONS[query.statistic] for r in found.values())} of {len(found)}"
    places = PLACES.get(query.column, 3) if query.places is None else query.places
    groups = groups_of(query, source, text)
    differs = bool(query.against or query.rival)
    signed = "+" if differs else ""
    if query.statistic == "spread":
        cells = [spread_text(values, places) for values in groups.values()]
        return ", ".join(cells)
    if query.statistic == "values":
        return ", ".join(number(v, places) for values in groups.values() for v in values)
    if query.statistic == "count":
        return ", ".join(str(len(values)) for values in groups.values())
    statistic = STATISTICS[query.statistic]
    found = [statistic(values) for values in groups.values()]
    if differs:
        rivals = rivals_of(query, source, text, read)
        found = [v - statistic(rivals[group]) for v, group in zip(found, groups, strict=True)]
    if query.outer in GROUPS:
        return number(GROUPS[query.outer](found), places, signed)
    if query.outer == "range":
        low, high = number(min(found), places, signed), number(max(found), places, signed)
        return low if low == high else f"{low} to {high}"
    return ", ".join(number(v, places, signed) for v in found)


def pick(query: Query, read: Read, text: str) -> Source:
    """The first of the query's sources that has what it asks for."""
    if query.source == EXAMPLE:
        return _example()
    *others, last = query.source.split("|")
    for name in others:
        try:
            source = read(name)
            if query.statistic not in ("about", "entry", "text"):
                groups_of(query, source, text)
        except NoSource:
            continue
        return source
    return read(last)


def groups_of(query: Query, source: Source, text: str) -> dict[Any, list[float]]:
    """The values that a query selects, by the value of its column `by`; an error if there are none."""
    rows = [row for row in source.rows if _matches(row, query.where)]
    groups: dict[Any, list[float]] = {}
    column = query.column.removeprefix("best ")
    for row in rows:
        value = row.get(column)
        if isinstance(value, int | float):
            groups.setdefault(row.get(query.by) if query.by else "", []).append(float(value))
    if not groups:
        raise NoSource(f"a number has no source: no run of {source.name} has {text!r}")
    return groups if column == query.column else {group: [max(values)] for group, values in groups.items()}


def rivals_of(query: Query, source: Source, text: str, read: Read) -> dict[Any, list[float]]:
    """For each group of a query with `against`, the values of the best group that it is compared with.

    Conditions of `against` replace those of `where` on the same columns, unless they are of another study; if they
    select several groups (several models, say), the one with the highest mean counts.
    """
    replaced = {column for column, _, _ in query.against}
    kept = () if query.rival else tuple(condition for condition in query.where if condition[0] not in replaced)
    asked = replace(query, by=query.against[0][0] if query.against else "", rival=None)
    if query.rival:
        asked = replace(asked, column=query.rival[0], source=query.rival[1])
    out: dict[Any, list[float]] = {}
    for group in groups_of(query, source, text):
        where = (*kept, *query.against)
        if query.by:
            where = (*where, (query.by, True, str(group)))
        asked = replace(asked, where=where)
        rivals = groups_of(asked, pick(asked, read, text) if query.rival else source, text)
        out[group] = max(rivals.values(), key=mean)
    return out


def compared(query: Query, source: Source, text: str, read: Read) -> dict[Any, int]:
    """For each group of a query with `against`: 1 if it is higher, -1 if it is lower, 0 if neither can be said."""
    groups = groups_of(query, source, text)
    if not query.against and not query.rival:
        raise UserError(f"{text!r} does not say against what")
    what, _, alternatives = query.against[0] if query.against else ("", True, "")
    if what == "published":
        by_dataset = groups_of(replace(query, by="dataset"), source, text)
        return {name: _rise_over_published(values, name, query, text) for name, values in by_dataset.items()}
    if what and not alternatives:
        bound = float(what)
        return {group: _beside(values, bound) for group, values in groups.items()}
    rivals = rivals_of(query, source, text, read)
    return {group: rise(values, rivals[group]) for group, values in groups.items()}


def _beside(values: Sequence[float], bound: float) -> int:
    if min(values) > bound:
        return 1
    if max(values) < bound:
        return -1
    return 0 if all(value == bound for value in values) else MIXED


def _rise_over_published(values: Sequence[float], dataset: str, query: Query, text: str) -> int:
    """As `rise`, against a mean and a deviation that the paper states to two decimals."""
    stated, spread = _published(replace(query, source=dataset), text)
    squares = (len(values) - 1) * deviation(values) ** 2 + (PUBLISHED_RUNS - 1) * spread**2
    margin = max(0.005, math.sqrt(squares / (len(values) + PUBLISHED_RUNS - 2)))
    difference = mean(values) - stated
    return (difference > margin) - (difference < -margin)


def claim_problem(text: str, read: Read) -> str | None:
    """Why a claim ("higher ... against ...") cannot be made, or None if it can be made of all groups, or of as
    many as its first word asks for."""
    first, _, rest = text.strip().partition(" ")
    quantifier, claim = (first, rest) if first in QUANTIFIERS else ("", text)
    query = parse(claim)
    if query.statistic == "steady":
        means = [mean(values) for values in groups_of(query, pick(query, read, text), text).values()]
        wide = max(means) > STEADY * min(means)
        return f"the numbers do not say {text!r}: from {min(means):g} to {max(means):g}" if wide else None
    if query.statistic not in COMPARISONS:
        raise UserError(f"the claim {text!r} does not begin with {', '.join(COMPARISONS)}")
    found = compared(query, pick(query, read, text), text, read)
    wrong = {group: r for group, r in found.items() if r != COMPARISONS[query.statistic]}
    if len(found) - len(wrong) >= QUANTIFIERS[quantifier](len(found)):
        return None
    words = {1: "higher", -1: "lower", 0: "about equal", MIXED: "some higher, some lower"}
    shown = ", ".join(f"{group} {words[r]}".strip() for group, r in wrong.items())
    return f"the numbers do not say {text!r} beyond their spread: {shown}"


def _matches(row: Row, conditions: Sequence[tuple[str, bool, str]]) -> bool:
    for column, wanted, alternatives in conditions:
        held = row.get(column)
        if any(_same(held, alternative) for alternative in alternatives.split("|")) != wanted:
            return False
    return True


def _same(held: Any, pattern: str) -> bool:
    if isinstance(held, int | float) and not isinstance(held, bool):
        try:
            return float(pattern) == float(held)
        except ValueError:
            pass
    return fnmatchcase(str(held), pattern)


def _published(query: Query, text: str) -> tuple[float, float]:
    try:
        return TABLE1[query.source][query.column]
    except KeyError:
        raise UserError(f"{text!r}: the paper's tables have no such number") from None


def _example() -> Source:
    """The paper's example: 7/8 of the rows on a 1-D and 1/8 on an 8-D manifold, in bits per row."""
    import numpy as np

    from disentree.hierarchy import Categorical, Continuous, Group, Hierarchy

    options = Group((Continuous("z"),)), Group(tuple(Continuous(f"z{i}") for i in range(8)))
    codes = np.full((8, 10), np.nan)
    codes[:7, :2], codes[7, 0], codes[7, 2:] = 0, 1, 0
    flat = Hierarchy.flat(8).description_length(np.zeros((8, 8)))
    nested = Hierarchy(Group((Categorical("c", options),))).description_length(codes)
    return Source(EXAMPLE, {}, [{"flat bits": flat, "hierarchical bits": nested}])


def _about(source: Source, what: str, text: str) -> str:
    about = source.about
    if what == "command":
        return f"`{about['command']}`"
    if what == "seeds":
        return str(len(about["seeds"]))
    if what == "samples":
        return about["scale_means"]
    if what == "scale":
        return about["scale"]
    if what == "build":
        return source.build
    raise UserError(f"{text!r}: about takes {', '.join(ABOUT)}")


def _texts(source: Source, query: Query, text: str) -> str:
    found = [row.get(query.column) for row in source.rows if _matches(row, query.where)]
    if not any(found):
        raise NoSource(f"a number has no source: no run of {source.name} has {text!r}")
    return ", ".join(dict.fromkeys(str(value) for value in found if value))


def _entry(source: Source, query: Query, text: str) -> str:
    value: Any = source.about
    for key in query.column.split("."):
        if not isinstance(value, dict) or key not in value:
            raise NoSource(f"a number has no source: {source.name} has no {query.column}, as {text!r} asks for")
        value = value[key]
    if isinstance(value, dict):
        raise UserError(f"{text!r}: {query.column} of {source.name} has several entries: {', '.join(value)}")
    if isinstance(value, list):
        value = len(value)
    if isinstance(value, str):
        return value
    return number(value, query.places) if query.places is not None else f"{value:,}"


# ------------------------------------------------------------------ text


def number(value: float, places: int, sign: str = "") -> str:
    """A number as documents have it: .93, 1.00, 0, -.02."""
    text = f"{value:{sign}.{places}f}"
    if float(text) == 0:
        return "0"
    if places == 1 or (places > 1 and value == round(value) and abs(value) > 1):
        text = text.removesuffix("." + "0" * places)
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def spread_text(values: Sequence[float], places: int) -> str:
    """Mean ± standard deviation; a single value as it is."""
    if len(values) == 1:
        return number(values[0], places)
    return f"{number(mean(values), places)} ± {number(deviation(values), places)}"
