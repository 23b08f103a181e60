"""`disentree mimosa`: the tree of manifolds in a data set. It is `disentree run` without the model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.cli.options import (
    BENCHMARK_OPTIONS,
    FILE_OPTIONS,
    Address,
    FileEngine,
    Full,
    Leaves,
    NJobs,
    NSamples,
    Seed,
    Settings,
    Source,
    StartOver,
    settings_from,
    with_data_options,
)
from disentree.errors import UserError

if TYPE_CHECKING:
    from disentree.runs.run import Run

log = logging.getLogger(__name__)


@with_data_options(FILE_OPTIONS, BENCHMARK_OPTIONS)
def mimosa(
    *,
    source: Source,
    out: Annotated[Path, typer.Option(help="The run folder; `disentree run` goes on from it.")],
    n_samples: NSamples = None,
    seed: Seed = 0,
    n_jobs: NJobs = None,
    figures: Annotated[bool, typer.Option(help="Draw what was found.")] = True,
    full: Full = False,
    force: StartOver = False,
    engine: FileEngine = "local",
    address: Address = None,
    structure: Annotated[
        str, typer.Option(help="mimosa finds the tree, mimosa-paper as the paper does.")
    ] = "mimosa",
    leaves: Leaves = None,
    set_: Settings = None,
    data_options: dict[str, Any],
) -> None:
    """Find the tree of manifolds in a data set and write it to a run folder, with the path of every row.

    The rows, the tree and the files are those of `disentree run` with the same options, which continues with a
    model if it is given the same folder.
    """
    from disentree.runs import RunConfig, finish_run, start_run

    if structure not in ("mimosa", "mimosa-paper"):
        raise UserError(f"--structure must be mimosa or mimosa-paper, got {structure!r}")
    unprefixed, prefixed = settings_from(set_)  # there is no model, so all are of MIMOSA
    config = RunConfig.of(
        source,
        n_samples=n_samples,
        seed=seed,
        structure=structure,
        structure_settings={**unprefixed, **prefixed, **({} if leaves is None else {"n_leaves": leaves})},
        options=data_options,
    )
    started = start_run(config, out, force=force)
    finish_run(
        started,
        until="structure",
        verbose=log.isEnabledFor(logging.INFO),
        n_jobs=n_jobs,
        engine=engine,
        address=address,
        on_mimosa=(lambda fitted: _draw(started, fitted)) if figures else None,
    )
    _print_tree(started, full)


def _print_tree(run: Run, full: bool) -> None:
    from disentree.runs.report.findings import read_findings
    from disentree.runs.report.summary import found_by
    from disentree.runs.report.text import time_line
    from disentree.runs.steps.scores import structure_scores

    rows = run.read_npz("labels.npz")
    print(found_by(run.structure, read_findings(run, run.hierarchy), run.paths).text(full))
    print()
    data = run.data
    if data.hierarchy is not None and data.codes is not None:
        from disentree.metrics import h_error

        print(f"h error: {h_error(data.hierarchy, run.hierarchy)}")
        true_paths = data.hierarchy.path_of(data.codes[rows["train"]])
        for name, value in structure_scores(true_paths, rows).items():
            print(f"{name.replace('_', ' ')}: {value:.4f}")
    print(time_line(run))
    print(f"written: {run.folder}")


def _draw(run: Run, fitted: Any) -> None:
    """Draw how the tree was found."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from disentree import plots
    from disentree.utils.files import atomic_path

    if not hasattr(fitted, "labels_"):  # no component was found
        return
    data = run.data
    true_paths = None
    if data.hierarchy is not None and data.codes is not None:
        true_paths = data.hierarchy.path_of(data.codes)
    drawn = {
        "mimosa": lambda: plots.draw_mimosa(fitted, true_paths),
        "embedding": lambda: plots.draw_embedding(fitted).figure,
        "hierarchy": lambda: plots.draw_found_hierarchy(fitted).figure,
        "spectrum": lambda: plots.draw_spectrum(fitted).figure,
        "local_dimensions": lambda: plots.draw_local_dimensions(fitted).figure,
    }
    for name, draw in drawn.items():
        figure: Any = draw()
        with atomic_path(run.folder / "figures" / f"{name}.png") as temporary:
            figure.savefig(temporary, dpi=130, bbox_inches="tight")
        pyplot.close(figure)
