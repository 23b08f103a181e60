"""`disentree score`: compare learned codes with true ones."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disentree._version import __version__
from disentree.cli.options import Force, NJobs, Seed, refuse
from disentree.cli.tables import print_table
from disentree.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from disentree.hierarchy import Hierarchy

log = logging.getLogger(__name__)

WITHOUT_CODES = ("h_error", "purity", "coverage")  # what labels and a hierarchy are enough for


def score(
    run: Annotated[Path | None, typer.Argument(help="A run folder that holds true.npz and learned.npz.")] = None,
    true: Annotated[Path | None, typer.Option("--true", help="The true codes (.npz).")] = None,
    learned: Annotated[Path | None, typer.Option("--learned", help="The learned codes (.npz).")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the scores to this .json; scores.json in the folder of the learned codes."),
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="Only these, with commas between: r4c,h_error ...")] = None,
    n_splits: Annotated[int, typer.Option(help="Random splits to average over.")] = 5,
    seed: Seed = 0,
    n_jobs: NJobs = None,
    n_samples: Annotated[int | None, typer.Option(help="Score a random subset of this many rows (all).")] = None,
    estimator: Annotated[str, typer.Option(help="fast, or reference for scikit-learn's trees.")] = "fast",
    adjusted: Annotated[bool, typer.Option("--adjusted", help="Correct accuracies for guessing.")] = False,
    force: Force = False,
) -> None:
    """Score learned codes against true ones: print a table and write JSON.

    A file holds the array `codes` and, as JSON text, its `hierarchy`; the hierarchy may also stand beside it,
    in FILE.json or hierarchy.json. What `disentree datasets NAME --out FILE` writes can be given to --true.
    Learned `labels` without codes get the scores of the hierarchy only.
    """
    if out is None:
        refuse("is for the file named by --out", "force")
    true, learned = _which_files(run, true, learned)
    target = out or learned.parent / "scores.json"
    if target.suffix != ".json":
        raise UserError(f"{target} must end in .json")
    if out and out.exists() and not force:
        raise UserError(f"{out} exists; --force overwrites it")

    from disentree.metrics.registered import check_metrics
    from disentree.utils.files import write_json

    chosen = [name.strip() for name in metrics.split(",")] if metrics else None
    try:
        check_metrics(chosen or [])
    except ValueError as error:
        raise UserError(f"--{error}") from None
    given, found = _read(true), _read(learned)
    options = {
        "n_splits": n_splits,
        "random_state": seed,
        "n_jobs": -1 if n_jobs is None else n_jobs,
        "max_rows": n_samples,
        "estimator": estimator,
        "adjusted": adjusted,
    }
    result = _score(given, found, learned, chosen, options)
    result["files"] = {"true": str(true), "learned": str(learned)}
    write_json(target, result)
    _print(result)
    log.info("wrote %s", target)


@dataclass
class _Codes:
    hierarchy: Hierarchy
    codes: np.ndarray | None
    labels: np.ndarray | None


def _which_files(run: Path | None, true: Path | None, learned: Path | None) -> tuple[Path, Path]:
    if run is not None:
        if true or learned:
            raise UserError("give a run folder or --true and --learned, not both")
        if not run.is_dir():
            raise UserError(f"{run} is not a run folder; for two files use --true and --learned")
        true, learned = run / "true.npz", run / "learned.npz"
        for path, what in ((true, "true"), (learned, "learned")):
            if not path.is_file():
                raise UserError(f"{run} has no {path.name}, so there are no {what} codes to score")
    if true is None or learned is None:
        missing = "--true" if true is None else "--learned"
        raise UserError(f"{missing} is missing; give a run folder or both --true and --learned")
    for path in (true, learned):
        if not path.is_file():
            raise UserError(f"there is no file {path}")
    return true, learned


def _read(path: Path) -> _Codes:
    from disentree.hierarchy import Hierarchy
    from disentree.utils.arrays import read_arrays

    arrays = read_arrays(path, optional=("codes", "labels", "hierarchy"))
    if "codes" not in arrays and "labels" not in arrays:
        raise UserError(f"{path} must have an array 'codes'")
    text = str(arrays["hierarchy"]) if "hierarchy" in arrays else _hierarchy_beside(path)
    try:
        hierarchy = Hierarchy.from_json(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the hierarchy of {path} cannot be read: {error}") from None
    return _Codes(hierarchy, arrays.get("codes"), arrays.get("labels"))


def _hierarchy_beside(path: Path) -> str:
    for beside in (Path(f"{path}.json"), path.with_suffix(".json"), path.parent / "hierarchy.json"):
        if beside.is_file():
            try:
                tree = json.loads(beside.read_text(encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{beside} is not JSON: {error}") from None
            if isinstance(tree, dict) and "hierarchy" in tree:
                tree = tree["hierarchy"]
            if isinstance(tree, str):
                return tree
            if isinstance(tree, dict) and "variables" in tree:
                return json.dumps(tree)
    raise UserError(f"{path} has no 'hierarchy', and neither {path.name}.json nor hierarchy.json is beside it")


def _score(
    true: _Codes, learned: _Codes, path: Path, chosen: list[str] | None, options: dict[str, Any]
) -> dict[str, Any]:
    from disentree.metrics import METRICS, coverage_score, evaluate, h_error, purity_score

    if true.codes is None:
        raise UserError("the true file must have an array 'codes'")
    if learned.codes is not None:
        result = evaluate(
            true.codes, learned.codes, true.hierarchy, learned.hierarchy, metrics=chosen or METRICS, **options
        )
    else:
        if needs_codes := [name for name in chosen or () if name not in WITHOUT_CODES]:
            raise UserError(f"{path} has labels but no codes, which {needs_codes[0]} needs")
        result = {"scores": {}, "factors": [], "r4_factors": [], "estimator": None, "disentree": __version__}
    if learned.labels is not None:
        # labels may hold -1 where the codes of a trained model have had to choose
        scores = {
            "h_error": h_error(true.hierarchy, learned.hierarchy),
            "purity": purity_score(true.hierarchy.path_of(true.codes), learned.labels),
            "coverage": coverage_score(learned.labels),
        }
        result["scores"] |= {name: scores[name] for name in chosen or WITHOUT_CODES if name in scores}
    return result


def _print(result: dict[str, Any]) -> None:
    rows = [
        (name, f"{value:.4f}" if isinstance(value, float) else str(value))
        for name, value in result["scores"].items()
    ]
    factors = []
    for factor in result["factors"]:
        by = "; ".join(m["variable"] + (f" where {m['where']}" if m["where"] else "") for m in factor["matches"])
        factors.append((factor["factor"], f"{factor['score']:.4f}", by or "-"))
    print_table(("score", "value"), rows)
    if factors:
        print()
        print_table(("true variable", "r4c", "explained by"), factors)
    if result["estimator"]:
        print(f"\nestimator: {result['estimator']}")
