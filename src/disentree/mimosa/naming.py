"""Names for branches and variables, from the reasons for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from disentree.hierarchy import Hierarchy
from disentree.mimosa.facts import Fact, Measured

LONGEST = 24  # letters of a name
GENERIC = re.compile(r"(branch\d+|stop|\d+)")  # options that only have a number
GENERIC_VARIABLE = re.compile(r"[czx]\d+")
SMALL_WORDS = ("", "a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to", "you", "your")
_PARTS = re.compile(r"[^ ._\-/]+|[ ._\-/]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")


def name_options(
    categorical: str, options: Sequence[str], facts: Sequence[Sequence[Fact]], taken: Iterable[str] = ()
) -> list[str]:
    """Names for the options of a categorical, all different; those that say something already are kept.

    Parameters
    ----------
    categorical : str
        Its name.
    options : sequence of str
    facts : sequence of sequence of Fact
        What is known of each option, the most important first.
    taken : iterable of str, default=()
        Names that are not to be used.

    Returns
    -------
    list of str
    """
    used, out = set(taken), []
    for option, known in zip(options, facts, strict=True):
        if option in ("no", "yes") and not GENERIC_VARIABLE.fullmatch(categorical):
            word = "no" if option == "no" else "with"
            wanted = [f"{word} {shortened(categorical, LONGEST - len('with '))}"]
        elif GENERIC.fullmatch(option):
            wanted = [fact_name(fact) for fact in known]
        else:
            wanted = [option]
        name = next((w for w in wanted if w not in used), None)
        if name is None:
            name = next(n for n in (option, *(f"{option} ({i})" for i in range(2, 1000))) if n not in used)
        used.add(name)
        out.append(name)
    return out


def fact_name(fact: Fact) -> str:
    """A fact in a few letters."""
    before, middle, after = fact.name
    if len(before) + len(after) > LONGEST // 2 and " = " in after:
        after = after[: LONGEST // 2]
    room = LONGEST - len(before) - len(after)
    if middle in fact.columns:
        return f"{before}{shortened(middle, room)}{after}"
    if len(middle) <= room:
        return f"{before}{middle}{after}"
    each = max(3, (room - 3 * len(fact.columns)) // len(fact.columns))
    names = {column: shortened(column, each) for column in fact.columns}
    for column in sorted(names, key=len, reverse=True):
        middle = middle.replace(column, names[column])
    return f"{before}{middle}{after}"[:LONGEST].rstrip(" =+")


def name_categorical(name: str, reasons: Sequence[Sequence[Measured]]) -> str:
    """A name for a categorical that has none: the columns that its options differ in most."""
    if not GENERIC_VARIABLE.fullmatch(name):
        return name
    weights: dict[tuple[str, ...], float] = {}
    for known in reasons:
        for m in known:
            weights[m.fact.columns] = weights.get(m.fact.columns, 0.0) + round(m.contrast, 2)
    if not weights:
        return name
    columns = min(weights, key=lambda columns: (-weights[columns], columns))
    return f"by {together(columns, LONGEST - 3)}"


def together(columns: Sequence[str], room: int = LONGEST) -> str:
    """As many of some names as there is room for; at least one, shortened if need be."""
    for n in range(len(columns), 1, -1):
        if len(text := ", ".join(columns[:n])) <= room:
            return text
    return shortened(columns[0], room)


def shortened(name: str, room: int) -> str:
    """A column's name in at most `room` letters: without its last words, or cut."""
    if len(name) <= room:
        return name
    parts = [hump for part in _PARTS.findall(name) for hump in _HUMPS.findall(part)]
    while len(parts) > 1 and (len("".join(parts)) > room or parts[-1].strip(" ._-/").lower() in SMALL_WORDS):
        parts.pop()
    short = "".join(parts).strip(" ._-/")
    return short if 0 < len(short) <= room else f"{name[: max(1, room - 1)]}…"


def unique(name: str, taken: set[str]) -> str:
    """A name that is not taken yet, which it is afterwards."""
    found = next(n for n in (name, *(f"{name} {i}" for i in range(2, 10_000))) if n not in taken)
    taken.add(found)
    return found


# -------------------------------------------------------------------- names as they are stored


def no_names() -> dict[str, Any]:
    """Names that change nothing."""
    return {"variables": {}, "options": {}}


def with_names(hierarchy: Hierarchy, names: Mapping[str, Any]) -> Hierarchy:
    """A tree with other names.

    Parameters
    ----------
    hierarchy : Hierarchy
    names : mapping
        ``variables``: new by old name; ``options``: by name of the categorical new by old name. Names that the
        tree does not have are passed over.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> h = Hierarchy.flat(1, (2,))
    >>> print(with_names(h, {"variables": {"z1": "size"}, "options": {"c1": {"0": "round"}}}))
    ○ size
    ◇ c1
    ├── round ∅
    └── 1 ∅
    """
    variables, options = names.get("variables", {}), names.get("options", {})
    tree = hierarchy.to_dict()

    def visit(group: list[dict[str, Any]]) -> None:
        for variable in group:
            own = options.get(variable["name"], {})
            for option in variable.get("options", ()):
                option["name"] = own.get(option["name"], option["name"])
                visit(option["variables"])
            variable["name"] = variables.get(variable["name"], variable["name"])

    visit(tree["variables"])
    return Hierarchy.from_dict(tree)
