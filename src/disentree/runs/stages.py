"""What each stage of a run does. A stage reads what the ones before it wrote, writes its own files into the run
folder and returns a few words about what it found."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.runs import scores as run_scores
from disentree.utils.files import atomic_path, check_numpy

if TYPE_CHECKING:
    from disentree.runs.folder import Run, RunConfig

log = logging.getLogger(__name__)

# To add a model: a class with `fit(X, hierarchy=, paths=)`, `transform`, `inverse_transform`, `hierarchy_`,
# `history_`, `save` and `load`, and the constructors `quick` and `paper` beside its own.
MODELS = {
    "cofhae": ("disentree.cofhae", "COFHAE"),
    # baselines
    "ae": ("disentree.baselines", "AE"),
    "vae": ("disentree.baselines", "VAE"),
    "tcvae": ("disentree.baselines", "BetaTCVAE"),
    "factorvae": ("disentree.baselines", "FactorVAE"),
    "jointvae": ("disentree.baselines", "JointVAE"),
    "cascadevae": ("disentree.baselines", "CascadeVAE"),
    # ablations of COFHAE
    "flat": ("disentree.baselines", "AE"),
    "hier": ("disentree.baselines.ablations", "HIER"),
    "hier-a": ("disentree.baselines.ablations", "HIER_A"),
    "hier-a-tc": ("disentree.baselines.ablations", "HIER_A_TC"),
    "hier-a-tcon": ("disentree.baselines.ablations", "HIER_A_TCON"),
    "hier-tcon": ("disentree.baselines.ablations", "HIER_TCON"),
    "hier-a-z": ("disentree.baselines.ablations", "HIER_A_Z"),
}
SUPERVISED = ("hier-a-z",)  # models that are shown the true codes

# settings of a model that the run itself takes care of
OF_THE_RUN = ("checkpoint", "events", "callbacks", "mimosa")
REPRESENTATION = "representation.safetensors"
SECONDS_BETWEEN_LINES = 10
SHOWN_PER_PATH = 12  # rows kept for the pictures
SHOWN_PATHS = 24  # the largest: flat models with many categoricals have one for every combination


# ------------------------------------------------------------------ data


def do_data(run: Run, device: str, verbose: bool) -> str:
    from disentree.runs.folder import check_enough_rows

    data = run.data
    check_enough_rows(data, run.config.source)
    if run.config.structure == "true" and not data.has_truth:
        raise UserError(f"{run.config.source} has no ground truth to take the structure from")
    for sentence in data.policy:
        log.info("%s", sentence)
    run.write_json(
        "data.json",
        {
            "name": data.name,
            "kind": data.kind,
            "n_rows": len(data),
            "shape": list(data.X.shape[1:]),
            "dtype": str(data.X.dtype),
            "policy": list(data.policy),
            "feature_names": list(data.feature_names),
            "levels": data.levels,
            "centre": None if data.centre is None else data.centre.tolist(),
            "scale": None if data.scale is None else data.scale.tolist(),
            "has_truth": data.has_truth,
        },
    )
    return f"{len(data):,} rows of {'x'.join(map(str, data.X.shape[1:]))}"


# ------------------------------------------------------------------ structure


def do_structure(run: Run, device: str, verbose: bool) -> str:
    data = run.data
    train, test = run.split(len(data))
    about: dict[str, Any] = {"from": run.config.structure}
    if run.config.structure in ("mimosa", "mimosa-paper"):
        mimosa = make_mimosa(run.config, verbose)
        if run.n_jobs is not None:
            mimosa.set_params(n_jobs=run.n_jobs)
        X = data.X
        if run.embedding is not None:
            X = run.embedding
            mimosa.set_params(representation="given")
        try:
            mimosa.fit(X[train])
        except ValueError:  # no component was found; others may be glad of what it looked at
            if run.on_mimosa is not None:
                run.on_mimosa(mimosa)
            raise
        hierarchy = mimosa.hierarchy_
        labels, core = mimosa.labels_, mimosa.core_labels_
        test_labels = mimosa.predict(X[test])
        about |= {
            "summary": mimosa.summary(),
            "description_length": float(mimosa.description_length_),
            "components": [
                {"dimension": int(c.dimension), "size": int(c.size), "parent": c.parent}
                for c in mimosa.components_
            ],
            "timings": {step: round(float(s), 3) for step, s in mimosa.timings_.items()},
        }
        seen: Any = getattr(mimosa, "representation_", None)
        if hasattr(getattr(seen, "network", None), "decode"):
            seen.save(run.folder / REPRESENTATION)  # the model need not learn to see again
        if run.on_mimosa is not None:
            run.on_mimosa(mimosa)
    else:
        hierarchy, paths = _given_structure(run)
        labels, test_labels = paths[train], paths[test]
        core = labels
    run.write_npz(
        "labels.npz",
        train=train, test=test, labels=labels, core_labels=core, test_labels=test_labels,
    )  # fmt: skip
    run.write_json("structure.json", about)
    run.write_json("hierarchy.json", hierarchy.to_dict())
    n_paths = len(hierarchy.paths)
    return f"{n_paths} path{'s' * (n_paths != 1)}, {np.mean(core >= 0):.1%} of rows in their cores"


def check_settings(config: RunConfig) -> None:
    """Refuse settings that MIMOSA or the model does not have, before any work is done."""
    if config.structure_settings:
        from disentree import MIMOSA

        make = MIMOSA.paper if config.structure == "mimosa-paper" else MIMOSA
        known = [name for name in make().get_params() if name not in ("random_state", "verbose")]
        _check_names("--mimosa", config.structure_settings, known)
    if config.model_settings:
        known = _model_class(config.model).quick().get_params()
        _check_names("--set", config.model_settings, [name for name in known if name not in OF_THE_RUN])


def _check_names(flag: str, given: Iterable[str], known: list[str]) -> None:
    if wrong := [name for name in given if name not in known]:
        raise UserError(f"{flag}: there is no setting {wrong[0]!r}; there are {', '.join(known)}")


def make_mimosa(config: RunConfig, verbose: bool) -> Any:
    from disentree import MIMOSA

    make = MIMOSA.paper if config.structure == "mimosa-paper" else MIMOSA
    return make(random_state=config.seed, verbose=verbose, **config.structure_settings)


def copy_structure(run: Run, other: Run) -> str:
    """Take over what another run found for the same data."""
    from disentree.runs.folder import STAGES

    if not run.config.same_structure(other.config):
        raise UserError(f"{other.folder} holds the structure of other data, or one found in another way")
    if "structure" not in other.finished():
        raise UserError(f"{other.folder} has not found its structure yet")
    seen = (REPRESENTATION,) if (other.folder / REPRESENTATION).is_file() else ()
    for name in STAGES["structure"] + seen:
        with atomic_path(run.folder / name) as temporary:
            shutil.copyfile(other.folder / name, temporary)
    return f"that of {other.folder}"


def _given_structure(run: Run) -> tuple[Hierarchy, Int[np.ndarray, " n"]]:
    """A tree and the path of every row: the ground truth, or what the user wrote."""
    data = run.data
    if run.config.structure == "true":
        assert data.codes is not None
        assert data.hierarchy is not None
        return data.hierarchy, data.hierarchy.path_of(data.codes)
    hierarchy_file, labels_file = run.config.hierarchy_file, run.config.labels_file
    if not hierarchy_file or not labels_file:
        raise UserError("a structure needs both --hierarchy and --labels")
    try:
        hierarchy = Hierarchy.from_json(Path(hierarchy_file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{hierarchy_file}: {error}") from None
    labels = _read_labels(Path(labels_file))
    if data.rows is not None and len(labels) > int(data.rows.max()):
        labels = labels[data.rows]  # the file has labels for all rows, some of which were left out
    if len(labels) != len(data):
        raise UserError(f"{labels_file} has {len(labels)} labels for {len(data)} rows")
    if labels.min() < -1 or labels.max() >= len(hierarchy.paths):
        raise UserError(
            f"{labels_file} must hold paths 0..{len(hierarchy.paths) - 1} of {hierarchy_file}, or -1 for none; "
            f"it has {int(labels.min())}..{int(labels.max())}"
        )
    return hierarchy, labels


def _read_labels(path: Path) -> Int[np.ndarray, " n"]:
    import zipfile

    try:
        with path.open("rb") as file:
            check_numpy(file, path)
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                name = next((n for n in ("labels", "paths") if n in loaded), None)
                if name is None:
                    raise UserError(f"{path} must have an array 'labels'")
                loaded = loaded[name]
    except UserError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if loaded.ndim != 1 or loaded.dtype.kind not in "iu":
        raise UserError(f"{path} must hold one whole number for each row, got {loaded.dtype} of {loaded.shape}")
    return loaded.astype(np.int64)


# ------------------------------------------------------------------ model


def do_model(run: Run, device: str, verbose: bool) -> str:
    data, hierarchy = run.data, run.hierarchy
    labels = run.read_npz("labels.npz", "train", "labels")
    checkpoint = run.folder / "checkpoint"
    model = make_model(run.config, is_image=data.X.ndim > 2, device=device, verbose=verbose, run=run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        shown: dict[str, Any] = {}
        if run.config.model == "cofhae" and (run.folder / REPRESENTATION).is_file():
            from disentree.mimosa.representation.choose import load_representation

            shown["representation"] = load_representation(run.folder / REPRESENTATION)
        if run.config.model in SUPERVISED:
            assert data.codes is not None
            shown["codes"] = data.codes[labels["train"]]
        model.fit(data.X[labels["train"]], hierarchy=hierarchy, paths=labels["labels"], **shown)
    if getattr(model, "interrupted_", False):  # the checkpoint has every finished epoch
        raise KeyboardInterrupt
    for warning in caught:
        log.warning("%s", warning.message)
    model.save(run.folder)
    (checkpoint / "checkpoint.safetensors").unlink(missing_ok=True)
    if checkpoint.is_dir() and not os.listdir(checkpoint):
        checkpoint.rmdir()
    n_epochs = len(model.history_)
    return f"{n_epochs} epoch{'s' * (n_epochs != 1)}"


def make_model(config: RunConfig, *, is_image: bool, device: str, verbose: bool, run: Run) -> Any:
    """The untrained model that a preset stands for."""
    cls = _model_class(config.model)
    settings: dict[str, Any] = {
        "random_state": config.seed,
        "device": device,
        "verbose": verbose,
        "checkpoint": run.folder / "checkpoint",
        "events": run.folder / "events.jsonl",
    }
    if verbose and not sys.stderr.isatty():  # a bar is for people who watch; a log gets lines
        settings |= {"verbose": False, "callbacks": [_epoch_logger()]}
    if config.epochs is not None:
        settings["epochs"] = config.epochs
    settings |= config.model_settings
    if config.preset == "paper":
        return cls.paper(images=is_image, **settings)
    return cls.quick(**settings) if config.preset == "quick" else cls(**settings)


def _epoch_logger() -> Callable[[dict[str, Any], Any], None]:
    """A callback that logs an epoch every ten seconds, not each of hundreds of short ones."""
    last = time.monotonic()

    def log_epoch(record: dict[str, Any], model: Any) -> None:
        nonlocal last
        if time.monotonic() - last < SECONDS_BETWEEN_LINES:
            return
        last = time.monotonic()
        names = (name for name in record if name not in ("epoch", "loss", "seconds") and record[name])
        losses = (f"{name.replace('_', ' ')} {record[name]:.2e}" for name in names)
        log.info("epoch %d: %s", record["epoch"], ", ".join(losses))

    return log_epoch


def load_model(name: str, folder: Path, device: str) -> Any:
    for file in ("model.safetensors", "model.json"):
        if not (folder / file).is_file():
            raise UserError(f"{folder / file} is missing; `disentree run` with the same settings makes it again")
    return _model_class(name).load(folder, device=device)


def _model_class(name: str) -> Any:
    module, cls = MODELS[name]
    return getattr(import_module(module), cls)


# ------------------------------------------------------------------ scores


def do_scores(run: Run, device: str, verbose: bool) -> str:
    data, model = run.data, run.model(device)
    rows = run.read_npz("labels.npz")
    train, test = rows["train"], rows["test"]
    hierarchy: Hierarchy = model.hierarchy_
    X, codes = data.X[test], model.transform(data.X[test])
    again = model.inverse_transform(codes)
    result: dict[str, Any] = {"n_train": len(train), "n_test": len(test), "scores": {}, "factors": [], "notes": []}
    run.write_npz("learned.npz", codes=codes, hierarchy=hierarchy.to_json(indent=None))
    if data.codes is not None and data.hierarchy is not None:
        truth = data.codes[test]
        run.write_npz("true.npz", codes=truth, hierarchy=data.hierarchy.to_json(indent=None))
        n_jobs = -1 if run.n_jobs is None else run.n_jobs
        run_scores.score_against_truth(result, truth, codes, data.hierarchy, hierarchy, run.config.seed, n_jobs)
        if hierarchy == run.hierarchy:
            run_scores.score_structure(result, data.hierarchy.path_of(data.codes[train]), rows)
    own = result["scores_without_truth"] = run_scores.reconstruction_errors(X, again)
    if hierarchy == run.hierarchy:  # not so for flat models, which know nothing of the paths
        own |= run_scores.agreement(model.transform(data.X[train]), codes, hierarchy, rows)
    own["description_length"] = hierarchy.description_length(codes)
    if "description_length" in (structure := run.read_json("structure.json")):
        own["mimosa_description_length"] = structure["description_length"]
    own |= run_scores.dependence(result, codes, hierarchy, run.config.seed)
    result["leaves"] = run_scores.leaves(hierarchy, rows["labels"]) if hierarchy == run.hierarchy else []
    shown = _some_of_each(hierarchy.path_of(codes))
    if data.kind == "series" and data.scale is not None and data.centre is not None:  # show their own units
        X, again = (values * data.scale + data.centre for values in (X[shown], again[shown]))
    else:
        X, again = X[shown], again[shown]
    run.write_npz("samples.npz", X=X, X_again=again, rows=shown, paths=hierarchy.path_of(codes)[shown])
    run.write_json("metrics.json", _plain(result))
    r4c = result["scores"].get("r4c")
    return f"R4c {r4c:.3f}" if r4c is not None else f"reconstruction R² {own['reconstruction_r2']:.3f}"


def _some_of_each(paths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    found, counts = np.unique(paths, return_counts=True)
    found = np.sort(found[np.argsort(-counts, kind="stable")[:SHOWN_PATHS]])
    return np.concatenate([np.flatnonzero(paths == p)[:SHOWN_PER_PATH] for p in found])


def _plain(value: Any) -> Any:
    """Numbers as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


# ------------------------------------------------------------------ figures and report


def do_figures(run: Run, device: str, verbose: bool) -> str:
    from matplotlib import pyplot as plt

    from disentree.runs.figures import figures

    drawn = 0
    for name, draw in figures(run, device).items():
        figure = draw()
        with atomic_path(run.folder / "figures" / f"{name}.png") as temporary:
            figure.savefig(temporary, dpi=110, facecolor="white", bbox_inches="tight", pad_inches=0.08)
        plt.close(figure)
        drawn += 1
    return f"{drawn} pictures"


def do_report(run: Run, device: str, verbose: bool) -> str:
    from disentree.runs.report import render

    with atomic_path(run.report_path) as temporary:
        temporary.write_text(render(run), encoding="utf-8")
    return str(run.report_path)
