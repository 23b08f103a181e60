"""How a text table is written: its encoding, separator and decimal mark, and whether its first line has names.

The cells at the head of the file decide, so semicolons may stand beside decimal points or decimal commas.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from disentree.datasets.files.formats import open_bytes, open_text, suffix_of
from disentree.errors import UserError
from disentree.tables.cells import EMPTY_WORDS, decimal_votes, read_cell

HEAD = 1000  # records that decide
LONGEST_FIELD = 2**20  # characters of a cell; csv's own limit of 131,072 is less than some tables hold
SEPARATORS = "\t;|,"  # the comma last: numbers and sentences have commas too
MOST_COLUMNS = 100_000  # of a table, each of which is looked at for itself
MOSTLY = 0.9  # of the cells of a column that must be numbers, for the cell above them to be a number or a name
MOST_TITLES = 20  # rows above the header
MANY_NAMES = 8  # as many increasing numbers are the names of columns, such as wavelengths, and no row of values
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class CsvStyle:
    """How a .csv or .tsv is written."""

    separator: str
    decimal: str
    encoding: str
    header: tuple[str, ...]  # the first record, be it names or values
    first: tuple[str, ...]  # the record after it
    has_names: bool  # whether the first record holds the names of the columns
    notes: tuple[str, ...]  # one sentence for everything about it that is not usual
    skip_rows: int = 0  # lines above the first record

    @property
    def names(self) -> list[str] | None:
        """Names that columns get if they have none in the file."""
        return None if self.has_names else [f"column{i + 1}" for i in range(len(self.header))]

    def for_pandas(self) -> dict[str, Any]:
        """Arguments of `pandas.read_csv`. Before version 3 its numbers are exact only if it is told so."""
        exact = {"float_precision": "round_trip"}
        common = {"sep": self.separator, "decimal": self.decimal, "encoding": self.encoding, **exact}
        common |= {"skiprows": self.skip_rows} if self.skip_rows else {}
        return common if self.has_names else {**common, "header": None, "names": self.names}


def csv_style(path: Path, skip_rows: int | None = 0) -> CsvStyle:
    """How a file is written, by its encoding mark and its first records; an error if it is not text. `skip_rows`
    are lines above the header, None for as many as there seem to be."""
    encoding, notes = _encoding_of(path)
    with open_text(path, encoding) as file:
        lines = list(islice(file, 2 * HEAD))
    given = 0 if skip_rows is None else skip_rows
    if given and given >= len(lines):
        raise UserError(f"{path} has {len(lines)} lines, and --skip-rows {given} leaves none")
    is_tsv = suffix_of(path).startswith(".tsv")
    skip = given + _lines_above(lines[given:], is_tsv)
    if skip > given and skip_rows is not None:
        raise UserError(header_sentence(path, skip))
    lines = [line for line in lines[skip:] if line.strip()][:HEAD]
    separator = "\t" if is_tsv else _separator_of(lines)
    records = _records(lines, separator)
    header, body = (records[0] if records else ()), records[1:]
    check_width(len(header), path)
    has_names = not body or not is_row_of_values(header, body)
    if not has_names:
        notes.append(f"the first line is a row of values: the columns are called column1 to column{len(header)}")
    elif body and (remark := _doubt(header)):
        notes.append(remark)
    cells = body if has_names else records
    decimal, remark = _decimal_of(cells, separator)
    notes += [remark] if remark else []
    first = body[0] if body else ()
    return CsvStyle(separator, decimal, encoding, header, first, has_names, tuple(notes), skip)


def check_width(n_columns: int, path: Path) -> None:
    """Refuse a table of so many columns that it must be an array."""
    if n_columns > MOST_COLUMNS:
        raise UserError(f"{path} has {n_columns:,} columns, a table at most {MOST_COLUMNS:,}: save it as .npy")


def header_sentence(path: Path, n_above: int) -> str:
    """What is said about a table with titles above its header."""
    return f"{path}: row {n_above + 1} looks like the header: --skip-rows {n_above}"


def row_of_header(records: Sequence[Sequence[str]]) -> int:
    """How many records at the head are titles: they have fewer values than there are columns, and below them is a
    record of different names above all columns, or all but the first. 0 if there is none, or it is no header.

    Examples
    --------
    >>> row_of_header([("Report", "", ""), ("", "", ""), ("id", "x", "y"), ("1", "2", "3"), ("2", "5", "1")])
    2
    """
    filled = [sum(bool(cell.strip()) for cell in record) for record in records]
    width = max(filled, default=0)
    whole = (n + (bool(own) and not own[0].strip()) >= width for n, own in zip(filled, records, strict=True))
    above = next((k for k, is_whole in enumerate(whole) if is_whole), 0)
    below = records[above + 1 :]
    if width < 2 or not below or not 0 < above <= MOST_TITLES:
        return 0
    names = [cell.strip() for cell in records[above] if cell.strip()]
    are_names = len(set(names)) == len(names) and all(read_cell(name) is None for name in names)
    # a name that is missing makes no title, unless the row below is surely one of names
    are_titles = all(2 * n <= width for n in filled[:above]) or any(read_cell(c) is not None for c in below[0])
    return above if are_names and are_titles and not is_row_of_values(records[above], below) else 0


def _lines_above(lines: Sequence[str], is_tsv: bool) -> int:
    """Lines of titles above the header, with those that are blank."""
    written = [k for k, line in enumerate(lines) if line.strip()][:HEAD]
    if len(written) < 3:
        return 0
    some = [lines[k].rstrip("\r\n") for k in written]
    # that of the end: titles may have commas of their own
    separator = "\t" if is_tsv else _separator_of(some[len(some) // 2 :])
    records = [_records([line], separator) for line in some[: MOST_TITLES + 1]]
    whole = [own[0] if own else () for own in records]
    above = row_of_header([*whole, *_records(some[MOST_TITLES + 1 :], separator)])
    return written[above] if above else 0


def _encoding_of(path: Path) -> tuple[str, list[str]]:
    """The encoding by which the whole file can be read, and what is to be said about it."""
    with open_bytes(path) as file:
        start = file.read(4)
        marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
        file.seek(0)
        if _reads_as(marked or "utf-8", file, path) or marked:
            return marked or "utf-8", ["the text is UTF-16"] if marked == "utf-16" else []
        file.seek(0)
        if any(byte < 32 and byte not in b"\t\n\r\f" for byte in file.read(2**16)):
            raise UserError(f"{path} is not text: save it as UTF-8")
        file.seek(0)
        _reads_as("latin-1", file, path)
    return "latin-1", ["the text is not UTF-8 and was read as Latin-1: letters with accents may be wrong"]


def _reads_as(encoding: str, file: Any, path: Path) -> bool:
    """Whether a file is text of an encoding; an error if it has NUL characters, at which numbers end,
    or cells that are longer than any text."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines, run, problem = 1, 0, ""  # `run`: characters since the last one that may end a cell
    try:
        while block := file.read(2**20):
            text = decoder.decode(block)
            if (at := text.find("\0")) >= 0:
                line = n_lines + text.count("\n", 0, at)
                problem = problem or f"line {line} has a NUL character, which is no text: remove it"
            n_lines += text.count("\n")
            end = max(text.rfind(mark) for mark in ("\n", "\r", *SEPARATORS))
            run = run + len(text) if end < 0 else len(text) - 1 - end
            if run > LONGEST_FIELD:
                problem = problem or f"line {n_lines} has a cell of more than {LONGEST_FIELD:,} characters"
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    if problem:
        raise UserError(f"{path}: {problem}")
    return True


class _LongCell(UserError):
    """A cell that is longer than any text."""


def _records(lines: Sequence[str], separator: str) -> list[tuple[str, ...]]:
    limit = csv.field_size_limit(LONGEST_FIELD)
    try:
        found = [tuple(record) for record in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        if "field limit" in str(error):
            raise _LongCell(f"a cell has more than {LONGEST_FIELD:,} characters") from None
        # a quote that is never closed; pandas says what is wrong
        found = [tuple(line.rstrip("\r\n").split(separator)) for line in lines]
    finally:
        csv.field_size_limit(limit)
    return [record for record in found if any(map(str.strip, record))]


def _separator_of(lines: Sequence[str]) -> str:
    """What divides every line into as many fields, or else the most frequent candidate of the first line."""
    head = lines[0] if lines else ""
    for separator in SEPARATORS:
        try:
            widths = {len(record) for record in _records(lines, separator)}
        except _LongCell:  # a line of many cells, if another separator is the right one
            continue
        if len(widths) == 1 and widths.pop() > 1:
            return separator
    if not any(s in head for s in SEPARATORS) and all(_is_cell(line) for line in lines[1:]):
        return "\t"  # one column of numbers, perhaps with decimal commas
    return max(",;\t|", key=head.count)  # the comma if none of them is there


def _is_cell(line: str) -> bool:
    text = line.strip().strip('"')
    return read_cell(text) is not None or text.lower() in EMPTY_WORDS


def is_row_of_values(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first record is a row of values.

    It is if columns of numbers have a number in it, unless these numbers are plausible names, such as years; and
    if columns of text have a text in it that comes again below.
    """
    names: list[float] = []
    n_texts = n_repeated = 0
    inside = True  # the range of its column
    for j, name in enumerate(header):
        column = (record[j].strip() for record in body if j < len(record))
        there = [cell for cell in column if cell.lower() not in EMPTY_WORDS]
        values = [value for value in map(read_cell, there) if value is not None]
        number = read_cell(name)
        if len(values) > MOSTLY * len(there):
            if number is None:
                return False
            names.append(number)
            inside &= min(values) <= number <= max(values)
        elif name.strip() and there:
            n_texts += 1
            n_repeated += name.strip() in there
    if n_texts and n_repeated == n_texts:
        return True
    if not names or _counts(names):
        return False
    steps = [b - a for a, b in pairwise(names)]
    increasing = bool(steps) and min(steps) > 0
    even = increasing and max(steps) - min(steps) <= 1e-9 * abs(names[-1])
    return not (increasing and len(names) >= MANY_NAMES) and not (even and not inside)


def _counts(numbers: Sequence[float]) -> bool:
    """Whether these are 0, 1, 2 ... or 1, 2, 3 ..., as data frames and spreadsheets number their columns."""
    return list(numbers) in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))


def _doubt(header: Sequence[str]) -> str | None:
    names = [read_cell(name) for name in header if name.strip()]
    numbers = [name for name in names if name is not None]
    if not numbers or len(numbers) < len(names) or _counts(numbers):
        return None
    return "the names of all columns are numbers: if the first line is a row of values, add one with names"


def _decimal_of(records: Sequence[Sequence[str]], separator: str) -> tuple[str, str | None]:
    """The decimal mark of most cells, and a remark if it is not the usual one of the separator."""
    votes = decimal_votes(cell for record in records for cell in record)
    commas, points = votes[","], votes["."]
    if commas and points:
        return "," if commas > points else ".", "some columns have decimal commas and some have decimal points"
    if commas:
        return ",", None
    if points or not votes["?,"] or separator != ";":
        return ".", None
    return ",", "commas in numbers were read as decimal commas"
