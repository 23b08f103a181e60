"""Tables in files that are read as a whole: sheets of .xlsx, .json and .jsonl, and SQLite and DuckDB databases.

What can be chosen in them, a sheet, a table or a query, is chosen by `table`; without it there must be only one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from disentree.datasets.files.csv_style import header_sentence, is_row_of_values, row_of_header
from disentree.datasets.files.formats import open_text, suffix_of
from disentree.datasets.files.wording import some_of
from disentree.errors import UserError
from disentree.utils.extras import needing

SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb",)
DATABASES = SQLITE + DUCKDB
WHOLE = (".xlsx", ".json", ".jsonl", *(f"{name}.gz" for name in (".json", ".jsonl")), *DATABASES)


def read_whole(path: Path, table: str | None = None, skip_rows: int | None = 0) -> tuple[Any, list[str]]:
    """The data frame in a file, and what is to be said about it. `table` is the name of a sheet or of a table of a
    database, or a query; `skip_rows` are rows above the header of a sheet, None for as many as there seem to be.
    """
    suffix = suffix_of(path)
    if suffix == ".xlsx":
        return _read_sheet(path, table, skip_rows)
    if suffix in DATABASES:
        return _read_database(path, table), []
    if table is not None:
        raise UserError(f"{path} is one table: --table is for sheets of .xlsx and tables of databases")
    return _read_json(path, lines="jsonl" in suffix), []


# ------------------------------------------------------------------ sheets


def _read_sheet(path: Path, name: str | None, skip_rows: int | None) -> tuple[Any, list[str]]:
    with needing(str(path)):
        import openpyxl  # noqa: F401
    import pandas

    with pandas.ExcelFile(path, engine="openpyxl") as book:
        names = [str(sheet) for sheet in book.sheet_names]
        if name is not None:
            _check_known(path, "sheet", name, names)
        wanted = names if name is None else [name]
        sheets: dict[str, Any] = {sheet: book.parse(sheet, header=None) for sheet in wanted}
    if name is None:
        full = [sheet for sheet in names if not sheets[sheet].empty]
        if not full:
            raise UserError(f"{path} is empty: no sheet has a cell")
        name = _only(path, "sheets", full)
    return _with_header(path, sheets[name], skip_rows)


def _with_header(path: Path, cells: Any, skip_rows: int | None) -> tuple[Any, list[str]]:
    """The rows of a sheet below its header, with the names that this gives to columns."""
    texts = [tuple("" if value != value else str(value) for value in row) for row in cells.head(1000).to_numpy()]
    guess = row_of_header(texts)
    if skip_rows is None:
        skip_rows = guess
    elif guess > skip_rows:
        raise UserError(header_sentence(path, guess))
    texts = texts[skip_rows:]
    if not texts:
        raise UserError(f"{path} has {len(cells)} rows, and --skip-rows {skip_rows} leaves none")
    if is_row_of_values(texts[0], texts[1:]):
        names = [f"column{j + 1}" for j in range(cells.shape[1])]
        notes = [f"the first row is a row of values: the columns are called column1 to column{len(names)}"]
    else:
        names, notes = _told_apart([text.strip() for text in texts[0]]), []
        skip_rows += 1
    frame = cells.iloc[skip_rows:].reset_index(drop=True)
    frame.columns = names
    unnamed = [name for name in names if name.startswith("Unnamed: ") and frame[name].isna().all()]
    return frame.drop(columns=unnamed).infer_objects(), notes


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names as pandas gives them: to columns without one, and to the second of twins."""
    out: list[str] = []
    for j, name in enumerate(names):
        own, k = name or f"Unnamed: {j}", 0
        new = own
        while new in out:
            k += 1
            new = f"{own}.{k}"
        out.append(new)
    return out


# ------------------------------------------------------------------ JSON


def _read_json(path: Path, lines: bool) -> Any:
    """Records, one by one or in a list, or columns by their names; objects in them become columns like `a.b`."""
    import pandas

    with open_text(path, "utf-8-sig") as file:
        if lines:
            found: Any = []
            for number, line in enumerate(file, start=1):
                if line.strip():
                    found.append(_parsed(line, f"{path}: line {number}"))
        else:
            found = _parsed(file.read(), str(path))
    if isinstance(found, dict) and {"columns", "data"} <= {*found}:
        return pandas.DataFrame(found["data"], columns=found["columns"])
    if isinstance(found, dict):
        tables = [value for value in found.values() if _is_records(value)]
        if len(tables) == 1 and not any(isinstance(v, list) for v in found.values() if v is not tables[0]):
            found = tables[0]  # records under a name, beside what is said about them
    if _is_records(found):
        return pandas.json_normalize(found)
    if isinstance(found, dict) and found and all(isinstance(v, list | dict) for v in found.values()):
        return pandas.DataFrame(found)
    what = "a list of records, as [{'a': 1, 'b': 2}, ...], or columns, as {'a': [1, ...], 'b': [2, ...]}"
    raise UserError(f"{path} must hold {'a record in each line' if lines else what}")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} is not JSON: {error}") from None


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(record, dict) for record in value)


# ------------------------------------------------------------------ databases


def _read_database(path: Path, table: str | None) -> Any:
    """A table of a database, or what a query gives."""
    if suffix_of(path) in SQLITE:
        # only for reading: a file that is not there must not come to be
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return _selected(path, connection, table)
    with needing(str(path)):
        import duckdb
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        return _selected(path, connection, table)


def _selected(path: Path, connection: Any, table: str | None) -> Any:
    import pandas

    catalog = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    query = table
    if table is None or table.split(maxsplit=1)[0].lower() not in ("select", "with"):
        names = [name for (name,) in connection.execute(catalog).fetchall()]
        if table is not None:
            _check_known(path, "table", table, names)
        name = _only(path, "tables", names) if table is None else table
        query = 'SELECT * FROM "{}"'.format(name.replace('"', '""'))
    cursor = connection.execute(query)
    return pandas.DataFrame(cursor.fetchall(), columns=pandas.Index([column[0] for column in cursor.description]))


def _only(path: Path, what: str, names: Sequence[str]) -> str:
    if not names:
        raise UserError(f"{path} has no {what}")
    if len(names) > 1:
        raise UserError(f"{path} has {len(names)} {what}, {some_of(map(repr, names))}: choose one with --table")
    return names[0]


def _check_known(path: Path, what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UserError(f"{path} has no {what} {name!r}; it has {some_of(map(repr, names))}")
