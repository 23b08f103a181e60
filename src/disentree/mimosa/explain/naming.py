"""Names for branches and variables, from the reasons for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.facts import Measured
from disentree.mimosa.explain.rules import Rule
from disentree.mimosa.explain.words import shortened

LONGEST = 24  # letters of a name, or of each of its two conditions
TRUE = 0.9  # share of a branch for which its name holds, and of the rows for which it holds that are of the branch
MOSTLY = 0.6  # of the rows of a branch for which something holds "mostly"
GENERIC = re.compile(r"(branch\d+|stop|\d+)")  # options that only have a number
GENERIC_VARIABLE = re.compile(r"[czx]\d+")
SWITCH = ("off", "on")  # options of a choice that is only known by what it adds


def name_options(
    categorical: str, options: Sequence[str], reasons: Sequence[Sequence[str]], taken: Iterable[str] = ()
) -> list[str]:
    """Names for the options of a categorical, all different; those that say something already are kept.

    Parameters
    ----------
    categorical : str
        Its name.
    options : sequence of str
    reasons : sequence of sequence of str
        For each option names from what is known of it, the best first; see `reason_names`.
    taken : iterable of str, default=()
        Names that are not to be used.

    Returns
    -------
    list of str
    """
    used, out = set(taken), []
    for option, known in zip(options, reasons, strict=True):
        if option in ("no", "yes") and not GENERIC_VARIABLE.fullmatch(categorical):
            word = "no" if option == "no" else "with"
            wanted = [f"{word} {shortened(categorical, LONGEST - len('with '))}"]
        elif GENERIC.fullmatch(option) or (option in SWITCH and _is_unnamed(categorical)):
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
    """Whether a statement may name a branch as it is: nearly all of its rows fulfill it, and nearly all rows
    that do are of the branch.

    Parameters
    ----------
    here, elsewhere : float
        Shares of the rows of the branch and of its siblings that it holds for.
    n_here, n_there : int
        How many rows these have.

    Returns
    -------
    bool
    """
    inside, outside = here * n_here, elsewhere * n_there
    return here >= TRUE and inside >= TRUE * (inside + outside)


def reason_names(
    known: Sequence[Measured], rule: Rule | None, n_here: int, n_there: int, number: int
) -> list[ReasonName]:
    """Names for a branch, the best first. A name that is not the rule by which one finds the rows says so.

    Parameters
    ----------
    known : sequence of Measured
        What tells the branch from its siblings, the most important first.
    rule : Rule or None
        A rule for it of one or two conditions.
    n_here, n_there : int
        Rows of the branch and of its siblings.
    number : int
        Of the branch among its siblings.

    Returns
    -------
    list of ReasonName
        Statements that are true both ways, as "rpm ≤ 1730" or "rpm ≤ 1730 and load > 2"; then "part of rpm ≤
        1730", if all of these rows are such but others are as well; "mostly rpm ≤ 1730", if most are; and the
        number of the group with its most different columns.
    """
    out, weaker = [], []
    for m in known:
        name = fact_name(m.fact.name, m.fact.columns)
        if is_true_name(m.here, m.elsewhere, n_here, n_there):
            out.append(ReasonName(name, m.fact.columns))
        elif m.here >= MOSTLY:
            weaker.append(ReasonName(f"{'part of' if m.here >= TRUE else 'mostly'} {name}", m.fact.columns))
    if rule is not None and rule.names and is_true_name(rule.found, rule.elsewhere, n_here, n_there):
        text = " and ".join(fact_name(name, rule.columns) for name in rule.names)
        if text not in (reason.text for reason in out):
            out.append(ReasonName(text, rule.columns, by_rule=True))
    out += weaker
    if columns := tuple(dict.fromkeys(name for m in known for name in m.fact.columns)):
        out.append(ReasonName(f"group {number} ({together(columns)})", columns))
    return out


def fact_name(name: tuple[str, str, str], columns: Sequence[str]) -> str:
    """A fact in a few letters: what is before the column or formula, itself, and what is after it."""
    before, middle, after = name
    room = max(LONGEST // 3, LONGEST - len(before) - len(after))
    if middle in columns:
        return f"{before}{shortened(middle, room)}{after}"
    if len(middle) <= room:
        return f"{before}{middle}{after}"
    each = max(3, (room - 3 * len(columns)) // len(columns))
    names = {column: shortened(column, each) for column in columns}
    for column in sorted(names, key=len, reverse=True):
        middle = middle.replace(column, names[column])
    return f"{before}{middle}{after}"[:LONGEST].rstrip(" =+")


def name_categorical(name: str, reasons: Sequence[ReasonName]) -> str:
    """A name for a categorical that has none: the columns that its options are named by.

    Parameters
    ----------
    name : str
    reasons : sequence of ReasonName
        The names of its options that come from reasons.

    Returns
    -------
    str
    """
    if not GENERIC_VARIABLE.fullmatch(name):
        return name
    counts: dict[str, int] = {}
    for reason in reasons:
        for column in reason.columns:
            counts[column] = counts.get(column, 0) + 1
    columns = sorted(counts, key=lambda column: -counts[column])
    return f"by {together(columns, LONGEST - 3)}" if columns else name


def together(columns: Sequence[str], room: int = LONGEST) -> str:
    """As many of some names as there is room for; at least one, shortened if need be."""
    for n in range(len(columns), 1, -1):
        if len(text := ", ".join(columns[:n])) <= room:
            return text
    return shortened(columns[0], room)


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


def names_between(plain: Hierarchy, shown: Hierarchy) -> dict[str, Any]:
    """The names that make one tree of another of the same structure, as `with_names` takes them.

    Parameters
    ----------
    plain, shown : Hierarchy

    Returns
    -------
    dict
    """
    out = no_names()
    for old, new in zip(plain.variables, shown.variables, strict=True):
        if old.name != new.name:
            out["variables"][old.name] = new.name
        if old.options:
            out["options"][old.name] = dict(zip(old.options, new.options, strict=True))
    return out


def renamed(hierarchy: Hierarchy, changes: Mapping[str, Any]) -> Hierarchy:
    """A tree in which some variables or options have other names.

    Parameters
    ----------
    hierarchy : Hierarchy
    changes : mapping of str to str
        New by old name: of a variable, of an option, or ``"variable=option"`` where several have such an option.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> print(renamed(Hierarchy.flat(1, (2,)), {"z1": "size", "c1=0": "round"}))
    ○ size
    ◇ c1
    ├── round ∅
    └── 1 ∅
    """
    if not isinstance(changes, Mapping):
        raise TypeError(f"names must be a dict of new names by old ones, got {type(changes).__name__}")
    places: dict[str, list[tuple[int, int | None]]] = {}
    for v in hierarchy.variables:
        places.setdefault(v.name, []).append((v.index, None))
    for v in hierarchy.variables:
        for k, option in enumerate(v.options):
            places.setdefault(f"{v.name}={option}", []).append((v.index, k))
            if (v.index, None) not in places.get(option, []):
                places.setdefault(option, []).append((v.index, k))
    variables = [v.name for v in hierarchy.variables]
    options = [list(v.options) for v in hierarchy.variables]
    for old, new in changes.items():
        if not isinstance(new, str) or not new.strip():
            raise ValueError(f"the new name of {old!r} must be a text that is not empty, got {new!r}")
        found = places.get(old, [])
        if not found:
            raise ValueError(f"there is no variable or option {old!r}; {_some_names(hierarchy)}")
        if len(found) > 1:
            raise ValueError(_ambiguous(hierarchy, old, found))
        column, option = found[0]
        if option is None:
            variables[column] = new
        else:
            options[column][option] = new
    if twice := [name for name in variables if variables.count(name) > 1]:
        raise ValueError(f"two variables would be called {twice[0]!r}: names of variables must differ")
    for v, names in zip(hierarchy.variables, options, strict=True):
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"two options of {v.name!r} would be called {twice[0]!r}: names of options must differ"
            )
    return _called(hierarchy, variables, options)


def _called(hierarchy: Hierarchy, variables: Sequence[str], options: Sequence[Sequence[str]]) -> Hierarchy:
    """The tree with these names, by column."""
    tree, column = hierarchy.to_dict(), 0

    def visit(group: list[dict[str, Any]]) -> None:
        nonlocal column
        for variable in group:
            here, column = column, column + 1
            variable["name"] = variables[here]
            for k, option in enumerate(variable.get("options", ())):
                option["name"] = options[here][k]
                visit(option["variables"])

    visit(tree["variables"])
    return Hierarchy.from_dict(tree)


def _some_names(hierarchy: Hierarchy) -> str:
    names = [v.name for v in hierarchy.variables]
    names += [f"{v.name}={option}" for v in hierarchy.variables for option in v.options]
    return f"there are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def _ambiguous(hierarchy: Hierarchy, name: str, found: Sequence[tuple[int, int | None]]) -> str:
    owners = [hierarchy.variables[column].name for column, option in found if option is not None]
    if len(owners) < len(found):
        return (
            f"{name!r} is a variable and an option too: write {owners[0]}={name} for the option"
            if owners
            else (f"several variables are called {name!r}")
        )
    return f"{name!r} is an option of {' and of '.join(owners)}: write {owners[0]}={name}"
