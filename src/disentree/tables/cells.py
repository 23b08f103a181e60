"""Numbers as people write them: "$1,001.50", "5%", "1.234,5", "(12)", and the words for an empty cell.

Whether a comma is a decimal mark or separates thousands is decided by all cells of a column together: "1,5" and
"0,123" can only be decimals, "1,234,567" only thousands, and "1,234" alone is either. Units are not guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

EMPTY_WORDS = frozenset({
    "", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "?", "n/a", "na", "n.a.", "n.a", "#n/a", "#na",
    "nan", "null", "none", "nil", "missing", "unknown", "not available", "<na>", "#value!", "#div/0!",
    "inf", "-inf",
})  # fmt: skip
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2019": "'"})
_CELL = re.compile(
    r"(?P<sign>[-+]?) ?(?P<before>[$€£¥]?) ?(?P<sign2>[-+]?)(?P<body>\d[\d.,' ]*|[.,]\d+)"
    r"(?P<exponent>[eE][-+]?\d+)? ?(?P<percent>%?) ?(?P<after>[$€£¥]?)"
)
_GROUPS = {mark: re.compile(rf"\d{{1,3}}({re.escape(mark)}\d{{2,3}})*{re.escape(mark)}\d{{3}}") for mark in ",. '"}
_EITHER = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")  # decimals or thousands, who knows


class Numbers(NamedTuple):
    """A column of text as numbers."""

    values: Float[np.ndarray, " n"]  # NaN where a cell is empty
    note: str  # what was read as what, in a phrase; "" if the cells were plain numbers


class _Cell(NamedTuple):
    """A cell that looks like a number: its digits and marks, and what stood around them."""

    body: str
    decimal: str  # "," or "." if that is sure, "?," or "?." if it may separate thousands, "" if it has no mark
    negative: bool
    exponent: str
    unit: str  # "%", a currency, or ""
    in_brackets: bool


def read_cells(column: Any, decimal: str | None = None, strict: bool = True) -> Numbers | None:
    """A column of text as numbers; None if it is not numeric beyond doubt: it has other cells, no number at all,
    numbers of several units, or marks that contradict each other.

    `decimal` is the decimal mark where the cells do not tell; None is a point. If not `strict`, cells that are
    neither a number nor a word for an empty cell are empty.

    Examples
    --------
    >>> import pandas as pd
    >>> read_cells(pd.Series(["$1,001.50", "-", "12"]))
    Numbers(values=array([1001.5, nan, 12. ]),
            note="'-' read as empty, '$' and thousands separators left out")
    >>> read_cells(pd.Series(["12 cm", "13 cm"])) is None
    True
    """
    codes, words = _distinct(column)
    cells: list[_Cell | None] = []
    empty: Counter[str] = Counter()
    n_of = np.bincount(codes[codes >= 0], minlength=len(words))
    n_other, other = 0, ""
    for word, n in zip(words, n_of, strict=True):
        text = str(word).translate(_SPACES).strip()
        cell = None if text.lower() in EMPTY_WORDS else _cell(text)
        if cell is None and text.lower() not in EMPTY_WORDS:
            if strict:
                return None
            n_other, other = n_other + int(n), other or text
        elif cell is None and text:
            empty[text] += int(n)
        cells.append(cell)
    found = [cell for cell in cells if cell is not None]
    mark = _decimal_mark(found, decimal)
    if not found or mark is None or len({cell.unit for cell in found} - {""}) > 1:
        return None
    if any(cell.unit == "%" for cell in found) and not all(cell.unit == "%" for cell in found):
        return None  # 5% and 0.05
    values = np.array([np.nan if cell is None else _value(cell, mark) for cell in cells] + [np.nan])
    numbers = values[codes]  # -1, an empty cell, is the last
    numbers[~np.isfinite(numbers)] = np.nan
    note = _note(found, mark, empty)
    if n_other:
        note = ", ".join(filter(None, (note, f"{n_other:,} cells that are no numbers ({other!r}) read as empty")))
    return Numbers(numbers, note)


def decimal_votes(cells: Iterable[str]) -> Counter[str]:
    """How many cells are numbers with a sure decimal comma (","), a sure point ("."), or either ("?,", "?.")."""
    found = (_cell(str(word).translate(_SPACES).strip()) for word in cells)
    return Counter(cell.decimal for cell in found if cell is not None and cell.decimal)


def read_cell(text: str) -> float | None:
    """The number in one cell; None if it is none."""
    cell = _cell(text.translate(_SPACES).strip())
    return None if cell is None else _value(cell, cell.decimal.strip("?") or ".")


def _distinct(column: Any) -> tuple[np.ndarray, Any]:
    import pandas as pd

    return pd.factorize(pd.Series(column))


def _cell(text: str) -> _Cell | None:
    in_brackets = text.startswith("(") and text.endswith(")")
    found = _CELL.fullmatch(text[1:-1].strip() if in_brackets else text)
    if found is None or (found["sign"] and found["sign2"]) or (found["before"] and found["after"]):
        return None
    body, sign = found["body"].strip(), found["sign"] + found["sign2"]
    unit = found["percent"] + found["before"] + found["after"]
    for mark in " '":
        if mark in body:
            whole = re.split(r"[.,]", body, maxsplit=1)[0]
            if not _GROUPS[mark].fullmatch(whole) or mark in body[len(whole) :]:
                return None
            body = body.replace(mark, "")
            decimal = next((m for m in ",." if m in body), "")
            return (
                None if len(unit) > 1 else _Cell(body, decimal, "-" in sign, found["exponent"] or "", unit, False)
            )
    decimal = _decimal_in(body)
    if decimal is None or len(unit) > 1 or (in_brackets and sign):
        return None
    return _Cell(body, decimal, "-" in sign or in_brackets, found["exponent"] or "", unit, in_brackets)


def _decimal_in(body: str) -> str | None:
    """The decimal mark that one number has, see `_Cell`; None if it is no number."""
    n_commas, n_points = body.count(","), body.count(".")
    if not n_commas and not n_points:
        return "" if not (len(body) > 1 and body[0] == "0") or not body.strip("0") else None  # 007 is a code
    if n_commas and n_points:
        last = "," if body.rfind(",") > body.rfind(".") else "."
        whole, _, _ = body.partition(last)
        return last if body.count(last) == 1 and _GROUPS["," if last == "." else "."].fullmatch(whole) else None
    mark = "," if n_commas else "."
    if body.count(mark) > 1:
        return ("." if mark == "," else ",") if _GROUPS[mark].fullmatch(body) else None
    return f"?{mark}" if _EITHER.fullmatch(body) else mark


def _decimal_mark(cells: Iterable[_Cell], hint: str | None) -> str | None:
    """The decimal mark of a column, "both" if each cell has its own, None if that is in doubt."""
    cells = list(cells)
    kinds = {cell.decimal for cell in cells}
    sure = kinds & {",", "."}
    unsure = kinds & {"?,", "?."}
    if len(sure) == 2:  # a single mark may separate thousands only if some cell shows that there are such
        grouped = any(cell.body.count(",") + cell.body.count(".") > 1 for cell in cells)
        return None if unsure and grouped else "both"
    if sure:
        return sure.pop()
    if hint is None and len(unsure) == 2:
        return None
    return hint or "."


def _value(cell: _Cell, mark: str) -> float:
    decimal = cell.decimal.strip("?") or "." if mark == "both" else mark
    thousands = "," if decimal == "." else "."
    value = float(cell.body.replace(thousands, "").replace(decimal, ".") + cell.exponent)
    return -value if cell.negative else value


def _note(cells: list[_Cell], mark: str, empty: Counter[str]) -> str:
    notes = []
    if empty:
        words = [repr(word) for word, _ in empty.most_common(3)] + ["..."] * (len(empty) > 3)
        notes.append(f"{', '.join(words)} read as empty")
    left_out = [repr(unit) for unit in sorted({cell.unit for cell in cells} - {"", "%"})]
    thousands = {".": ",", ",": "."}.get(mark, "")
    if any(thousands and thousands in cell.body for cell in cells):
        left_out.append("thousands separators")
    if left_out:
        notes.append(f"{' and '.join(left_out)} left out")
    if any(cell.unit == "%" for cell in cells):
        notes.append("in percent")
    if mark == "both":
        notes.append("decimal commas and decimal points")
    elif mark == "," and any("," in cell.body for cell in cells):
        notes.append("decimal commas")
    if bracket := next((cell for cell in cells if cell.in_brackets), None):
        notes.append(f"({bracket.body}) read as -{bracket.body}")
    return ", ".join(notes)
