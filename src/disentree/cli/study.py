"""`disentree study`: a table or figure of the paper, computed and reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disentree.cli.options import Address, Engine, NJobs, Settings, given_options, refuse, settings_from
from disentree.cli.tables import print_table
from disentree.errors import UserError
from disentree.utils.plugins import find_in_working_directory, is_spec
from disentree.utils.progress import duration

if TYPE_CHECKING:
    from disentree.studies.running.options import Options
    from disentree.studies.running.results import Results
    from disentree.studies.running.task import Study


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A study; `report` joins finished ones; none lists them.",
        ),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="quick, default, medium, or paper for data and trainings of its size.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Restarts, each with a seed of its own.")] = None,
    first_seed: Annotated[
        int | None, typer.Option(help="The first of the seeds (2000: nothing was developed on those from there).")
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(help="Data sets, or .npz files with `X`, `codes` and `hierarchy`; with commas or repeated."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Models of `compare`, with commas or repeated; your own as package.module:Class."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics of `compare`, with commas; your own as package.module:function.")
    ] = None,
    n_samples: Annotated[
        int | None, typer.Option(help="Samples of each data set, instead of the scale's.")
    ] = None,
    set_: Settings = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder of the data sets, for `battery` and `classes`.")
    ] = None,
    n_jobs: NJobs = None,
    engine: Engine = "local",
    address: Address = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the runs and guess the time.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the study that is in the folder, as it was begun.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Do only these runs of the list, as 0-9,12, and write no report.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Do finished runs again.")] = False,
    out: Annotated[Path | None, typer.Option(help="The folder (runs/studies/NAME-SCALE).")] = None,
) -> None:
    """Compute a table or figure of the paper and write a report.

    A study that was stopped goes on with the same command, or with --resume; finished runs are not repeated.
    """
    import matplotlib

    from disentree.studies import get_study
    from disentree.studies.running.folder import HOME, default_folder, resumed_options
    from disentree.studies.running.study import run_study

    matplotlib.use("Agg")
    if name is None:
        if given_options():
            raise UserError("give the name of a study; `disentree study` lists them")
        print_list()
        return
    if name == "report":
        refuse("is not an option of `disentree study report`", *(set(given_options()) - {"name", "out"}))
        from disentree.studies.running.page import join_reports

        print(f"report: {join_reports(out or HOME)}")
        return
    chosen = get_study(name)
    names, models, scores = (_words(given) for given in (datasets, model, [metrics] if metrics else None))
    if any(map(is_spec, (*models, *scores))):
        find_in_working_directory()
    settings, of_mimosa = settings_from(set_)
    if of_mimosa:
        raise UserError("--set mimosa.NAME is for `disentree run`: studies have their own settings of MIMOSA")
    folder = out or default_folder(name, scale or "default")
    if resume:
        if (
            seeds is not None
            or first_seed is not None
            or n_samples is not None
            or any((names, models, scores, settings))
        ):
            raise UserError(
                "--resume goes on with what was begun; leave --seeds and --datasets out, and other choices"
            )
        options = resumed_options(chosen, folder, data)
        if scale is not None and scale != options.scale:
            raise UserError(f"{folder} was begun at scale {options.scale}, not {scale}")
    else:
        more = {"models": models, "metrics": scores, "n_samples": n_samples, "settings": settings}
        options = chosen.options(scale or "default", seeds, names or None, first_seed, data, **more)
    if engine != "dask":
        refuse("is that of a Dask scheduler and needs --engine dask", "address")
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = workers if n_jobs is None else n_jobs
    if dry_run:
        print_plan(chosen, options, folder, jobs)
        return
    which = indices_from(only) if only is not None else None
    results = run_study(
        chosen, options, folder, engine=engine, jobs=jobs, address=address, only=which, force=force
    )
    if which is None:
        print_results(results)
    if results.failed:
        raise UserError(f"{len(results.failed)} of {len(results.tasks)} runs failed; the same command tries again")


def _words(given: list[str] | None) -> list[str]:
    return [word.strip() for some in given or () for word in some.split(",") if word.strip()]


def indices_from(words: str) -> list[int]:
    """0-9,12 as numbers."""
    out: set[int] = set()
    for word in words.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UserError(f"--only takes numbers and ranges as 0-9,12, got {words!r}")
        if int(last or first) < int(first):
            raise UserError(f"--only takes ranges from the lower to the higher number, got {words!r}")
        out |= set(range(int(first), int(last or first) + 1))
    return sorted(out)


def print_list() -> None:
    from disentree.studies import STUDIES, get_study

    for name in STUDIES:
        described = get_study(name)
        print(f"{name:20} {described.reproduces}: {described.title}")
    print(f"{'report':20} all finished studies on one page")


def print_plan(study: Study, options: Options, folder: Path, jobs: int) -> None:
    from disentree.studies.running.cost import estimate
    from disentree.studies.running.progress import time_for
    from disentree.studies.running.study import collect, planned

    tasks = planned(study, options)
    done = collect(options, folder, tasks).found
    estimates = [estimate(task) for task in tasks]
    for i, task in enumerate(tasks):
        print(f"{i:4} {task!s:70} {'finished' if i in done else f'about {duration(estimates[i])}'}")
    print(f"{study.name} at scale {options.scale}: {study.scale_means(options)}")
    left = time_for([seconds for i, seconds in enumerate(estimates) if i not in done], jobs)
    time_left = f"about {duration(left)} with {max(1, jobs)} at a time" if left else "all finished"
    print(f"{len(tasks)} run{'s' * (len(tasks) != 1)}, {len(done)} finished, {time_left}, in {folder}")


def print_results(results: Results) -> None:
    """The tables of the report, for people."""
    from disentree.studies.running.folder import read_study

    for section in read_study(results.folder)["sections"]:
        if section["rows"]:
            print(section["title"])
            print_table(section["header"], section["rows"])
            print()
    print(f"report: {results.folder / 'report.html'}")
