"""Names for branches and variables, from the reasons for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from disentree.mimosa.explain.column_names import shortened
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.facts import Measured
from disentree.mimosa.explain.rules import NameParts, Rule

GENERIC = re.compile(r"(branch\d+|stop|\d+)")  # options that only have a number
GENERIC_VARIABLE = re.compile(r"[czx]\d+")


def name_options(categorical: str, options: Sequence[str], reasons: Sequence[Sequence[str]]) -> list[str]:
    """Names for the options of a categorical, all different; those that mean something already are kept. Reasons
    are names from what is known of each option, the best first."""
    used, out = set[str](), []
    for option, known in zip(options, reasons, strict=True):
        if option in ("no", "yes") and not GENERIC_VARIABLE.fullmatch(categorical):
            word = "no" if option == "no" else "with"
            wanted = [f"{word} {shortened(categorical, EXPLAIN.longest_name - len('with '))}"]
        elif GENERIC.fullmatch(option) or (option in ("off", "on") and _is_unnamed(categorical)):
            wanted = known
        else:
            wanted = [option]
        name = next((w for w in wanted if w not in used), None)
        if name is None:
            name = next(n for n in (option, *(f"{option} ({i})" for i in range(2, 1000))) if n not in used)
        used.add(name)
        out.append(name)
    return out


def _is_unnamed(categorical: str) -> bool:
    """Whether nobody has given it a name: it has a number, or the columns that `name_categorical` tells."""
    return GENERIC_VARIABLE.fullmatch(categorical) is not None or categorical.startswith("by ")


@dataclass(frozen=True)
class ReasonName:
    """A name from a reason, the columns that it is about, and whether it is the rule's."""

    text: str
    columns: tuple[str, ...]
    by_rule: bool = False


def is_true_name(here: float, elsewhere: float, n_here: int, n_there: int) -> bool:
    """Whether a statement may name a branch as it is: nearly all of its rows fulfill it, and nearly all rows that
    do are of the branch. Given are the shares of the rows of the branch and of its siblings, and their numbers."""
    inside, outside = here * n_here, elsewhere * n_there
    return here >= EXPLAIN.nearly_all and inside >= EXPLAIN.nearly_all * (inside + outside)


def reason_names(
    known: Sequence[Measured], rule: Rule | None, n_here: int, n_there: int, number: int
) -> list[ReasonName]:
    """Names for a branch with a number among its siblings, the best first, from the facts and the rule that tell
    it from them. A name that is not the rule by which one finds the rows says so.

    First are statements that are true both ways, as "rpm ≤ 1730" or "rpm ≤ 1730 and load > 2"; then "part of rpm ≤
    1730", if all of these rows are such but others are as well; "mostly rpm ≤ 1730", if most are; and the number
    of the group with its most different columns.
    """
    out, weaker = [], []
    for m in known:
        name = fact_name(m.fact.name, m.fact.columns)
        if is_true_name(m.here, m.elsewhere, n_here, n_there):
            out.append(ReasonName(name, m.fact.columns))
        elif m.here >= EXPLAIN.mostly:
            weaker.append(
                ReasonName(f"{'part of' if m.here >= EXPLAIN.nearly_all else 'mostly'} {name}", m.fact.columns)
            )
    if rule is not None and rule.names and is_true_name(rule.found, rule.elsewhere, n_here, n_there):
        text = " and ".join(fact_name(name, rule.columns) for name in rule.names)
        if text not in (reason.text for reason in out):
            out.append(ReasonName(text, rule.columns, by_rule=True))
    out += weaker
    if columns := tuple(dict.fromkeys(name for m in known for name in m.fact.columns)):
        out.append(ReasonName(f"group {number} ({together(columns)})", columns))
    return out


def fact_name(name: NameParts, columns: Sequence[str]) -> str:
    """A fact in a few letters: what is before the column or formula, itself, and what is after it."""
    (before, middle, after), longest = name, EXPLAIN.longest_name
    room = max(longest // 3, longest - len(before) - len(after))
    if middle in columns:
        return f"{before}{shortened(middle, room)}{after}"
    if len(middle) <= room:
        return f"{before}{middle}{after}"
    each = max(3, (room - 3 * len(columns)) // len(columns))
    names = {column: shortened(column, each) for column in columns}
    for column in sorted(names, key=len, reverse=True):
        middle = middle.replace(column, names[column])
    return f"{before}{middle}{after}"[:longest].rstrip(" =+")


def name_categorical(name: str, reasons: Sequence[ReasonName]) -> str:
    """A name for a categorical that has none: the columns that its options are named by."""
    if not GENERIC_VARIABLE.fullmatch(name):
        return name
    counts = Counter(column for reason in reasons for column in reason.columns)
    columns = [column for column, _ in counts.most_common()]
    return f"by {together(columns, EXPLAIN.longest_name - 3)}" if columns else name


def together(columns: Sequence[str], room: int | None = None) -> str:
    """As many of some names as there is room for; at least one, shortened if need be."""
    room = EXPLAIN.longest_name if room is None else room
    for n in range(len(columns), 1, -1):
        if len(text := ", ".join(columns[:n])) <= room:
            return text
    return shortened(columns[0], room)


def no_names() -> dict[str, Any]:
    """Names that change nothing."""
    return {"variables": {}, "options": {}}
