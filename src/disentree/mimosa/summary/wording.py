"""The three sentences of a summary, in the words of the columns: what was found, what varies, how sure that is.
And the footnote with the bits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import counted, listed, share_text
from disentree.mimosa.explain.names import GENERIC_VARIABLE
from disentree.mimosa.summary.contents import Branch, Contents, Division, came_back, largest

_NUMBERED = re.compile(r" \(\d+\)$")


def sentences(found: Contents) -> list[str]:
    """At most three: what was found, what varies in it, and how sure it is."""
    return list(filter(None, (what(found), what_varies(found), how_sure(found))))


def what(found: Contents) -> str:
    """The divisions that save most bits and that parts of the rows bring back, the largest first."""
    given = {"true": "The tree is part of this data set. ", "given": "The tree was given. "}.get(found.source, "")
    own = list(found.root.divisions)
    if not own:
        if given:
            return f"{given}It is one group."
        return f"No structure found: one cloud of about {counted(found.dimension, 'dimension')}."
    every = list(found.divisions())
    if len(own) > 1:
        kind = "yes/no properties" if all(len(one.branches) == 2 for _, one in every) else "properties"
        some = "" if len(own) == len(every) else f"{len(own)} of them "
        head = f"{given}{len(every)} {kind} of a row, {some}independent of each other: "
        return _several(head, [_property(one) for one in largest(one for _, one in every)])
    if len(every) == 1:
        return f"{given}{len(own[0].branches)} groups of rows: {_branches(own[0], 'and')}."
    ranked = sorted(every, key=lambda one: (not one[1].found_again, -one[1].weight))
    told = [(branch, one) for branch, one in ranked if one.found_again] or ranked[:1]
    head = f"{given}A tree of {found.n_leaves} leaves; its largest divisions: "
    told_of = [f"{_exists(one) or _branches(one, 'or')}, {_within(found, branch)}" for branch, one in told]
    return _several(head, told_of + [""] * (len(every) - len(told)))


def what_varies(found: Contents) -> str:
    """The columns that vary in every group, and those that vary in some only."""
    root = found.root
    if not root.divisions:
        return f"{_vary(_columns(root.variables))}." if _columns(root.variables) else ""
    divided = largest(root.divisions)
    branches = sorted((b for one in divided for b in one.branches), key=lambda one: -one.share)
    if len(list(found.divisions())) == 1:
        return _within_groups(root, branches)
    own = [_columns(branch.below) for branch in branches]
    common = _columns(root.variables)
    if len(divided) == 1:
        common += [name for name in own[0] if name not in common and all(name in some for some in own)]
    said = [f"{_vary(common)} in {'every group' if len(divided) == 1 else 'all rows'}"] if common else []
    more, also = [], "also " if common else ""
    for branch, some in zip(branches, own, strict=True):
        if names := [name for name in some if name not in common]:
            more.append(f"in “{branch.name}” {also}{_list(names)}")
    return _sentence("; ".join([*said, *more[: EXPLAIN.listed]]))


def _within_groups(root: Branch, branches: Sequence[Branch]) -> str:
    """How many variables groups side by side have, and the columns that these move; group by group if some have
    many more than others."""
    counts = [len(root.variables) + len(branch.below) for branch in branches]
    low, high = min(counts), max(counts)
    if low > FIT.half * high:
        columns = _columns([*root.variables, *(name for branch in branches for name in branch.below)])
        many = counted(low, "variable") if low == high else f"{low} to {high} variables"
        return _sentence(f"Within every group rows differ in {many}" + (f": {_list(columns)}" if columns else ""))
    said = []
    for branch, n in zip(branches, counts, strict=True):
        columns = _columns([*root.variables, *branch.below])
        named = f" ({_list(columns)})" if columns else ""
        many = f"in {counted(n, 'variable')}" if n else "not at all"
        said.append(f"{many} within “{branch.name}”{named}")
    return _sentence(f"Rows differ {'; '.join(said[: EXPLAIN.listed])}")


def how_sure(found: Contents) -> str:
    """Whether it may be chance, and whether parts of the rows bring it back."""
    if not found.root.divisions:
        return ""
    parts = []
    if found.source == "mimosa" and found.saved is not None and found.doubt is not None:
        parts.append(_chance(found.saved, found.doubt))
    several = len(found.root.divisions) > 1 and any(one.support is not None for one in found.root.divisions)
    if several:
        told = [(one.name or "one of them", one.support) for one in found.root.divisions]
    else:
        told = [(b.name, b.support) for _, one in found.divisions() for b in one.branches]
    told = [(name, share) for name, share in told if share is not None]
    if told:
        part, n = "choice" if several else "group", sum(len(one.branches) for _, one in found.divisions())
        asked = " that they were asked for" if len(told) < (len(found.root.divisions) if several else n) else ""
        parts.append(brought_back(told, found.resamples, part, asked))
    said = ", and ".join(parts)
    return _sentence(f"{said[:1].upper()}{said[1:]}")


def brought_back(told: Sequence[tuple[str, float]], resamples: int, part: str, asked: str = "") -> str:
    """Which parts of a tree, each with its support, come back in resamples, or in the parts of the rows that the
    search itself looks at."""
    least, lost = min(share for _, share in told), [name for name, share in told if not came_back(share)]
    if len(lost) == len(told):
        who = f"{counted(resamples, 'resample')} of the rows" if resamples else "parts of the rows"
        return f"{who} do not bring any {part} back"
    but = f" but {listed([f'“{name}”' for name in lost])}" if lost else ""
    every = f"every {part}{but}"
    if resamples:
        low = min(share for _, share in told if came_back(share))
        return f"{every} came back in at least {low:.0%} of {counted(resamples, 'resample')} of the rows"
    overlap = "" if lost else f" (to {share_text(least)} or more)"
    return f"parts of the rows, searched by themselves, bring {every}{asked} back{overlap}"


def footnote(found: Contents) -> str:
    """The bits, the runner-up, and how many rows fit nowhere."""
    text = ""
    if found.source == "mimosa" and found.saved is not None and found.doubt is not None:
        text = "No division into groups describes new rows in fewer bits than one cloud does."
        if found.saved > 0:
            bits = f"{found.saved:.2f} ± {found.doubt:.2f} bits"
            text = f"A new row takes {bits} fewer than in one cloud: it is {_times(found.saved)} as likely."
            text = f"{text} {found.runner_up}".strip()
    if found.nowhere:
        text += f" {counted(found.nowhere, 'row')} {'fits' if found.nowhere == 1 else 'fit'} nowhere."
    return text.strip()


def runner_up(candidates: Sequence[Mapping[str, Any]]) -> str:
    """The next best of some proposals, the chosen one first, in a sentence."""
    for other in candidates[1:2]:
        leaves, more = counted(other["components"], "leaf", "leaves"), other["bits"] - candidates[0]["bits"]
        why = f"; not chosen, since {other['why_not']}" if other.get("why_not") else ""
        return f"Runner-up: {proposed_by(other, candidates[0])}, {leaves}, {more:+.2f} bits{why}."
    return ""


def proposed_by(row: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """What made a proposal of `MIMOSA.candidates_`, in words, with the branches by presence that are counted in
    where the chosen one has such."""
    branches = row.get("branches")
    if not chosen.get("branches"):
        return row["finder"]
    if not branches:
        return f"{row['finder']}, without branches"
    return f"{branches} branch{'es' * (branches != 1)} by what exists, and {row['finder']}"


# -------------------------------------------------------------------- pieces


def with_share(branch: Branch) -> str:
    """A branch and its share of all rows, unless its name has that."""
    if not branch.rows or branch.name.endswith(" %)"):
        return branch.name
    return f"{branch.name} ({share_text(branch.share)})"


def columns_of(name: str) -> list[str]:
    """The columns that a variable is called by; none for a number or for noise."""
    plain = _NUMBERED.sub("", name).removeprefix("value of ")
    return [] if GENERIC_VARIABLE.fullmatch(plain) or plain == "other" else plain.split(", ")


def _columns(variables: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(column for name in variables for column in columns_of(name)))


def _branches(division: Division, last: str) -> str:
    shown = sorted(division.branches, key=lambda one: -one.share)
    return listed([with_share(one) for one in shown], last=last)


def _property(division: Division) -> str:
    """A choice of two by the rarer option, which says the other too; another by all of its options."""
    rarer = min(division.branches, key=lambda one: one.share)
    is_told = " " in rarer.name and not rarer.name.startswith("group ")
    if len(division.branches) == 2 and is_told and rarer.share < max(one.share for one in division.branches):
        return with_share(rarer)
    said = _branches(division, "or")
    return f"{said} {division.name}" if division.name.startswith("by ") and "group " in said else said


def _exists(division: Division) -> str:
    """What rows have, or have not, by the rarer of both; empty if a choice is not about that."""
    words = {one.name.partition(" ")[0] for one in division.branches}
    return _property(division) if len(words) == 2 and words <= {"with", "without", "no"} else ""


def _within(found: Contents, branch: Branch) -> str:
    return "of all rows" if branch is found.root else f"within “{branch.name}”"


def _several(head: str, told: Sequence[str]) -> str:
    """A list of clauses; of many the first ones, and how many more there are. Empty ones are only counted."""
    shown = [text for text in told if text][: EXPLAIN.listed_short]
    left = len(told) - len(shown)
    return f"{head}{'; '.join(shown)}{f'; and {left} more' if left else ''}."


def _list(names: Sequence[str]) -> str:
    return listed(names, EXPLAIN.listed)


def _vary(names: Sequence[str]) -> str:
    return f"{_list(names)} {'varies' if len(names) == 1 else 'vary'}"


def _sentence(text: str) -> str:
    return f"{text}." if text else ""


def _chance(saved: float, doubt: float) -> str:
    return f"This {'is beyond' if saved > FIT.sure * doubt else 'may be'} chance"


def _times(bits: float) -> str:
    """2 to the power of some bits, in words."""
    factor = 2.0 ** min(bits, EXPLAIN.most_bits)
    if factor > 1e6:
        return "more than a million times"
    if factor >= 1e4:
        return f"about {factor / 1e3:,.0f} thousand times"
    return f"{factor:,.1f} times" if factor < 10 else f"about {factor:,.0f} times"
