"""Doing one run of a study, in whatever process it is."""

from __future__ import annotations

import json
import logging
import os
import platform
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from disentree.datasets import registered as datasets
from disentree.errors import NoComponentFound
from disentree.metrics import registered as metrics
from disentree.runs import models
from disentree.runs.plain import is_plain, score_plain
from disentree.studies.running.task import Task
from disentree.utils.files import locked, write_json
from disentree.utils.threads import threads
from disentree.utils.versions import build_versions

log = logging.getLogger(__name__)

PATIENCE = 30  # seconds: a process whose study was killed needs a moment to notice, and to let go of its run
LOCK = ".worker.lock"  # that of the run, .lock, is held from stage to stage
# in addition to those of the run
OWN_FILES = ("result.json", "failure.json", "embedding.npz", "representation.npz")
MORE_METRICS = ("mig", "sap", "factor_vae", "dci")  # than every run has
SHOWN_POINTS = 6000  # of an embedding that are kept for pictures


@dataclass(frozen=True)
class Registered:
    """What the process of the study has registered, for the processes that do its runs."""

    datasets: Mapping[str, Any]
    models: Mapping[str, Any]
    metrics: Mapping[str, Any]

    @classmethod
    def now(cls) -> Registered:
        own = {name: model for name, model in models.MODELS.items() if model.kind == "own"}
        return cls(dict(datasets.OWN), own, dict(metrics.OWN))

    def register(self) -> None:
        datasets.OWN.update(self.datasets)
        models.MODELS.update(self.models)
        metrics.OWN.update(self.metrics)


def execute(
    study: str, described: Mapping[str, Any], patience: float = PATIENCE, registered: Registered | None = None
) -> dict[str, Any]:
    """Do a run and write its `result.json`; a run that failed says how. Nothing is raised: exceptions of other
    processes do not always survive the way home. A run that another process is doing is waited for, as many
    seconds as there is patience for."""
    if registered is not None:
        registered.register()
    task = Task(**described)
    folder = Path(study) / "runs" / task.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK, patience=patience):
            if (result := read_result(folder, task)) is not None:  # done while we waited
                return result
            with _one_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what matters is in the result
                result = _do(task, folder, Path(study))
            write_json(folder / "result.json", result)
            return result
    except KeyboardInterrupt:
        return {"error": "stopped"}
    except Exception as error:
        message = _without_folder(f"{type(error).__name__}: {error}", study)
        try:
            write_json(folder / "failure.json", {"error": message, "traceback": traceback.format_exc()})
        except OSError:
            log.warning("%s: could not write down why it failed", folder)
        return {"error": message}


def _without_folder(sentence: str, study: str) -> str:
    """A sentence for the report: where the study lies on this machine concerns no reader."""
    for folder in (study, str(Path(study).resolve())):
        if Path(folder).is_absolute():
            sentence = sentence.replace(f"{folder}{os.sep}", "").replace(folder, "the study's folder")
    return sentence


def read_result(folder: Path, task: Task) -> dict[str, Any] | None:
    """What a finished run found, or None if it is not finished or was a different one."""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError, json.JSONDecodeError):
        return None
    try:  # one of an earlier version lacks what was added since, with its default
        return result if Task(**result["task"]) == task else None
    except (ValidationError, TypeError, KeyError):
        return None


def forget(folder: Path) -> None:
    """Remove the files of a run, so that it is repeated."""
    from disentree.runs.start import clear_run

    if folder.is_dir():
        with locked(folder / LOCK, patience=PATIENCE):
            for name in OWN_FILES:
                (folder / name).unlink(missing_ok=True)
            clear_run(folder)


def _do(task: Task, folder: Path, study: Path) -> dict[str, Any]:
    import matplotlib

    from disentree.runs import Run, finish_run, start_run

    if task.method is not None:  # it only labels rows
        from disentree.studies.running.labeling import label_rows

        values, cpu_seconds = label_rows(task)
        return _result(task, values, {"structure": round(cpu_seconds, 3)}, {})
    if is_plain(task.config.model):
        start = time.process_time()
        values = score_plain(task.config, ("r4c", *task.metrics))
        return _result(task, values, {"model": round(time.process_time() - start, 3)}, {})
    matplotlib.use("Agg")
    began = time.perf_counter()
    (folder / "result.json").unlink(missing_ok=True)
    (folder / "failure.json").unlink(missing_ok=True)
    run = start_run(task.config, folder, force=_is_other(folder, task))
    shared = Run.open(study / "runs" / task.structure_from) if task.structure_from else None
    embedding = None
    if task.embedding_from:
        embedding = Run.open(study / "runs" / task.embedding_from).read_npz("representation.npz", "Z")["Z"]
    try:
        finish_run(
            run,
            until=task.until,
            device="cpu",
            n_jobs=1,
            structure_from=shared,
            embedding=embedding,
            on_mimosa=(lambda mimosa: _keep_mimosa(run, mimosa, task)) if task.extras else None,
        )
        values = _values(run, task)
        stages = {name: stage["seconds"] for name, stage in run.stages.items()}
        cpu = {name: stage["cpu_seconds"] for name, stage in run.stages.items()}
    except NoComponentFound:
        if task.until != "structure":
            raise
        values = _nothing_found(run)
        stages, cpu = {"structure": round(time.perf_counter() - began, 3)}, {}
    steps = run.structure.get("timings", {}) if (folder / "structure.json").is_file() else {}
    return _result(task, values, stages, steps, cpu)


def _result(
    task: Task,
    values: dict[str, Any],
    stages: Mapping[str, float],
    structure: Mapping[str, float],
    cpu: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    return {
        "task": task.model_dump(mode="json"),
        "values": values,
        "seconds": {
            "total": round(sum(stages.values()), 3),  # of all the times that it was stopped and went on
            "stages": stages,
            "cpu": dict(cpu or {}),  # processor time of each stage
            "structure": structure,
        },
        "versions": build_versions(),
        "host": platform.node(),
        "pid": os.getpid(),
    }


def _is_other(folder: Path, task: Task) -> bool:
    """Whether the folder holds a run with other settings, as an older version may have planned it."""
    from disentree.errors import UserError
    from disentree.runs.run import Run

    if not (folder / "config.json").is_file():
        return False
    try:
        return bool(Run.open(folder).config.differences(task.config))
    except UserError:  # damaged
        return True


def _values(run: Any, task: Task) -> dict[str, Any]:
    """What the table shows: numbers that depend on the settings alone, not on time and place."""
    from disentree.metrics import evaluate, h_error, placement_error
    from disentree.runs.steps.scores import structure_scores

    structure, rows = run.structure, run.read_npz("labels.npz")
    data = run.data
    values: dict[str, Any] = {}
    if task.until == "structure":
        true_paths = data.hierarchy.path_of(data.codes[rows["train"]])
        values["h_error"] = h_error(data.hierarchy, run.hierarchy)
        values["placement_error"] = placement_error(data.hierarchy, run.hierarchy)
        values |= structure_scores(true_paths, rows)
    else:
        metrics = run.metrics
        values |= {**metrics["scores"], **metrics["scores_without_truth"]}
        values["factors"] = {factor["factor"]: factor["score"] for factor in metrics["factors"]}
        values["r4_factors"] = {factor["factor"]: factor["score"] for factor in metrics.get("r4_factors", ())}
        values["notes"] = metrics["notes"]
        model = run.model("cpu")
        values |= {"epochs": len(model.history_), "diverged": bool(getattr(model, "diverged_", False))}
    values["components"] = len(run.hierarchy.paths)
    values["dimensions"] = [path.dimension for path in run.hierarchy.paths]
    if structure["description_length"] is not None:
        values.setdefault("mimosa_description_length", structure["description_length"])
    if names := [*task.metrics, *(MORE_METRICS if "metrics" in task.extras else ())]:
        (V, v_tree), (Z, z_tree) = run.codes("true"), run.codes("learned")
        seed = task.config.seed
        values |= evaluate(V, Z, v_tree, z_tree, metrics=names, random_state=seed, n_jobs=1)["scores"]
    return values


def _nothing_found(run: Any) -> dict[str, Any]:
    """The paper's MIMOSA may drop every component; then no row is covered and the tree is a bare root."""
    from disentree.hierarchy import Hierarchy
    from disentree.metrics import h_error

    error = h_error(run.data.hierarchy, Hierarchy.flat(0))
    return {"h_error": error, "purity": None, "coverage": 0.0, "purity_all_rows": None, "components": 0}


def _keep_mimosa(run: Any, mimosa: Any, task: Task) -> None:
    """Points of the embedding, and the paper's figure of how the tree was found."""
    import numpy as np

    data = run.data
    train, _ = run.split(len(data))
    true = data.hierarchy.path_of(data.codes[train])
    if "representation" in task.extras and hasattr(mimosa, "representation_"):
        run.write_npz("representation.npz", Z=mimosa.representation_.transform(data.X))
    if not hasattr(mimosa, "labels_"):  # no component was found
        return
    if "embedding" in task.extras:
        rng = np.random.default_rng(task.config.seed)
        some = np.sort(rng.choice(len(true), min(len(true), SHOWN_POINTS), replace=False))
        Z = mimosa.embedding_[some]
        run.write_npz("embedding.npz", Z=Z, true_paths=true[some], labels=mimosa.labels_[some])
    if "picture" in task.extras:
        from disentree.plots import draw_mimosa
        from disentree.plots.saving import save_figure

        save_figure(draw_mimosa(mimosa, true), run.folder / "figures" / "mimosa")


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for everything: runs stand side by side, and sums come out the same everywhere."""
    import torch
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    torch_before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threads(1), threadpool_limits(1), parallel_config(backend="sequential"):
            yield
    finally:
        torch.set_num_threads(torch_before)
