"""The results of a study as rows, means and sections of a report."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disentree.studies.running.options import Options
from disentree.studies.running.task import Task
from disentree.utils.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure of a report."""

    name: str  # of the file
    caption: str
    draw: Callable[[], Figure] | Path  # or one that is drawn already


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    text: Sequence[str] = ()  # paragraphs
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numbers: Sequence[int] = ()  # columns to align to the right
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Results:
    """The finished runs of a study, in the order of its list."""

    options: Options
    folder: Path
    tasks: Sequence[Task]
    found: Mapping[int, Mapping[str, Any]]  # by index: what result.json holds
    failed: Mapping[int, str] = field(default_factory=dict)  # by index: the error

    @cached_property
    def rows(self) -> list[Row]:
        """One for each finished run: its columns and its values."""
        return [
            {"index": i, **self.tasks[i].columns, **result["values"]} for i, result in sorted(self.found.items())
        ]

    def run_folder(self, row: Row) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / self.tasks[row["index"]].name

    def seconds(self, row: Row) -> Mapping[str, Any]:
        """How long a run took, in total and by stage."""
        return self.found[row["index"]]["seconds"]

    def where(self, **columns: Any) -> list[Row]:
        """The rows with these values in these columns."""
        return [row for row in self.rows if all(row.get(key) == value for key, value in columns.items())]

    def values(self, of: str, **columns: Any) -> list[float]:
        """The values `of` the runs that match, without missing ones."""
        rows = self.where(**columns)
        return [float(row[of]) for row in rows if isinstance(row.get(of), int | float)]

    def mean(self, of: str, **columns: Any) -> float:
        """Their mean."""
        return mean(self.values(of, **columns))

    def spread(self, of: str, places: int = 3, **columns: Any) -> str:
        """Their mean ± standard deviation."""
        return spread(self.values(of, **columns), places)

    def levels(self, column: str) -> list[Any]:
        """The values of a column, in the order of the list."""
        return list(dict.fromkeys(task.columns[column] for task in self.tasks if column in task.columns))

    def groups(self, *columns: str) -> Iterator[tuple[dict[str, Any], list[Row]]]:
        """Finished runs by the values of some columns, each in the order of its levels: these values, the rows."""
        for values in itertools.product(*map(self.levels, columns)):
            here = dict(zip(columns, values, strict=True))
            if rows := self.where(**here):
                yield here, rows


def mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float]) -> float:
    """The standard deviation with n - 1, as in the paper: its 2.40 ± .89 are four trees with 2 errors and one
    with 4."""
    if len(values) < 2:
        return 0.0 if values else math.nan
    center = mean(values)
    return math.sqrt(math.fsum((v - center) ** 2 for v in values) / (len(values) - 1))


def spread(values: Sequence[float], places: int = 3) -> str:
    """Mean ± standard deviation as text; a single value as it is."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{places}f}"
    return f"{mean(values):.{places}f} ± {deviation(values):.{places}f}"


MARGIN = 0.02
COUNTS = (
    "A difference of means counts if it is above the pooled standard deviation over seeds; one of single runs, if "
    "it is above .02."
)


def rise(a: Sequence[float], b: Sequence[float]) -> int:
    """1 if `a` is higher than `b`, -1 if it is lower, 0 if the difference does not count."""
    degrees = len(a) + len(b) - 2
    squares = (len(a) - 1) * deviation(a) ** 2 + (len(b) - 1) * deviation(b) ** 2
    margin = math.sqrt(squares / degrees) if degrees else MARGIN
    difference = mean(a) - mean(b)
    return (difference > margin) - (difference < -margin)


def change(a: Sequence[float], b: Sequence[float]) -> str:
    """How much higher `a` is than `b`, as text; empty where one of them is missing."""
    if not a or not b:
        return ""
    return f"{mean(a) - mean(b):+.3f}, {('about equal', 'higher', 'lower')[rise(a, b)]}"


def write_tables(results: Results, folder: Path) -> None:
    """Write `table.csv` with a row for each run, and `times.csv`.

    `table.csv` does not depend on where the runs were made. With pyarrow, both are written as parquet too.
    """
    _write_table(folder / "table.csv", [_table_row(row) for row in results.rows])
    times = []
    for i, result in sorted(results.found.items()):
        seconds = result["seconds"]
        times.append(
            {"index": i, **results.tasks[i].columns, "seconds": seconds["total"]}
            | {f"{stage}_seconds": s for stage, s in seconds["stages"].items()}
            | {f"structure: {step}": s for step, s in seconds["structure"].items()}
        )
    _write_table(folder / "times.csv", times)


def _table_row(row: Row) -> Row:
    """A row of plain cells: scores of single variables get columns of their own."""
    out, single = {}, {}
    for key, value in row.items():
        if isinstance(value, dict):
            score = {"factors": "r4c", "r4_factors": "r4"}[key]
            single |= {f"{score}: {name}": number for name, number in value.items()}
        else:
            out[key] = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return out | single


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    # what single variables or steps have is last, also when the first row has none of it
    names = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: ": " in name)
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return
    columns = {name: _one_type([row.get(name) for row in rows]) for name in names}
    with atomic_path(path.with_suffix(".parquet")) as temporary:
        parquet.write_table(pyarrow.table(columns), str(temporary))


def _one_type(values: Iterable[Any]) -> list[Any]:
    """A column for a typed file: text if any of it is text."""
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {str} or kinds <= {bool}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
