"""`disentree datasets`: list, describe, write and draw data sets."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.cli.options import (
    BENCHMARK_OPTIONS,
    Force,
    Seed,
    given_options,
    refuse,
    with_data_options,
)
from disentree.cli.tables import print_table
from disentree.errors import UserError

if TYPE_CHECKING:
    from disentree.datasets import Dataset, DatasetInfo

log = logging.getLogger(__name__)

N_SAMPLES = 100_000
N_SAMPLES_TO_DRAW = 5_000  # when there is a picture to make and no file
PICTURES = (".png", ".pdf", ".svg")


@with_data_options(BENCHMARK_OPTIONS)
def datasets(
    *,
    name: Annotated[str | None, typer.Argument(help="The data set; without it, all are listed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the data to this .npz, with a .json beside it.")] = None,
    preview: Annotated[Path | None, typer.Option(help="Draw examples of every path (.png, .pdf, .svg).")] = None,
    n_samples: Annotated[int | None, typer.Option(help=f"How many; {N_SAMPLES} if not given.")] = None,
    seed: Seed = 0,
    force: Force = False,
    data_options: dict[str, Any],
) -> None:
    """List the benchmark data sets, describe one, write it to a file or draw it."""
    from disentree.datasets import dataset_info, list_datasets, load_dataset, save_dataset

    if name is None:
        if given_options():
            raise UserError("give the name of a data set to write or draw it; `disentree datasets` lists them")
        _print_list([info for kind in ("benchmarks", "generated", "real", "own") for info in list_datasets(kind)])
        return
    info = dataset_info(name, **data_options)
    if not out and not preview:
        refuse("is for data that is written or drawn: add --out or --preview", "n_samples", "seed", "force")
        _print_description(info)
        return

    targets = [(out, (".npz",)), (Path(f"{out}.json") if out else None, (".json",)), (preview, PICTURES)]
    for path, suffixes in targets:
        _check_target(path, suffixes, force)
    if n_samples is None:
        n_samples = N_SAMPLES if out else N_SAMPLES_TO_DRAW
    ds = load_dataset(name, n_samples=n_samples, seed=seed, **data_options)
    if out:
        about = save_dataset(ds, out)
        log.info("wrote %d samples to %s (sha256 %s)", len(ds), out, about["sha256"])
    if preview:
        _draw(ds, preview)
        log.info("drew %s", preview)


def _check_target(path: Path | None, suffixes: Sequence[str], force: bool) -> None:
    """Refuse before any work is done."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise UserError(f"{path} must end in {' or '.join(suffixes)}")
    if path.exists() and not force:
        raise UserError(f"{path} exists; --force overwrites it")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{path} cannot be written: {folder} is not a folder that can be written to")


def _draw(ds: Dataset, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from disentree.plots import draw_dataset
    from disentree.utils.files import atomic_path

    draw_dataset(ds)
    with atomic_path(path) as temporary:
        pyplot.savefig(temporary, dpi=130, bbox_inches="tight")
    pyplot.close()


def _print_list(infos: Sequence[DatasetInfo]) -> None:
    header = ("name", "variables", "paths", "description")
    rows = []
    for info in infos:
        tree = info.hierarchy
        known = ("", "") if tree is None else (str(tree.n_variables), str(len(tree.paths)))
        rows.append((info.name, *known, info.description))
    print_table(header, rows, numbers=("variables", "paths"))


def _print_description(info: DatasetInfo) -> None:
    print(f"{info.name}: {info.description}")
    if info.hierarchy is not None:
        n_paths = len(info.hierarchy.paths)
        print(f"{info.hierarchy.n_variables} variables, {n_paths} path{'s' * (n_paths != 1)}\n")
        print(info.hierarchy)
    if info.card is not None:
        for word in ("source", "license", "citation", "structure"):
            print(f"{word}: {getattr(info.card, word)}")
    print("\noptions:")
    for option, value in info.options.items():
        flag = f"--{option.replace('_', '-')}"
        shown = (
            "(none)" if value is None else f"({'on' if value else 'off'})" if isinstance(value, bool) else value
        )
        print(f"  {flag} {shown}")
