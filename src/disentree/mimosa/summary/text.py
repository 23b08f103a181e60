"""A summary as text for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import counted, listed, share_text
from disentree.mimosa.summary.contents import Branch, Contents, Division, largest
from disentree.mimosa.summary.wording import columns_of, footnote, sentences, with_share


def text(found: Contents, full: bool = False) -> str:
    """The sentences, the tree and the footnote. Unless it is to be `full`, the tree fits on a screen, and what it
    cannot show is not told."""
    told = [_wrapped(sentence) for sentence in sentences(found)]
    notes = [_wrapped(note) for note in _notes(found, full)]
    return "\n".join([*told, "", *tree_lines(found, full), *([""] if notes else []), *notes])


def markdown(found: Contents, full: bool = False) -> str:
    """The same in paragraphs. No name in it ends the block of the tree, or is markup."""
    tree = "\n".join(tree_lines(found, full)).replace("`", "'")
    told = sentences(found)
    before, after = ([_plain(sentence) for sentence in some] for some in (told, _notes(found, full)))
    return "\n\n".join([*before, f"```\n{tree}\n```", *after])


def _notes(found: Contents, full: bool) -> list[str]:
    """What stands below the tree."""
    return [note for note in (*found.told, *(found.notes if full else ()), footnote(found)) if note]


def _plain(sentence: str) -> str:
    """One line of Markdown without markup."""
    return " ".join(sentence.split()).replace("`", "'").replace("<", "&lt;")


def tree_lines(found: Contents, full: bool = False) -> list[str]:
    """The tree, line by line: the divisions of a branch that save most bits first. Unless all of it is asked for,
    many variables are on one line, small branches too, and what is deepest is left out as far as needed."""
    if full:
        return _flat(_blocks(found.root, None)) or ["∅"]
    deepest = 1 + max((branch_depth(found.root, division) for _, division in found.divisions()), default=0)
    lines: list[str] = []
    for depth in range(deepest, 0, -1):
        lines = _flat(_blocks(found.root, depth)) or ["∅"]
        if len(lines) <= EXPLAIN.screen:
            break
    if len(lines) > EXPLAIN.screen:
        left = len(lines) - EXPLAIN.screen
        lines = [*lines[: EXPLAIN.screen], f"... {left} more lines"]
    return lines


def branch_depth(root: Branch, division: Division) -> int:
    """How many divisions are above one."""

    def look(branch: Branch, depth: int) -> int | None:
        for own in branch.divisions:
            if own is division:
                return depth
            for below in own.branches:
                if (found := look(below, depth + 1)) is not None:
                    return found
        return None

    return look(root, 0) or 0


def _wrapped(sentence: str) -> str:
    kept = sentence.replace(" %", "\N{NO-BREAK SPACE}%")  # a number and its sign stay together
    lines = textwrap.fill(kept, 100, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}", " ")


Block = tuple[str, list[str]]  # a line, and those below it


def _blocks(branch: Branch, depth: int | None) -> list[Block]:
    """The variables and divisions of a branch, down to a depth; None for all of it."""
    names = list(branch.variables)
    out: list[Block] = [(f"○ {name}", []) for name in names]
    if depth is not None and len(names) > EXPLAIN.listed_short:
        columns = list(dict.fromkeys(column for name in names for column in columns_of(name)))
        about = f": {listed(columns, EXPLAIN.listed)}" if columns else ""
        out = [(f"○ {counted(len(names), 'variable')}{about}", [])]
    for division in largest(branch.divisions):
        named = f" {division.name}" if division.name else ""
        if depth == 0:
            out.append((f"◇{named}: {counted(len(division.branches), 'branch', 'branches')} …", []))
        else:
            out.append((f"◇{named}", _options(division, None if depth is None else depth - 1)))
    return out


def _options(division: Division, depth: int | None) -> list[str]:
    """The lines of the branches of a division; those of few rows together on the last one."""
    small = [one for one in division.branches if depth is not None and one.rows and one.share < FIT.exceptions]
    small = small if len(small) > 1 else []
    shown: list[Block] = []
    for one in division.branches:
        if not any(one is other for other in small):
            blocks = _blocks(one, depth)
            weak = "" if one.found_again else "  (!)"
            shown.append((with_share(one) + ("" if blocks else " ∅") + weak, _marked(blocks)))
    if small:
        names = listed([one.name for one in small], EXPLAIN.listed_short)
        share = share_text(sum(one.share for one in small))
        shown.append((f"{counted(len(small), 'small branch', 'small branches')} ({share}): {names}", []))
    return _marked(shown)


def _marked(blocks: Sequence[Block]) -> list[str]:
    """Blocks one below the other, with branch marks."""
    lines = []
    for i, (head, below) in enumerate(blocks):
        last = i == len(blocks) - 1
        lines.append(("└── " if last else "├── ") + head)
        lines += [("    " if last else "│   ") + line for line in below]
    return lines


def _flat(blocks: Sequence[Block]) -> list[str]:
    """Blocks of the root, which have no marks."""
    return [line for head, below in blocks for line in (head, *below)]
