"""A run: a folder that holds everything made on the way from data to report.

    config.json        what was asked for, the command that repeats it, versions
    stages.json        which stages are finished, and how long each took
    data.json          what the data is and what was done to it
    hierarchy.json     the tree
    labels.npz         which rows were trained on and held out, and the path of each
    structure.json     how the tree was found, and representation.safetensors, the initial representation if it
                       is an autoencoder
    model.safetensors  the trained model, with model.json
    learned.npz        codes of the held-out rows, and true.npz where they are known
    samples.npz        a few held-out rows of each path and their reconstructions
    metrics.json       scores
    figures/           pictures of the above
    report.html        all of it on one page
    events.jsonl       what happened when, one line each

`Run` reads and writes these files; `stages` knows in which order they are made.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import ValidationError

from disentree._version import __version__
from disentree.datasets import UserData
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.runs.config import RunConfig
from disentree.runs.data import load_data, split_rows
from disentree.runs.models import load_model
from disentree.utils.files import atomic_path, locked, write_json, write_npz
from disentree.utils.versions import build_versions

FORMAT = 1


class Run:
    """A run folder: its settings, and the files in it.

    `disentree.runs.start_run` makes one and `disentree.runs.finish_run` does its stages.

    Parameters
    ----------
    folder : str or path
        The folder.
    config : RunConfig
        What the run computes.
    about : mapping
        What ``config.json`` holds: the settings, the command that repeats the run, its time of creation, versions.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import Run, RunConfig, finish_run, start_run
    >>> config = RunConfig.of("chopsticks-depth2-inter", n_samples=200, structure="true")
    >>> run = start_run(config, tempfile.mkdtemp())
    >>> finish_run(run, until="structure")
    >>> Run.open(run.folder).hierarchy.paths[0].name
    'chop1=stop'
    >>> run.read_npz("labels.npz")["labels"].shape
    (180,)
    """

    def __init__(self, folder: str | os.PathLike[str], config: RunConfig, about: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.config = config
        self.about = about

    @classmethod
    def create(cls, config: RunConfig, folder: str | os.PathLike[str]) -> Run:
        """Write the settings of a new run to a folder that holds none.

        Parameters
        ----------
        config : RunConfig
            The settings.
        folder : str or path
            The folder, which is made if it does not exist.

        Returns
        -------
        Run
        """
        about = {
            "format": FORMAT,
            "config": config.model_dump(),
            "command": config.command(folder),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": build_versions(),
        }
        run = cls(folder, config, about)
        run.write_json("config.json", about)
        run.log_event("created", command=about["command"])
        return run

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Run:
        """The run in a folder.

        Parameters
        ----------
        folder : str or path
            The folder.

        Returns
        -------
        Run

        Raises
        ------
        UserError
            If the folder holds no run, or one that is damaged or made by a newer version.
        """
        folder = Path(folder)
        path = folder / "config.json"
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        if not path.is_file():
            raise UserError(f"{folder} is not a run folder: it has no config.json")
        about = read_json(path)
        if not isinstance(about, dict) or "config" not in about:
            raise UserError(f"{path} is not a run configuration")
        if about.get("format", 0) > FORMAT:
            raise UserError(f"{folder} was made by a newer disentree than {__version__}")
        try:
            return cls(folder, RunConfig(**about["config"]), about)
        except (ValidationError, TypeError) as error:
            problem = str(error).splitlines()[-1 if isinstance(error, TypeError) else 0]
            raise UserError(f"{path} is not a run configuration: {problem}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock; an error if another process has it."""
        with locked(self.folder / ".lock"):
            yield

    # ---------------------------------------------------------------- what is in the folder

    @cached_property
    def data(self) -> UserData:
        """The data, read or made again; the run folder has no copy of it."""
        return load_data(self.config)

    def split(self, n_rows: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
        """Split rows at random into training and held-out rows.

        Parameters
        ----------
        n_rows : int
            How many rows there are.

        Returns
        -------
        tuple of two arrays
            Rows to train on and rows held out, each in order. The same settings give the same rows.
        """
        return split_rows(self.config, n_rows)

    @property
    def about_data(self) -> dict[str, Any]:
        """What ``data.json`` says about the data."""
        about = self.read_json("data.json")
        if "centre" in about:  # an older name
            about["center"] = about.pop("centre")
        return about

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree that was found or given."""
        path = self.folder / "hierarchy.json"
        try:
            return Hierarchy.from_dict(read_json(path))
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"{path} is damaged: {error}") from None

    def model(self, device: str = "auto") -> Any:
        """The trained model.

        Parameters
        ----------
        device : str, default="auto"
            Where it computes: "auto", "cpu", "cuda" or "mps".

        Returns
        -------
        estimator
            Of the class that `config.model` names.
        """
        return load_model(self.config.model, self.folder, device)

    def codes(self, name: Literal["learned", "true"]) -> tuple[Float[np.ndarray, "n v"], Hierarchy] | None:
        """Codes of the held-out rows.

        Parameters
        ----------
        name : {"learned", "true"}
            Whose codes.

        Returns
        -------
        tuple of an array of shape (n, v) and a Hierarchy, or None
            The codes and their hierarchy; None if true codes are not known.
        """
        path = self.folder / f"{name}.npz"
        if name == "true" and not path.is_file():
            return None
        arrays = self.read_npz(f"{name}.npz", "codes", "hierarchy")
        return arrays["codes"], Hierarchy.from_json(str(arrays["hierarchy"]))

    @property
    def metrics(self) -> dict[str, Any]:
        """The scores."""
        return self.read_json("metrics.json")

    @property
    def stages(self) -> dict[str, dict[str, Any]]:
        """By name of each stage that is marked as finished: how many seconds it took."""
        path = self.folder / "stages.json"
        return read_json(path) if path.is_file() else {}

    @property
    def report_path(self) -> Path:
        """The file of the report."""
        return self.folder / "report.html"

    # ---------------------------------------------------------------- reading and writing

    def read_json(self, name: str) -> Any:
        """What a JSON file of the folder holds.

        Parameters
        ----------
        name : str
            The file.

        Returns
        -------
        object
        """
        return read_json(self.folder / name)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file of the folder.

        Parameters
        ----------
        name : str
            The file.
        value : object
            What it holds.
        """
        write_json(self.folder / name, value)

    def read_npz(self, name: str, *needed: str) -> dict[str, np.ndarray]:
        """The arrays of an npz file of the folder.

        Parameters
        ----------
        name : str
            The file.
        *needed
            Names of arrays; all of them if none is given.

        Returns
        -------
        dict of str to array
        """
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
        """Write an npz file of the folder.

        Parameters
        ----------
        name : str
            The file.
        **arrays
            Its arrays.
        """
        with atomic_path(self.folder / name) as temporary:
            write_npz(temporary, {key: np.asarray(value) for key, value in arrays.items()})

    def log_event(self, event: str, **more: Any) -> None:
        """Append a line to events.jsonl.

        Parameters
        ----------
        event : str
            What happened.
        **more
            More about it, as JSON has it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **more}
        with (self.folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def read_events(self) -> list[dict[str, Any]]:
        """The lines of events.jsonl; lines that are cut short or damaged are left out."""
        path = self.folder / "events.jsonl"
        if not path.is_file():
            return []
        events = []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                event = json.loads(line)
            except (json.JSONDecodeError, RecursionError):
                continue
            if isinstance(event, dict) and "event" in event:
                events.append(event)
        return events


def read_json(path: Path) -> Any:
    """What a JSON file of a run holds, or an error that says how to get it back."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing; `disentree run` with the same settings makes it again") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    return f"{path} is damaged ({error}): delete it, and the same `disentree run` makes it again"
