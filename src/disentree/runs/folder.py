"""A run: a folder that holds everything made on the way from data to report.

    config.json        what was asked for, the command that repeats it, versions
    stages.json        which stages are finished, and how long each took
    data.json          what the data is and what was done to it
    hierarchy.json     the tree
    labels.npz         which rows were trained on and held out, and the path of each
    structure.json     what MIMOSA says about it, and representation.safetensors, the autoencoder that it
                       looked with, if there was need of one
    model.safetensors  the trained model, with model.json
    learned.npz        codes of the held-out rows, and true.npz where they are known
    samples.npz        a few held-out rows of each path and their reconstructions
    metrics.json       scores
    figures/           pictures of the above
    report.html        all of it on one page
    events.jsonl       what happened when, one line each

Every stage writes its files whole and is then marked as finished. A run that was stopped, by Ctrl-C or by a
power cut, goes on where it was when it is started again with the same settings.
"""

from __future__ import annotations

import json
import logging
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from disentree._version import __version__
from disentree.datasets import UserData, load_dataset, load_file
from disentree.datasets.user_files import digest_of
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.runs.config import RunConfig
from disentree.utils.files import atomic_path, locked, write_npz

log = logging.getLogger(__name__)

__all__ = ["Run", "RunConfig"]

FORMAT = 1
FEWEST_ROWS = 100
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "matplotlib")

# What each stage leaves behind; a stage whose files are gone is done again, and so are those after it.
STAGES: dict[str, tuple[str, ...]] = {
    "data": ("data.json",),
    "structure": ("hierarchy.json", "labels.npz", "structure.json"),
    "model": ("model.safetensors", "model.json"),
    "scores": ("metrics.json", "learned.npz", "samples.npz"),
    "figures": ("figures/tree.png", "figures/traversals.png"),
    "report": ("report.html",),
}
OTHER_FILES = (
    "representation.safetensors", "config.json", "stages.json", "events.jsonl", "true.npz", "scores.json", ".lock",
)  # fmt: skip


class Run:
    """A run folder. `Run.start` makes or continues one, `Run.open` reads one; `finish` does what is left."""

    def __init__(self, folder: str | os.PathLike[str], config: RunConfig, about: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.config = config
        self.about = about  # command, versions, time of creation
        self.n_jobs: int | None = None  # threads and processes; None for all there are
        self.on_mimosa: Callable[[Any], None] | None = None  # called with MIMOSA, fitted or as far as it came
        self.embedding: np.ndarray | None = None  # of all rows, where the paper's MIMOSA need not train for it

    # ---------------------------------------------------------------- making and opening

    @classmethod
    def start(cls, config: RunConfig, folder: str | os.PathLike[str], *, force: bool = False) -> Run:
        """A new run, or the one that is in the folder already if its settings are the same; if they are not,
        an error, or with `force` a new run in its place."""
        from disentree.runs.stages import check_settings

        folder = Path(folder)
        check_settings(config)
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file, not a folder")
        if (folder / "config.json").is_file():
            if not force:
                run = cls.open(folder)
                other = run.config.differences(config)
                if not other:
                    return run
                if "structure" in run.stages:  # else nothing was done that could be lost
                    told = f"{folder} holds a run with {'; '.join(other)}"
                    raise UserError(f"{told}: choose another folder, or --force to start over")
            clear(folder)
        elif folder.is_dir() and any(not p.name.startswith(".") for p in folder.iterdir()):
            raise UserError(f"{folder} is not empty and not a run folder: choose another folder")
        about = {
            "format": FORMAT,
            "config": config.model_dump(),
            "command": config.command(folder),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {"disentree": __version__, **{name: metadata.version(name) for name in PACKAGES}},
        }
        run = cls(folder, config, about)
        run.write_json("config.json", about)
        run.event("created", command=about["command"])
        return run

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Run:
        """The run in a folder."""
        folder = Path(folder)
        path = folder / "config.json"
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        if not path.is_file():
            raise UserError(f"{folder} is not a run folder: it has no config.json")
        about = read_json(path)
        if not isinstance(about, dict) or "config" not in about:
            raise UserError(f"{path} is not that of a run")
        if about.get("format", 0) > FORMAT:
            raise UserError(f"{folder} was made by a newer disentree than {__version__}")
        try:
            return cls(folder, RunConfig(**about["config"]), about)
        except (ValidationError, TypeError) as error:
            problem = str(error).splitlines()[-1 if isinstance(error, TypeError) else 0]
            raise UserError(f"{path} is not that of a run: {problem}") from None

    # ---------------------------------------------------------------- stages

    def finish(
        self,
        *,
        device: str = "auto",
        verbose: bool = False,
        report: bool = True,
        until: str | None = None,
        structure_from: Run | None = None,
    ) -> None:
        """Do every stage that is not done yet, in order. `report=False` stops before figures and report,
        `until` after the stage that it names. The structure is taken from another run of the same data and
        the same way to find it, if one is given."""
        from disentree.runs import stages as _stages

        if until is not None and until not in STAGES:
            raise UserError(f"there is no stage {until!r}; a run has {', '.join(STAGES)}")
        last = until or ("report" if report else "scores")
        with locked(self.folder / ".lock"):
            made_by = self.about.get("versions", {}).get("disentree")
            if made_by != __version__:
                log.warning("%s was begun with disentree %s; this is %s", self.folder, made_by, __version__)
            todo = self.unfinished()
            if len(todo) < len(STAGES) and todo:
                log.info("%s: %s done, going on with %s", self.folder, ", ".join(self.finished()), todo[0])
            for stage in todo:
                if list(STAGES).index(stage) > list(STAGES).index(last):
                    break
                if stage == "structure" and structure_from is not None:
                    self._do(stage, partial(_stages.copy_structure, self, structure_from))
                    continue
                self._do(stage, partial(getattr(_stages, f"do_{stage}"), self, device, verbose))

    def _do(self, stage: str, work: Callable[[], str]) -> None:
        if stage in self.stages:
            self.redo(stage)
        self.event("start", stage=stage)
        began = time.perf_counter() - (self._trained_before() if stage == "model" else 0.0)
        try:
            told = work()
        except BaseException as error:  # Ctrl-C too; what is finished stays finished
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            self.event(what, stage=stage, error=f"{type(error).__name__}: {error}")
            if isinstance(error, KeyboardInterrupt):
                log.info("stopped in stage %r", stage)
            raise
        seconds = time.perf_counter() - began
        self.write_json("stages.json", {**self.stages, stage: {"seconds": round(seconds, 3)}})
        self.event("done", stage=stage, seconds=round(seconds, 3))
        log.info("%s: %.1f s%s", stage, seconds, f", {told}" if told else "")

    def _trained_before(self) -> float:
        """Seconds of the epochs that an interrupted training has left in its checkpoint."""
        if not (self.folder / "checkpoint" / "checkpoint.safetensors").is_file():
            return 0.0
        seconds: dict[int, float] = {}
        for line in (self.folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):  # half of a line, if the power went
                event = json.loads(line)
                if event["event"] == "epoch":
                    seconds[event["epoch"]] = event["seconds"]
                elif event["event"] == "done" and event["stage"] == "model":
                    seconds.clear()
        return sum(seconds.values())

    @property
    def stages(self) -> dict[str, dict[str, Any]]:
        path = self.folder / "stages.json"
        return read_json(path) if path.is_file() else {}

    def finished(self) -> list[str]:
        """The stages that need not be done again."""
        marked, out = self.stages, []
        for stage, files in STAGES.items():
            if stage not in marked or not all((self.folder / file).is_file() for file in files):
                break
            out.append(stage)
        return out

    def unfinished(self) -> list[str]:
        done = self.finished()
        return [stage for stage in STAGES if stage not in done]

    def redo(self, *stages: str) -> None:
        """Forget that these stages, and those that come after them, were done."""
        first = min(list(STAGES).index(stage) for stage in stages)
        kept = {name: about for name, about in self.stages.items() if list(STAGES).index(name) < first}
        self.write_json("stages.json", kept)

    # ---------------------------------------------------------------- what is in the folder

    @cached_property
    def data(self) -> UserData:
        """The data, read or made again; the run folder has no copy of it."""
        config = self.config
        if config.kind == "dataset":
            ds = load_dataset(config.source, config.n_samples or 100_000, config.seed, **config.options)
            kind = "images" if ds.X.ndim > 2 else "series"
            told = (f"{len(ds):,} samples of the benchmark {ds.name}, seed {ds.seed}",)
            return UserData(ds.name, kind, ds.X, told, codes=ds.codes, hierarchy=ds.hierarchy)
        if not Path(config.source).exists():
            raise UserError(f"{config.source} is not there any more, and the run needs it to go on")
        if digest_of(config.source) != config.digest:
            raise UserError(f"{config.source} has changed since the run began: --force starts over")
        data = load_file(config.source, **config.options)
        if config.n_samples is not None and config.n_samples < len(data):
            rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=(3,)))
            data = data.take(np.sort(rng.choice(len(data), config.n_samples, replace=False)))
        return data

    def split(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and rows held out, each in order."""
        rng = np.random.default_rng(np.random.SeedSequence(self.config.seed, spawn_key=(2,)))
        order = rng.permutation(n_rows)
        n_test = max(1, round(n_rows * self.config.held_out))
        return np.sort(order[n_test:]), np.sort(order[:n_test])

    @property
    def hierarchy(self) -> Hierarchy:
        """The learned tree."""
        return self._hierarchy("hierarchy.json")

    def _hierarchy(self, name: str) -> Hierarchy:
        try:
            return Hierarchy.from_dict(read_json(self.folder / name))
        except ValueError as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{self.folder / name} is damaged: {error}") from None

    def model(self, device: str = "auto") -> Any:
        """The trained model."""
        from disentree.runs import stages as _stages

        return _stages.load_model(self.config.model, self.folder, device)

    def codes(self, name: Literal["learned", "true"]) -> tuple[np.ndarray, Hierarchy] | None:
        """Codes of the held-out rows and their hierarchy; None if there is no ground truth."""
        path = self.folder / f"{name}.npz"
        if name == "true" and not path.is_file():
            return None
        arrays = self.read_npz(f"{name}.npz", "codes", "hierarchy")
        return arrays["codes"], Hierarchy.from_json(str(arrays["hierarchy"]))

    @property
    def metrics(self) -> dict[str, Any]:
        return read_json(self.folder / "metrics.json")

    @property
    def report_path(self) -> Path:
        return self.folder / "report.html"

    # ---------------------------------------------------------------- reading and writing

    def read_json(self, name: str) -> Any:
        return read_json(self.folder / name)

    def write_json(self, name: str, value: Any) -> None:
        with atomic_path(self.folder / name) as temporary:
            temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def read_npz(self, name: str, *needed: str) -> dict[str, np.ndarray]:
        path = self.folder / name
        try:
            with path.open("rb") as file:
                loaded = np.load(file, allow_pickle=False)
                return {key: loaded[key] for key in needed or list(loaded)}
        except FileNotFoundError:
            raise UserError(f"{path} is missing; `disentree run` with the same settings makes it again") from None
        except (ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise UserError(_damaged(path, error)) from None

    def write_npz(self, name: str, **arrays: Any) -> None:
        with atomic_path(self.folder / name) as temporary:
            write_npz(temporary, {key: np.asarray(value) for key, value in arrays.items()})

    def event(self, event: str, **more: Any) -> None:
        """Append a line to events.jsonl."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **more}
        with (self.folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def check_enough_rows(data: UserData, source: str) -> None:
    if len(data) < FEWEST_ROWS:
        raise UserError(f"{source} has {len(data)} usable rows; at least {FEWEST_ROWS} are needed")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing; `disentree run` with the same settings makes it again") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    return f"{path} is damaged ({error}): delete it, and the same `disentree run` makes it again"


def clear(folder: Path) -> None:
    """Remove the files of a run, and nothing else."""
    names = [*OTHER_FILES, *(file for files in STAGES.values() for file in files)]
    # config.json last: what is left of a folder whose clearing was interrupted is still a run
    for name in sorted(names, key=lambda name: name == "config.json"):
        (folder / name).unlink(missing_ok=True)
        if name == "stages.json":
            for picture in (folder / "figures").glob("*.png"):
                picture.unlink()
            (folder / "checkpoint" / "checkpoint.safetensors").unlink(missing_ok=True)
            for emptied in ("figures", "checkpoint"):
                with suppress(OSError):  # someone's own files are in it
                    (folder / emptied).rmdir()
