"""`disentree report`: draw the figures of a run again and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disentree.errors import UserError


def report(
    run: Annotated[Path, typer.Argument(help="A folder that `disentree run` made.")],
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Draw the figures of a run again and write its report.html. The data is not needed for it."""
    import matplotlib

    from disentree.runs.folder import Run

    matplotlib.use("Agg")
    opened = Run.open(run)
    left = [stage for stage in opened.unfinished() if stage not in ("figures", "report")]
    if left:
        raise UserError(f"{run} is not finished: {', '.join(left)} left; `{opened.about['command']}` goes on")
    opened.redo("figures")
    opened.finish(device=device)
    print(f"report: {opened.report_path}")
