"""Tables as people export them, and what their columns hold in truth."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Made(NamedTuple):
    """A file, and what is known about it.

    `truth` has the values of numeric columns by name, if whoever accepts the file must find these; `refused` is
    set where names and values do not agree, so that nobody can know which column is which.
    """

    path: Path
    truth: dict[str, np.ndarray] | None = None
    refused: bool = False


NAMES = [
    "a",
    "b c",
    "größe",
    "x=1",
    "1",
    "2.5",
    "Unnamed: 0",
    "path",
    "NaN",
    "A\nB",
    '"q"',
    "=1+1",
    "<b>",
    "e,f",
    "'",
]


def column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of a kind that tables have."""
    kind = rng.integers(-12, 10)
    if kind < 4:
        return rng.normal(size=n)
    if kind == 4:
        return rng.integers(-5, 5, n).astype(float)
    if kind == 5:
        return rng.normal(size=n) * 10.0 ** float(rng.integers(-200, 200))
    if kind == 6:
        return 10.0 ** float(rng.integers(6, 16)) + np.arange(n) % 7
    if kind == 7:
        return np.arange(n, dtype=float)
    if kind == 8:
        return np.where(np.arange(n) == n // 2, 10.0 ** float(rng.integers(2, 300)), rng.random(n))
    return np.full(n, 3.0)


def columns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    n, width = int(rng.choice([100, 130, 130, 150, 150, 170, 170, 3])), int(rng.integers(1, 6))
    names = rng.permutation(NAMES)[:width] if rng.random() < 0.4 else [f"c{j}" for j in range(width)]
    return {str(name): column(rng, n) for name in names}


def make_csv(rng: np.random.Generator, folder: Path) -> Made:
    """A .csv or .tsv in one of many dialects."""
    truth = columns(rng)
    n = len(next(iter(truth.values())))
    suffix = str(rng.choice([".csv", ".csv", ".csv", ".tsv", ".CSV"]))
    sep = "\t" if suffix == ".tsv" else str(rng.choice([",", ",", ";", "\t"]))
    decimal = "," if sep == ";" and rng.random() < 0.5 else "."
    cells = {name: [repr(float(v)).replace(".", decimal) for v in values] for name, values in truth.items()}
    if rng.random() < 0.3:
        word = str(rng.choice(["", "NA", "nan", "NULL", "-", "n/a", "?", "."]))
        name = str(rng.choice(list(cells)))
        for row in rng.integers(0, n, n // 20 or 1):
            cells[name][row] = word
            truth[name] = np.where(np.arange(n) == row, np.nan, truth[name])
    if rng.random() < 0.2:
        cells["text"] = [str(rng.choice(["x", "y y", "z,z", 'w"w', "ü"])) for _ in range(n)]
    if rng.random() < 0.2:
        cells["truth value"] = [str(rng.choice(["True", "False"])) for _ in range(n)]
    if rng.random() < 0.2:
        cells["price"] = [f"${value:,.2f}" for value in rng.lognormal(8, 1, n)]
    if rng.random() < 0.2:
        cells["day"] = [str(day)[:10] for day in np.datetime64("2020-01-01") + rng.integers(0, 999, n)]
    if rng.random() < 0.2:
        cells["kind"] = [str(rng.choice(["a", "b", "", "c d"])) for _ in range(n)]
    if rng.random() < 0.1:
        cells["nothing"] = [""] * n
    header = list(cells)
    lines = [list(row) for row in zip(*cells.values(), strict=True)]
    refused = False
    fault = rng.choice(
        ["none"] * 6 + ["no header", "short header", "short header", "long line", "trailing", "index"]
    )
    if fault == "no header":
        header = lines.pop(0)
    elif fault == "short header" and len(header) > 1:
        refused = any(cells[header[-1]])  # else its separators are only at the end of lines
        header = header[:-1]
    elif fault == "long line":
        lines[int(rng.integers(len(lines)))].append("7")
        refused = True
    elif fault == "trailing":
        lines = [[*line, ""] for line in lines]
    elif fault == "index":
        header, lines = ["", *header], [[str(i), *line] for i, line in enumerate(lines)]
    buffer = io.StringIO()
    quoting = csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, delimiter=sep, quoting=quoting, lineterminator=str(rng.choice(["\n", "\r\n"])))
    writer.writerow(header)
    for line in lines:
        if rng.random() < 0.01:
            buffer.write("\n")
        writer.writerow(line)
    encoding = str(rng.choice(["utf-8"] * 14 + ["utf-8-sig", "latin-1", "utf-16"]))
    path = folder / f"t{suffix}"
    path.write_bytes(buffer.getvalue().encode(encoding, "replace"))
    known = fault != "no header" and encoding != "latin-1"
    return Made(path, truth if known and not refused else None, refused)


def make_parquet(rng: np.random.Generator, folder: Path) -> Made:
    """A .parquet with columns of many types."""
    truth = columns(rng)
    frame = pd.DataFrame(truth)
    n = len(frame)
    for name in list(truth):
        kind = rng.integers(8)
        if kind == 0 and np.abs(truth[name]).max() < 1e6:
            truth[name] = np.round(truth[name])
            frame[name] = pd.array(truth[name].astype(int), dtype="Int64")
        elif kind == 1 and np.abs(truth[name]).max() < 1e30:
            frame[name] = truth[name] = truth[name].astype(np.float32).astype(np.float64)
    if rng.random() < 0.5:
        frame["when"] = pd.date_range("2020", periods=n)
    if rng.random() < 0.3:
        frame["kind"] = pd.Categorical(rng.choice(["x", "y"], n))
    if rng.random() < 0.2:
        frame["lists"] = [[1, 2]] * n
    if rng.random() < 0.3:
        frame.index = pd.Index(rng.random(n), name="index")
    path = folder / "t.parquet"
    frame.to_parquet(path)
    return Made(path, truth)
