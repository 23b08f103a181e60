"""`disentree run`: from data alone to a tree, a representation that follows it, scores and a report."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.errors import UserError

if TYPE_CHECKING:
    from disentree.runs.folder import Run

log = logging.getLogger(__name__)


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|FILE",
            help="A benchmark by its name, or your own .csv, .tsv, .parquet, .npz, .npy or folder of images.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for everything that the run makes.")],
    preset: Annotated[str, typer.Option(help="quick, default or paper.")] = "default",
    n_samples: Annotated[
        int | None, typer.Option(help="Samples of a benchmark (100000; quick: 20000), or rows of a file (all).")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(help="Train for this long instead of what the preset says.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="The model to train: cofhae; a baseline: ae, vae, tcvae, factorvae, jointvae, cascadevae; or an "
            "ablation of cofhae: flat, hier, hier-a, hier-a-tc, hier-a-tcon, hier-tcon, hier-a-z."
        ),
    ] = "cofhae",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    structure: Annotated[
        str | None,
        typer.Option(
            help="mimosa finds the tree, mimosa-paper as the paper does; true: the ground truth's. If not given: "
            "mimosa for cofhae and for files, true for the other models on benchmarks."
        ),
    ] = None,
    mimosa: Annotated[
        list[str] | None, typer.Option(help="A setting of MIMOSA, as NAME=VALUE; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the model, as NAME=VALUE; may be repeated.")
    ] = None,
    hierarchy: Annotated[Path | None, typer.Option(help="A tree of your own (.json), with --labels.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="The path of every row in that tree, -1 for none (.npz, .npy).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Start over where the folder holds another run.")
    ] = False,
    report: Annotated[bool, typer.Option(help="Draw figures and write report.html.")] = True,
    categorical: Annotated[
        str | None, typer.Option(help="Tables: drop text columns, or onehot.", rich_help_panel="Files")
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Tables: columns to leave out, with commas.", rich_help_panel="Files")
    ] = None,
    max_missing: Annotated[
        float | None,
        typer.Option(help="Leave out columns that miss more than this share (.2).", rich_help_panel="Files"),
    ] = None,
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--no-standardise", help="Columns to mean 0, deviation 1.", rich_help_panel="Files"
        ),
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Folders of images: the side in pixels.", rich_help_panel="Files")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of noise.", rich_help_panel="Benchmarks")
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="Chopsticks: values per series.", rich_help_panel="Benchmarks")
    ] = None,
    min_offset: Annotated[
        float | None, typer.Option(help="Chopsticks: keep factors away from 0.", rich_help_panel="Benchmarks")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="Chopsticks: offset, overwrite, ...", rich_help_panel="Benchmarks")
    ] = None,
    distribution: Annotated[
        str | None, typer.Option(help="Chopsticks: uniform or gaussian.", rich_help_panel="Benchmarks")
    ] = None,
    stop: Annotated[
        str | None, typer.Option(help="Chopsticks: paper or equal.", rich_help_panel="Benchmarks")
    ] = None,
    binarize: Annotated[
        bool | None,
        typer.Option("--binarize/--grey", help="Spaceshapes: black and white.", rich_help_panel="Benchmarks"),
    ] = None,
) -> None:
    """Find the tree in a data set, learn a representation that follows it, score it and write a report.

    A run that was stopped goes on with the same command; finished stages are not done again.
    """
    import matplotlib

    from disentree.runs.folder import Run, RunConfig

    matplotlib.use("Agg")
    if structure not in (None, "mimosa", "mimosa-paper", "true"):
        raise UserError(f"--structure must be mimosa, mimosa-paper or true, got {structure!r}")
    if (hierarchy is None) != (labels is None):
        raise UserError("a structure of your own needs both --hierarchy and --labels")
    if hierarchy is not None and structure == "true":
        raise UserError("give --structure true or --hierarchy and --labels, not both")
    if preset not in ("quick", "default", "paper"):
        raise UserError(f"--preset must be quick, default or paper, got {preset!r}")
    for path in (hierarchy, labels):
        if path is not None and not path.is_file():
            raise UserError(f"there is no file {path}")
    given: dict[str, Any] = {
        "categorical": categorical,
        "drop": [name.strip() for name in drop.split(",")] if drop else None,
        "max_missing": max_missing,
        "standardise": standardise,
        "image_size": image_size,
        "noise": noise,
        "length": length,
        "min_offset": min_offset,
        "mode": mode,
        "distribution": distribution,
        "stop": stop,
        "binarize": binarize,
    }
    config = RunConfig.of(
        source,
        preset=preset,
        n_samples=n_samples,
        seed=seed,
        epochs=epochs,
        model=model,
        structure=structure,
        structure_settings=settings_from(mimosa, "--mimosa"),
        model_settings=settings_from(set_, "--set"),
        hierarchy_file=str(hierarchy) if hierarchy else None,
        labels_file=str(labels) if labels else None,
        options={name: value for name, value in given.items() if value is not None},
    )
    started = Run.start(config, out, force=force)
    started.finish(device=device, verbose=log.isEnabledFor(logging.INFO), report=report)
    print_summary(started)


def settings_from(words: list[str] | None, flag: str) -> dict[str, Any]:
    """NAME=VALUE words as settings; a value is read as JSON, or else as text."""
    out: dict[str, Any] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(f"{flag} takes NAME=VALUE, got {word!r}")
        try:
            out[name] = json.loads(value)
        except json.JSONDecodeError:
            out[name] = value
    return out


def print_summary(run: Run) -> None:
    """The tree, what it is worth and how long it took, on stdout."""
    from disentree.runs.figures import learned_tree, with_sizes
    from disentree.runs.report import SCORES

    print(with_sizes(*learned_tree(run)))
    metrics = run.metrics
    shown = {**metrics["scores"], **metrics["scores_without_truth"]}
    print()
    for name in ("r4c", "h_error", "purity", "coverage", "reconstruction_r2", "dependence"):
        if name in shown:
            title, what, places = SCORES[name]
            print(f"{title} {shown[name]:.{places}f} ({what})")
    for note in metrics["notes"]:
        print(note)
    stages = run.stages
    total = sum(stage["seconds"] for stage in stages.values())
    parts = ", ".join(f"{name} {stage['seconds']:.1f} s" for name, stage in stages.items())
    print(f"time {total:.1f} s ({parts})")
    if run.report_path.is_file():
        print(f"report: {run.report_path}")
