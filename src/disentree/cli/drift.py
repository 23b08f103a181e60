"""`disentree drift`: what changed between the rows that a run's tree was found in and those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disentree.cli.options import Device, RunFolder


def drift(
    run: RunFolder,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="New rows in any format that `disentree run` reads.")
    ],
    level: Annotated[
        float, typer.Option(help="How often a change may be told where there is none.", min=1e-9, max=1 - 1e-9)
    ] = 0.05,
    device: Device = "auto",
) -> None:
    """Tell which leaves of a run's tree have another share of new rows, and on which rows are stranger.

    Beyond chance: in most files of rows like those of the run, nothing is told.
    """
    from disentree.runs.apply import drift_run
    from disentree.runs.run import Run

    print(drift_run(Run.open(run), file, level, device))
