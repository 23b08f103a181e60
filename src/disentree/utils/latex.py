"""Tables for papers: LaTeX with the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SPECIAL = {
    **{c: rf"\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "²": "$^2$",
    "β": r"$\beta$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
    "–": "--",
}


def escaped(text: str) -> str:
    """Plain text as LaTeX prints it."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def latex_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    *,
    caption: str = "",
    label: str = "",
) -> str:
    """A table in booktabs' style; the columns in `numbers` are aligned to the right."""
    lines = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    columns = "".join("r" if j in numbers else "l" for j in range(len(header)))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
            *([rf"\label{{tab:{label}}}"] if label else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(escaped, header)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
