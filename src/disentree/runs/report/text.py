"""What a run found, as lines for a terminal."""

from __future__ import annotations

from disentree.runs.report.scores import SCORES
from disentree.runs.report.summary import RunSummary
from disentree.runs.run import Run

SHOWN = (
    "r4c", "h_error", "class_agreement", "purity", "coverage", "reconstruction_r2", "reconstruction_overlap",
    "pca_r2", "dependence",
)  # fmt: skip


def summary_lines(run: Run, full: bool = False) -> list[str]:
    """What was found, the main scores and how long it took."""
    summary = RunSummary.of(run)
    metrics = summary.metrics
    out = [*metrics["warnings"], summary.found.text(full), ""]
    scores = {**metrics["scores"], **metrics["scores_without_truth"]}
    for name in SHOWN:
        if scores.get(name) is not None:
            title, what, places = SCORES[name]
            out.append(f"{title} {scores[name]:.{places}f} ({what})")
    out += [*metrics["notes"], time_line(run)]
    return [*out, f"report: {run.report_path}"] if run.report_path.is_file() else out


def time_line(run: Run) -> str:
    """How long the finished stages took."""
    seconds = {name: stage["seconds"] for name, stage in run.stages.items()}
    parts = ", ".join(f"{name} {s:.1f} s" for name, s in seconds.items())
    return f"time {sum(seconds.values()):.1f} s ({parts})"
