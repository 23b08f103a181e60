"""`disentree mimosa`: the tree of manifolds in a data set, without a model of it."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from disentree.datasets import UserData
    from disentree.mimosa.base import BaseMIMOSA

log = logging.getLogger(__name__)

N_SAMPLES = 100_000
FILES = ("hierarchy.json", "labels.npz", "summary.json", "summary.txt")
FIGURES = ("mimosa", "embedding", "hierarchy", "spectrum", "local_dimensions")


def mimosa(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|FILE",
            help="A benchmark by its name, or your own .csv, .tsv, .parquet, .npz, .npy or folder of images.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for hierarchy, labels, summary and figures.")],
    n_samples: Annotated[
        int | None, typer.Option(help=f"Samples of a benchmark ({N_SAMPLES}), or rows of a file (all).")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tree.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Threads; all cores unless told.")] = None,
    figures: Annotated[bool, typer.Option(help="Draw what was found.")] = True,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite what the folder holds.")] = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's algorithm and settings.", rich_help_panel="Paper")
    ] = False,
    initial_dim: Annotated[
        int | None, typer.Option(help="Dimension of the paper's autoencoder (4).", rich_help_panel="Paper")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other setting of the estimator, such as cos_simil_thresh=0.95.",
            rich_help_panel="Paper",
        ),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of noise.", rich_help_panel="Benchmarks")
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Tables: drop text columns, or onehot.", rich_help_panel="Files")
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Tables: columns to leave out, with commas.", rich_help_panel="Files")
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
) -> None:
    """Find the tree of manifolds in a data set and write it down, with the path of every row."""
    from disentree.runs.folder import check_enough_rows

    _check_folder(out, force)
    given = {
        "noise": noise,
        "categorical": categorical,
        "drop": [name.strip() for name in drop.split(",")] if drop else None,
        "standardise": standardise,
        "image_size": image_size,
    }
    options = {name: value for name, value in given.items() if value is not None}
    chosen = _settings(paper, initial_dim, settings or [])
    estimator = _estimator(paper, chosen, seed, n_jobs)
    data = _load(source, n_samples, seed, options)
    check_enough_rows(data, source)
    for sentence in data.policy:
        log.info("%s", sentence)
    log.info("%s rows of %s", f"{len(data):,}", "x".join(map(str, data.X.shape[1:])))
    estimator.fit(data.X)
    _write(out, source, data, estimator, figures, seed)


def _check_folder(out: Path, force: bool) -> None:
    """Refuse before any work is done."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out must be a folder")
    if not force and (there := [name for name in FILES if (out / name).exists()]):
        raise UserError(f"{out} holds {there[0]} already; --force overwrites it")
    folder = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{out} cannot be written: {folder} is not a folder that can be written to")


def _settings(paper: bool, initial_dim: int | None, pairs: list[str]) -> dict[str, Any]:
    if initial_dim is not None and not paper:
        raise UserError("--initial-dim is a setting of the paper's algorithm: give --paper too")
    chosen: dict[str, Any] = {} if initial_dim is None else {"initial_dim": initial_dim}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set needs NAME=VALUE, got {pair!r}")
        try:
            chosen[name.strip()] = json.loads(value)
        except ValueError:
            chosen[name.strip()] = value.strip()
    return chosen


def _estimator(paper: bool, chosen: dict[str, Any], seed: int, n_jobs: int | None) -> BaseMIMOSA:
    from disentree import MIMOSA

    fixed = {"random_state": seed, "n_jobs": n_jobs, "verbose": log.isEnabledFor(logging.INFO)}
    estimator = MIMOSA.paper(**fixed) if paper else MIMOSA(**fixed)
    known = [name for name in estimator.get_params() if name not in fixed]
    if wrong := [name for name in chosen if name not in known]:
        raise UserError(f"there is no setting {wrong[0]!r}; there are {', '.join(known)}")
    return estimator.set_params(**chosen)


def _load(source: str, n_samples: int | None, seed: int, options: dict[str, Any]) -> UserData:
    """A benchmark as if it had been read from a file, or a file."""
    from inspect import signature

    import numpy as np

    from disentree.datasets import UserData, load_dataset, load_file
    from disentree.datasets.user_files import ARRAYS, TABLES

    path = Path(source)
    if not path.exists() and path.suffix.lower() not in TABLES + ARRAYS:
        ds = load_dataset(source, n_samples=N_SAMPLES if n_samples is None else n_samples, seed=seed, **options)
        kind = "images" if ds.X.ndim > 2 else "series"
        return UserData(source, kind, ds.X, (), codes=ds.codes, hierarchy=ds.hierarchy)
    if wrong := [name for name in options if name not in signature(load_file).parameters]:
        raise UserError(f"{source} is a file, for which there is no --{wrong[0].replace('_', '-')}")
    data = load_file(path, **options)
    if n_samples is not None and n_samples < 2:
        raise UserError(f"--n-samples must be 2 or more, got {n_samples}")
    if n_samples is not None and n_samples < len(data):
        rows = np.random.default_rng(seed).choice(len(data), n_samples, replace=False)
        data = data.take(np.sort(rows))
    return data


def _write(out: Path, source: str, data: UserData, m: BaseMIMOSA, figures: bool, seed: int) -> None:
    from disentree.utils.files import atomic_path, write_npz

    true_paths = (
        data.hierarchy.path_of(data.codes) if data.hierarchy is not None and data.codes is not None else None
    )
    about = _about(source, data, m, true_paths, seed)
    arrays = {"labels": m.labels_, "core_labels": m.core_labels_, "embedding": m.embedding_}
    if data.rows is not None:
        arrays["rows"] = data.rows
    words = _in_words(m, about)
    with atomic_path(out / "hierarchy.json") as temporary:
        temporary.write_text(m.hierarchy_.to_json() + "\n", encoding="utf-8")
    with atomic_path(out / "labels.npz") as temporary:
        write_npz(temporary, arrays)
    with atomic_path(out / "summary.txt") as temporary:
        temporary.write_text(words + "\n", encoding="utf-8")
    if figures:
        _draw(out / "figures", m, true_paths)
    with atomic_path(out / "summary.json") as temporary:  # last: where it is, all the rest is
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(words)
    log.info("wrote %s", out)


def _about(source: str, data: UserData, m: BaseMIMOSA, true_paths: np.ndarray | None, seed: int) -> dict[str, Any]:
    from importlib import metadata

    from disentree._version import __version__

    about: dict[str, Any] = {
        "command": " ".join(["disentree", *sys.argv[1:]]),
        "source": source,
        "n_rows": len(data),
        "shape": list(data.X.shape[1:]),
        "policy": list(data.policy),
        "seed": seed,
        "settings": {
            name: value if isinstance(value, str | int | float | None) else str(value)
            for name, value in m.get_params().items()
        },
        "representation": {"kind": m.representation_.kind, "dimensions": m.embedding_.shape[1]},
        "tolerance": float(m.tolerance_),
        "description_length": m.description_length_,
        "components": [
            {
                "path": m.hierarchy_.paths[c].name,
                "dimension": component.dimension,
                "size": component.size,
                "core_size": len(component.core_indices),
                "parent": component.parent,
            }
            for c, component in enumerate(m.components_)
        ],
        "timings": {step: round(seconds, 3) for step, seconds in m.timings_.items()},
        "versions": {
            "disentree": __version__,
            "python": sys.version.split()[0],
            **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "torch")},
        },
    }
    if true_paths is not None:
        from disentree.metrics import coverage_score, h_error, purity_score

        assert data.hierarchy is not None
        about["scores"] = {
            "h_error": h_error(data.hierarchy, m.hierarchy_),
            "purity_core": purity_score(true_paths, m.core_labels_),
            "coverage_core": coverage_score(m.core_labels_),
            "purity": purity_score(true_paths, m.labels_),
            "coverage": coverage_score(m.labels_),
        }
    return about


def _in_words(m: BaseMIMOSA, about: dict[str, Any]) -> str:
    lines = [m.summary(), "", str(m.hierarchy_), ""]
    if "scores" in about:
        lines += [
            f"{name.replace('_', ' ')}: {value if isinstance(value, int) else format(value, '.4f')}"
            for name, value in about["scores"].items()
        ]
    steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in about["timings"].items())
    return "\n".join([*lines, f"time: {steps}"])


def _draw(folder: Path, m: BaseMIMOSA, true_paths: np.ndarray | None) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from disentree import plots
    from disentree.utils.files import atomic_path

    for name in FIGURES:
        if name == "mimosa":
            figure: Any = plots.draw_mimosa(m, true_paths)
        else:
            draw = {
                "embedding": plots.draw_embedding,
                "hierarchy": plots.draw_found_hierarchy,
                "spectrum": plots.draw_spectrum,
                "local_dimensions": plots.draw_local_dimensions,
            }[name]
            figure = draw(m).figure
        with atomic_path(folder / f"{name}.png") as temporary:
            figure.savefig(temporary, dpi=130, bbox_inches="tight")
        pyplot.close(figure)
