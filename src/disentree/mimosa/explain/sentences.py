"""The sentences of an explanation and of a report: about branches, rules, leaves, factors and what a tree does not
show. The first sentence of a report, what was found, is made in `verdict`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.facts import Measured
from disentree.mimosa.explain.formatting import counted, listed, percent, shares_text
from disentree.mimosa.explain.rules import Rule


def held_out_sentence(n_rows: int) -> str:
    """Which rows the numbers in an explanation are of."""
    return f"Shares are of {n_rows:,} rows that no reason was looked for in."


def no_reason_sentence() -> str:
    """What is said about a branch that no fact tells from its siblings."""
    return "No column by itself tells these rows from the others."


def branch_sentence(facts: Sequence[Measured], rule: Rule | None) -> str:
    """What tells a branch from its siblings; the rule that it is named by comes first."""
    said = None if rule is None else rule.to_dict()
    texts = [] if said is None else [f"{said['text']}: {said['shares']}"]
    for m in facts:
        if rule is None or m.fact.text != rule.text:
            short = f"{m.fact.text} ({percent(m.here)}, {percent(m.elsewhere)})"
            first = not texts or (rule is not None and len(texts) == 1)
            texts.append(shares_text(m.fact.text, m.here, m.elsewhere) if first else short)
    return "; ".join(texts) + "." if texts else ""


def rule_sentence(split: Mapping[str, Any]) -> str:
    """The rule by which the rows of a split can be found; empty without one, or if the reasons begin with it."""
    rule = split.get("rule")
    if not rule or split["text"].startswith(f"{rule['text']}: "):
        return ""
    return f"Rule: {rule['text']}: {rule['shares']}."


def leaf_sentence(
    dimension: int, names: Sequence[str], n_varying: int, n_categories: int, rest: Sequence[Sequence[str]]
) -> str:
    """What is free in a leaf: its directions, by the columns that describe them if there are fewer than columns
    that vary, how many columns of categories vary, and the rest: what follows, what is constant, what is empty."""
    parts = [_directions(dimension, names, n_varying, n_categories), *map(listed, filter(None, rest))]
    return "; ".join(parts) + "."


def _directions(dimension: int, names: Sequence[str], n_varying: int, n_categories: int) -> str:
    if not dimension:
        return "Nothing varies here"
    many, most = counted(dimension, "free direction"), 2 * EXPLAIN.listed
    categories = f"{counted(n_categories, 'column')} of categories" if n_categories else ""
    if not names:
        return f"{many} among {categories}" if categories else many
    categories = f", and {categories}" if categories else ""
    if n_varying <= dimension:
        return f"{many}: {listed(names, most)} {'varies' if len(names) == 1 else 'vary'} freely{categories}"
    best = f", best told by {listed(names, most)}" if dimension <= most else ""
    return f"{many} among {n_varying} columns of numbers{categories}{best}"


def factor_sentence(
    name: str, n_factors: int, options: Sequence[tuple[str, float, list[str]]], reason: str
) -> str:
    """What one of several independent choices decides: for each option its name, its share of the rows and the
    kinds of the variables that it adds."""
    parts = ", ".join(f"{option} ({share:.1%}) {_adds(kinds)}" for option, share, kinds in options)
    return f"{name}, beside {counted(n_factors - 1, 'other choice')}: {parts}. {reason}".strip()


def _adds(kinds: Sequence[str]) -> str:
    counts = (kinds.count("continuous"), "variable"), (kinds.count("categorical"), "choice")
    return f"adds {' and '.join(counted(n, noun) for n, noun in counts if n) or 'nothing'}"


def variance_sentence(option: str, varying: Sequence[tuple[str, int, float]]) -> str:
    """Columns that vary more where an option is chosen: name, option and how many times the variance."""
    more = ", ".join(f"{name} ({times:.1f} times the variance)" for name, _, times in varying)
    return f"Where {option}, these vary more: {more}."


def lost_sentences(
    hierarchy: Hierarchy,
    lost: Sequence[Mapping[str, Any]],
    matches: Sequence[Sequence[int]],
    name_of: Callable[[int], str],
) -> list[str]:
    """What a tree does not show: one sentence for each component that encloses more than one other (`lost`, from
    `lost_enclosures`), and one for columns that are the same variable on different branches (`matches`)."""
    out = []
    for component in dict.fromkeys(one["component"] for one in lost):
        others = [name_of(one["parent"]) for one in lost if one["component"] == component]
        more = f"{name_of(component)} also encloses {listed(others, len(others))}"
        out.append(
            f"{more[:1].upper()}{more[1:]}, which the tree cannot show: a branch of it grows from one leaf."
        )
    for columns in matches:
        names = listed([hierarchy.variables[column].name for column in columns], len(columns))
        out.append(f"{names} are the same variable on different branches.")
    return out
