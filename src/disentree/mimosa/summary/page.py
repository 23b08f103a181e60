"""A summary as HTML, for reports and notebooks: its sentences, and its tree with reasons and support."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import counted, listed, share_text
from disentree.mimosa.explain.names import GENERIC_VARIABLE
from disentree.mimosa.summary.contents import Branch, Contents, Division, largest
from disentree.mimosa.summary.wording import columns_of, footnote, sentences


def page(found: Contents) -> str:
    """All of it, as a notebook shows it."""
    style = """<style>
.summary{max-width:60em} .summary ul{list-style:none;padding-left:1.2em;border-left:1px solid #8884;margin:.2em 0}
.summary p{margin:.3em 0} .summary .verdict{font-weight:600} .summary .reason,.summary .rule,.summary .free,
.summary .by,.summary .footnote,.summary .share,.summary .support{opacity:.75;font-size:.92em}
.summary .weak{color:#b00020;opacity:1}
</style>"""
    return f'<div class="summary">{style}{html_sentences(found)}{html_tree(found)}{html_footnote(found)}</div>'


def html_sentences(found: Contents) -> str:
    """The sentences, the first one as the head."""
    first, *rest = sentences(found)
    return f'<p class="verdict">{escape(first)}</p>' + "".join(f"<p>{escape(text)}</p>" for text in rest)


def html_footnote(found: Contents) -> str:
    """What the tree does not show, and the bits."""
    notes = [note for note in (*found.told, *found.notes, footnote(found)) if note]
    return "".join(f'<p class="footnote">{escape(note)}</p>' for note in notes)


def html_tree(found: Contents, examples: Mapping[int, str] | None = None) -> str:
    """The tree as nested lists; `examples` has by path the address of a picture of some of a leaf's images. What
    is inside the branches of a large tree is shown on request."""
    n = sum(len(division.branches) for _, division in found.divisions())
    folded = n > EXPLAIN.screen // 2
    inside = _inside(found.root, examples or {}, folded, root=True)
    return f'<div class="tree found">{inside or "<p>All rows are alike.</p>"}</div>'


def _inside(branch: Branch, examples: Mapping[int, str], folded: bool, root: bool = False) -> str:
    parts = [_free(branch, root)]
    if len(branch.divisions) > 1:
        head = f"{len(branch.divisions)} separate choices: each row is in one group of every list."
        parts.append(f'<p class="by">{head}</p>')
    lists = "".join(_division(one, i, examples, folded) for i, one in enumerate(largest(branch.divisions)))
    if lists and folded and not root:
        named = list(filter(None, map(_named, branch.divisions)))
        about = listed(named) if named else counted(len(branch.divisions), "choice")
        lists = f"<details><summary>Divided further: {escape(about)}</summary>{lists}</details>"
    return "".join(parts) + lists


def _free(branch: Branch, root: bool) -> str:
    """The variables of a branch: how many, and the columns that they are called by."""
    n = len(branch.variables)
    if not n:
        return ""
    columns = list(dict.fromkeys(column for name in branch.variables for column in columns_of(name)))
    where = "Rows differ in" if root else "Within it, rows differ in"
    about = f": {escape(listed(columns, 2 * EXPLAIN.listed))}" if columns else ""
    every = escape("; ".join(branch.variables))
    return f'<p class="free"><span title="{every}">{where} {counted(n, "variable")}{about}.</span></p>'


def _division(division: Division, i: int, examples: Mapping[int, str], folded: bool) -> str:
    head, name = "", _named(division)
    if name or division.support is not None:
        head = f'<p class="by">{escape(name or f"choice {i + 1}")} {_support(division.support)}</p>'
    if division.note:
        head += f'<p class="reason">{escape(division.note)}</p>'
    options = "".join(_option(one, examples, folded) for one in division.branches)
    return f'<div class="split">{head}<ul>{options}</ul></div>'


def _named(division: Division) -> str:
    """The name of a division, if it says something."""
    return "" if GENERIC_VARIABLE.fullmatch(division.name) else division.name


def _option(branch: Branch, examples: Mapping[int, str], folded: bool) -> str:
    code = f' title="in the files of the run: {escape(branch.code)}"' if branch.code else ""
    name = f"<b{code}>{escape(branch.name)}</b>"
    share = ""
    if branch.rows:
        bar = f'<span class="fill" style="width:{5 * branch.share:.1f}em"></span>'
        rows = f'<span title="{branch.rows:,} rows">{share_text(branch.share)} of rows</span>'
        rows = "" if branch.name.endswith(" %)") else rows  # it is said already
        share = f' <span class="share">{bar}{rows}</span>'
    parts = [f'<div class="head">{name}{share} {_support(branch.support)}</div>']
    if branch.path is not None and (picture := examples.get(branch.path)):
        parts.append(f'<img class="examples" src="{escape(picture)}" alt="Images of {escape(branch.name)}">')
    parts += [
        f'<p class="{kind}">{escape(said)}</p>'
        for kind, said in (("reason", branch.reason), ("rule", branch.rule))
        if said
    ]
    return f"<li>{''.join(parts)}{_inside(branch, examples, folded)}</li>"


def _support(support: float | None) -> str:
    if support is None:
        return ""
    weak = Branch("", support=support).found_again
    kind, word = ("support", "support") if weak else ("support weak", "weak support")
    title = "How far parts of the rows bring it back."
    return f'<span class="{kind}"><span title="{title}">{word}</span> {support:.0%}</span>'
