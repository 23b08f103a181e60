"""Committed results as the sources of numbers, read back and checked.

Folders of studies under `results/`, and JSON files that benchmarks wrote there, with their command and versions.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disentree.errors import UserError
from disentree.studies import get_study
from disentree.studies.running.folder import read_study
from disentree.studies.running.results import Row
from disentree.utils.versions import UNKNOWN, describe_build


class NoSource(UserError):
    """Results that a number would be taken from do not exist."""


@dataclass(frozen=True)
class Source:
    """The results of one study."""

    name: str  # the folder or file under `results/`
    about: dict[str, Any]  # the contents of study.json, or of the file
    # those of table.csv and times.csv, joined, with numbers as numbers and None in empty cells, and the columns
    # that the study derives; none of a file
    rows: list[Row]

    @property
    def build(self) -> str:
        """The version and, if it was recorded, the commit that all runs were made by."""
        versions = self.about["versions"]
        if versions.get("commit", UNKNOWN) == UNKNOWN:
            return f"{versions['disentree']} (commit not recorded)"
        return describe_build(versions)


def read_source(home: Path, name: str) -> Source:
    """A folder of a study or a JSON file under `home`; an error unless it is complete and made by one build."""
    folder = home / name
    if not folder.exists():
        raise NoSource(
            f"a number has no source: there is no {'folder' if folder.suffix == '' else 'file'} {folder}"
        )
    is_file = folder.is_file()
    about = json.loads(folder.read_text(encoding="utf-8")) if is_file else read_study(folder)
    if lacking := [key for key in ("command", "versions") if key not in about]:
        raise UserError(f"{folder} does not say by which {lacking[0]} it was made")
    for key in ("disentree", "commit"):
        if " and " in about["versions"].get(key, ""):
            raise UserError(
                f"{folder} was made by more than one build ({key} {about['versions'][key]}): make all of it anew "
                "with --force"
            )
    if about["versions"].get("commit", "").endswith("-dirty"):
        raise UserError(f"{folder} was made with uncommitted changes (commit {about['versions']['commit']})")
    if is_file:
        return Source(name, about, [])
    if open_runs := [run["name"] for run in about["runs"] if run["status"] != "done"]:
        raise UserError(f"{folder} is not complete: {len(open_runs)} runs are not done, the first {open_runs[0]}")
    times = {row["index"]: row for row in _read_table(folder / "times.csv")}
    rows = [{**times.get(row["index"], {}), **row} for row in _read_table(folder / "table.csv")]
    if [row["index"] for row in rows] != [run["index"] for run in about["runs"]]:
        raise UserError(f"{folder / 'table.csv'} does not list the runs of study.json")
    return Source(name, about, get_study(about["study"]).derive(rows))


def _read_table(path: Path) -> list[Row]:
    if not path.is_file():
        raise UserError(f"{path} is missing")
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return {"": None, "True": True, "False": False}.get(cell, cell)
