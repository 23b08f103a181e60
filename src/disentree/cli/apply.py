"""`disentree apply`: paths and codes for every row of a file, however large."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disentree.cli.options import Address, Device, Force, RunFolder
from disentree.errors import UserError


def apply(
    run: RunFolder,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Rows in any format that `disentree run` reads."),
    ],
    out: Annotated[
        Path, typer.Option(help="A .csv or .parquet for paths, leaves and codes; a .npy for codes only.")
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of FILE to copy, such as an identifier; may be repeated."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="local: this process; dask: a cluster, which is sent blocks of rows.")
    ] = "local",
    escape: Annotated[
        bool,
        typer.Option(help="In a .csv, an apostrophe before text that a spreadsheet would take for a formula."),
    ] = True,
    address: Address = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Put every row of a file on its path and encode it with a run's model, a block at a time.

    A table gets the path, the name of its leaf, its probability, how strange the row is, the error of the
    reconstruction and the codes. A .npy gets the codes, and a second one ending in .paths.npy the
    paths. Memory does not grow with the file.
    """
    from disentree.runs.apply import apply_run
    from disentree.runs.files.writing import out_files
    from disentree.runs.run import Run

    existing = [path for path in out_files(out) if path.exists()]
    if existing and not force:
        raise UserError(f"{existing[0]} exists; --force overwrites it")
    done = apply_run(
        Run.open(run), file, out, keep=keep or (), engine=engine, address=address, device=device, escape=escape
    )
    rate = done.n_rows / max(done.seconds, 1e-9)
    print(f"{done.n_rows:,} row{'s' * (done.n_rows != 1)} in {done.seconds:.1f} s ({rate:,.0f} rows/s)")
    for reason, n in done.without_path.items():
        print(f"{n:,} rows without a path: {reason}")
    are = "row is" if done.strange == 1 else "rows are"
    strange = f"{done.strange:,} {are} stranger than 999 of 1,000 that the tree was found in"
    print("written: " + ", ".join(map(str, done.files)) + f"; {strange}")
