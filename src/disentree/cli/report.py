"""`disentree report`: draw the figures of a run again and write its report."""

from __future__ import annotations

from disentree.cli.options import Device, RunFolder


def report(
    run: RunFolder,
    device: Device = "auto",
) -> None:
    """Draw the figures of a run again and write its report.html. The data is not needed for it."""
    import matplotlib

    from disentree.runs.run import Run
    from disentree.runs.stages import check_scored, finish_run

    matplotlib.use("Agg")
    opened = Run.open(run)
    check_scored(opened)
    finish_run(opened, device=device, redo="figures")
    print(f"report: {opened.report_path}")
