"""`disentree apply`: paths and codes for every row of a file, however large."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disentree.cli.options import Address, Device, Force, RunFolder
from disentree.errors import UserError


def apply(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(help="Rows as .npy, .npz, .csv, .tsv or .parquet.")],
    out: Annotated[Path, typer.Option(help="Codes and paths as .npy, .csv or .parquet.")],
    engine: Annotated[
        str, typer.Option(help="local: this process; dask: a cluster, from .npy to .npy.")
    ] = "local",
    address: Address = None,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Put every row of a file on its path and encode it with a run's model, a block at a time.

    Memory does not grow with the file. A .npy gets the codes, and a second one ending in .paths.npy the paths.
    """
    from disentree.runs.apply import apply_run
    from disentree.runs.folder import Run
    from disentree.runs.writing import out_files

    existing = [path for path in out_files(out) if path.exists()]
    if existing and not force:
        raise UserError(f"{existing[0]} exists; --force overwrites it")
    done = apply_run(Run.open(run), file, out, engine=engine, address=address, device=device)
    print(f"{done.n_rows:,} rows in {done.seconds:.1f} s ({done.n_rows / max(done.seconds, 1e-9):,.0f} rows/s)")
    if done.n_without_path:
        print(f"{done.n_without_path:,} rows without a path: a value is missing, or too far out to be encoded")
    print("written: " + ", ".join(map(str, done.files)))
