"""`disentree run`: from data alone to a tree, a representation that follows it, scores and a report."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.cli.options import (
    BENCHMARK_OPTIONS,
    FILE_OPTIONS,
    Address,
    Device,
    FileEngine,
    Full,
    Leaves,
    NJobs,
    NSamples,
    Seed,
    Settings,
    Source,
    StartOver,
    refuse,
    settings_from,
    with_data_options,
)
from disentree.errors import UserError
from disentree.runs.models import find_model, names_of
from disentree.utils.extras import needing
from disentree.utils.plugins import find_in_working_directory, is_spec

if TYPE_CHECKING:
    from disentree.runs.run import Run

log = logging.getLogger(__name__)


@with_data_options(FILE_OPTIONS, BENCHMARK_OPTIONS)
def run(
    *,
    source: Source,
    out: Annotated[Path, typer.Option(help="The folder for everything that the run makes.")],
    preset: Annotated[str, typer.Option(help="quick, default or paper.")] = "default",
    n_samples: NSamples = None,
    seed: Seed = 0,
    epochs: Annotated[int | None, typer.Option(help="Train for this many epochs instead of the preset's.")] = None,
    model: Annotated[
        str,
        typer.Option(
            help=f"The model to train: cofhae; a baseline: {', '.join(names_of('baseline', 'other'))}; an "
            f"ablation of cofhae: {', '.join(names_of('ablation'))}; or one of your own, as package.module:Class."
        ),
    ] = "cofhae",
    device: Device = "auto",
    n_jobs: NJobs = None,
    structure: Annotated[
        str | None,
        typer.Option(
            help="mimosa finds the tree, mimosa-paper as the paper does; true: the ground truth's. If not given: "
            "mimosa for cofhae and for files, true for the other models on benchmarks."
        ),
    ] = None,
    leaves: Leaves = None,
    set_: Settings = None,
    hierarchy: Annotated[Path | None, typer.Option(help="A tree of your own (.json), with --labels.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="The path of every row in that tree, -1 for none (.npz, .npy).")
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            help="Fit so many random parts of the rows again, each of which takes about as long as the tree did, "
            "and tell what comes back. None if not given: the search itself tells what parts of the rows bring "
            "back. A finished or stopped run takes another number."
        ),
    ] = None,
    full: Full = False,
    force: StartOver = False,
    engine: FileEngine = "local",
    address: Address = None,
    report: Annotated[bool, typer.Option(help="Draw figures and write report.html.")] = True,
    data_options: dict[str, Any],
) -> None:
    """Find the tree in a data set, learn a representation that follows it, score it and write a report.

    A run that was stopped goes on with the same command; finished stages are not done again.
    """
    import matplotlib

    from disentree.runs import RunConfig, finish_run, start_run
    from disentree.runs.start import remove_unstarted

    matplotlib.use("Agg")
    if structure not in (None, "mimosa", "mimosa-paper", "true"):
        raise UserError(f"--structure must be mimosa, mimosa-paper or true, got {structure!r}")
    if (hierarchy is None) != (labels is None):
        raise UserError("a structure of your own needs both --hierarchy and --labels")
    if hierarchy is not None:
        refuse("says where the tree comes from, and so do --hierarchy and --labels", "structure")
    model_settings, mimosa_settings = settings_from(set_)
    mimosa_settings |= {} if leaves is None else {"n_leaves": leaves}
    if n_jobs is not None and n_jobs < 1 and n_jobs != -1:
        raise UserError(f"--n-jobs must be 1 or more, or -1 for all cores, got {n_jobs}")
    if preset not in ("quick", "default", "paper"):
        raise UserError(f"--preset must be quick, default or paper, got {preset!r}")
    for path in (hierarchy, labels):
        if path is not None and not path.is_file():
            raise UserError(f"there is no file {path}")
    if is_spec(model):
        find_in_working_directory()
    config = RunConfig.of(
        source,
        preset=preset,
        n_samples=n_samples,
        seed=seed,
        epochs=epochs,
        model=model,
        structure=structure,
        structure_settings=mimosa_settings,
        model_settings=model_settings,
        hierarchy_file=str(hierarchy) if hierarchy else None,
        labels_file=str(labels) if labels else None,
        options=data_options,
        resamples=resamples,
    )
    with needing(f"--model {model}", "`disentree mimosa` finds the tree of a table without it"):
        find_model(config.model).load_class()  # before any work is done
        from disentree.training.session import pick_device

        pick_device(device)
    is_new = not out.exists()
    how: dict[str, Any] = {"device": device, "n_jobs": n_jobs, "engine": engine, "address": address}
    how["verbose"] = log.isEnabledFor(logging.INFO)
    # Resamples take longer than all else: there is a report before they begin, and another one after them.
    first = config.model_copy(update={"resamples": None}) if resamples and report else config
    started = start_run(first, out, force=force)
    try:
        finish_run(started, until="report" if report else "stability" if resamples else "reasons", **how)
    except (UserError, ValueError):  # data that cannot be used: the folder would hold nothing
        if is_new:
            remove_unstarted(out)
        raise
    print_summary(started, full)
    if first is not config and started.config.resamples != resamples:
        print(f"going on with {resamples} resamples, after which the report is written again", flush=True)
        started = start_run(config, out)
        finish_run(started, **how)
        print_summary(started, full)


def print_summary(run: Run, full: bool = False) -> None:
    """Print what was found, the scores and how long it took."""
    from disentree.runs.report.text import summary_lines

    print(*summary_lines(run, full), sep="\n")
