"""`disentree check`: what would be read from a file, and what a run would do with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.cli.options import FILE_OPTIONS, with_data_options
from disentree.cli.tables import print_table
from disentree.errors import UserError

if TYPE_CHECKING:
    from disentree.datasets import UserData
    from disentree.tables import Column


@with_data_options(FILE_OPTIONS)
def check(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file or folder as for `disentree run`.")],
    data_options: dict[str, Any],
) -> None:
    """Show what would be read from a file: columns, kinds, empty cells, what is left out and what is transformed.

    Takes seconds, whatever the size: of a large file, the first rows. Nothing is written.
    """
    from disentree.datasets.files.sampling import check_file
    from disentree.datasets.files.user_files import options_of

    if file.exists():
        what, known = options_of(file)
        if wrong := [name for name in data_options if name not in known]:
            raise UserError(f"--{wrong[0].replace('_', '-')} does not apply: {file} is {what}")
    data, about = check_file(file, **data_options)
    print(about)
    if data.schema is not None:
        print()
        print_table(
            ("column", "read as", "empty", "note"), [_row(c) for c in data.schema.columns], numbers=("empty",)
        )
    print()
    for sentence in data.policy:
        print(sentence)
    print(_plan(data, file))


def _row(column: Column) -> tuple[str, str, str, str]:
    notes = [column.note] if column.note else []
    if column.values_in_words:
        notes.append(column.values_in_words)
    if column.transform != "none":
        notes.append(column.transform_in_words)
    kind = column.kind if column.used else f"left out ({column.kind})"
    return column.name, kind, f"{column.n_empty:,}" if column.n_empty else "", "; ".join(notes)


def _plan(data: UserData, file: Path) -> str:
    """What a run would do, and how to have it otherwise."""
    from disentree.runs.steps.data import FEWEST_ROWS

    if len(data) < FEWEST_ROWS:
        raise UserError(f"{file} has {len(data)} usable rows; at least {FEWEST_ROWS} are needed")
    size = f"{data.X.shape[1]} features" if data.X.ndim == 2 else f"images of {data.X.shape[1]}x{data.X.shape[2]}"
    plan = f"\n`disentree run {file} --out FOLDER` would find the tree of these rows ({size})."
    if data.schema is None:
        return plan
    return f"{plan}\nOther kinds: --types COLUMN=KIND; leave out: --drop COLUMN; logarithm: --log COLUMN."
