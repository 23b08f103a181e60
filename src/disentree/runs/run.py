"""A run: a folder that holds everything made on the way from data to report.

    config.json        what was asked for, the command that repeats it, versions
    stages.json        which stages are finished, and how long each took
    data.json          what the data is and what was done to it
    steering.json      what was done to the tree after it was found: cut, merged, split, renamed
    found/             the MIMOSA before that was done
    hierarchy.json     the tree
    labels.npz         which rows were trained on and held out, and the path of each
    paths.npy          the path of every row of a file with so many that the run works with a sample
    structure.json     how the tree was found, for people
    mimosa/            the MIMOSA that found it, as `MIMOSA.save` writes it
    model.safetensors  the trained model, with model.json, as `COFHAE.save` writes it
    learned.npz        codes of the held-out rows, and true.npz where they are known
    samples.npz        a few held-out rows of each path and their reconstructions
    metrics.json       scores
    leaves.json        a table's columns in each leaf, and typical rows
    map.npz            where rows lie in two dimensions, for the explorer
    explanation.json   why the tree branches where it does, and what each variable does, in terms of columns
    names.json         names for branches and variables, which the report and the page show; yours to edit
    stability.json     how often each leaf came back in resamples of the rows, if that was asked for
    figures/           pictures of the above, PNG and PDF
    report.html        all of it on one page
    scores.tex         the scores as a table for LaTeX
    events.jsonl       what happened when, one line each

`Run` reads and writes these files; `stages` knows in which order they are made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import BaseModel, ValidationError

from disentree._version import __version__
from disentree.datasets import UserData
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy, Move
from disentree.hierarchy.moves_as_json import move_from_dict
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER
from disentree.runs.config import RunConfig
from disentree.runs.data import load_data, split_rows
from disentree.runs.files.folder import Folder
from disentree.runs.files.json_files import read_events, read_sealed
from disentree.runs.files.schemas import (
    STEERING,
    DataDescription,
    Metrics,
    StageRecord,
    SteeringFile,
    Step,
    StructureDescription,
    problem_of_arrays,
)
from disentree.runs.models import load_mimosa, load_model

log = logging.getLogger(__name__)

FORMAT = 2
AFTER_A_CHANGE = ("stability", "figures", "report")  # stages that another number of resamples makes again
# Held by the process that is at work in the folder. It stays when a run is started over, and is removed only
# with a folder in which nothing was finished.
LOCK = ".lock"
_NOT_A_TREE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class Run(Folder):
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
        super().__init__(folder, f"`{config.command(folder)}` makes it again")
        self.config = config
        self.about = about
        self.engine: Any = None  # where passes over a large file are made; None for threads of this process

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
            If the folder holds no run, or one that is damaged or of another format.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        try:
            return cls._from_about(folder, read_sealed(folder / "config.json"))
        except UserError as error:
            for event in reversed(read_events(folder)):
                if "about" in event:  # as it was created, or changed later
                    run = cls._from_about(folder, event["about"])
                    log.warning("%s; its content is taken from events.jsonl", str(error).partition(":")[0])
                    return run
            if not (folder / "config.json").exists():
                raise UserError(f"{folder} is not a run folder: it has no config.json") from None
            raise

    @classmethod
    def _from_about(cls, folder: Path, about: Any) -> Run:
        """The run that `about`, the content of config.json, describes."""
        path = folder / "config.json"
        if not isinstance(about, dict) or not isinstance(about.get("config"), dict):
            raise UserError(f"{path} is not a run configuration")
        texts = about.get("versions", {})
        if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
            raise UserError(f"{path} is not a run configuration")
        about = {"command": "disentree run", "created": "", **about, "versions": {"disentree": "unknown", **texts}}
        version, made_by = about.get("format", FORMAT), about["versions"]["disentree"]
        if not isinstance(version, int) or version > FORMAT:
            raise UserError(f"{folder} was made by a newer disentree than {__version__}")
        if version < FORMAT:
            old = f"{folder} was made by disentree {made_by}, whose run folders are not read any more"
            raise UserError(f"{old}: run it again in another folder, or here with --force")
        try:
            return cls(folder, RunConfig(**about["config"]), about)
        except (ValidationError, TypeError) as error:
            problem = str(error).splitlines()[-1 if isinstance(error, TypeError) else 0]
            raise UserError(f"{path} is not a run configuration: {problem}") from None

    # ---------------------------------------------------------------- what is in the folder

    @cached_property
    def data(self) -> UserData:
        """The data, read or made again; the run folder has no copy of it."""
        return load_data(self.config, self.engine)

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
        return self.read_checked("data.json", DataDescription)

    @property
    def structure(self) -> dict[str, Any]:
        """What ``structure.json`` says about how the tree was found."""
        return self.read_checked("structure.json", StructureDescription)

    @property
    def steps(self) -> list[Step]:
        """What users did to the tree after it was found, in order."""
        about = Folder.read_optional(self, STEERING, SteeringFile) or {"steps": []}
        return SteeringFile.model_validate(about).steps

    @property
    def move(self) -> Move | None:
        """How the variables of the tree that was found stand in the model's tree, if the model has moved some."""
        if not (self.folder / "model.json").is_file():
            return None
        about = self.read_json("model.json")
        try:
            move = (
                move_from_dict(about["move"], Hierarchy.from_dict(about["hierarchy"]))
                if about.get("move")
                else None
            )
        except _NOT_A_TREE as error:
            raise self.damaged("model.json", error) from None
        # The file may be of a model that was trained before the tree was found again.
        return move if move is not None and move.before.to_dict() == self.found_hierarchy.to_dict() else None

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree that was found or given, with variables where the trained model has them."""
        move = self.move
        return self.found_hierarchy if move is None else move.after

    @property
    def found_hierarchy(self) -> Hierarchy:
        """The tree that was found or given, as it was before the model was trained."""
        about = self.read_json("hierarchy.json")
        try:
            return Hierarchy.from_dict(about)
        except _NOT_A_TREE as error:
            raise self.damaged("hierarchy.json", error) from None

    @property
    def mimosa(self) -> Any:
        """The fitted MIMOSA that found the tree; None if it was given, or part of the data."""
        if not (self.folder / MIMOSA_FOLDER / "mimosa.json").is_file():
            return None
        return load_mimosa(self.folder / MIMOSA_FOLDER)

    def model(self, device: str = "auto") -> Any:
        """The trained model, for features: rows as `data.X` has them. Its paths are those of its encoder, unless
        they are given.

        Parameters
        ----------
        device : str, default="auto"
            Where it computes: "auto", "cpu", "cuda" or "mps".

        Returns
        -------
        estimator
            Of the class that `config.model` names.
        """
        return load_model(self.config.model, self.folder, device).in_features()

    @property
    def is_assigned(self) -> bool:
        """Whether MIMOSA says which path a row is on, and not the encoder of the model."""
        return bool(self.read_json("model.json").get("mimosa"))

    def encode(self, model: Any, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m v"]:
        """Codes of some rows of the data: on the paths of MIMOSA, if that assigns rows.

        Parameters
        ----------
        model : estimator
            That of `model`.
        rows : array of shape (m,)
            Their numbers.

        Returns
        -------
        array of shape (m, v)
        """
        X = self.data.X[rows]
        return model.transform(X, paths=self.paths[rows]) if self.is_assigned else model.transform(X)

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
        arrays = self.read_arrays(f"{name}.npz", "codes", "hierarchy")
        try:
            hierarchy = Hierarchy.from_json(str(arrays["hierarchy"]))
            return hierarchy.validate(arrays["codes"]), hierarchy
        except _NOT_A_TREE as error:
            raise self.damaged(f"{name}.npz", error) from None

    @property
    def learned(self) -> tuple[Float[np.ndarray, "n v"], Hierarchy]:
        """The learned codes of the held-out rows, and the model's tree."""
        found = self.codes("learned")
        assert found is not None
        return found

    @property
    def paths(self) -> Int[np.ndarray, " n"]:
        """The path of every row in the tree, -1 for none."""
        rows = self.read_npz("labels.npz", "train", "test", "labels", "test_labels")
        out = np.full(len(rows["train"]) + len(rows["test"]), -1)
        out[rows["train"]], out[rows["test"]] = rows["labels"], rows["test_labels"]
        return out

    @property
    def learned_tree(self) -> tuple[Hierarchy, Int[np.ndarray, " n"]]:
        """The model's tree and the path of each row in it; of each held-out row if it is not the tree that the
        model was given, for then (in flat models) nothing says which path a row should be on."""
        codes, hierarchy = self.learned
        if hierarchy == self.hierarchy:
            return hierarchy, self.paths
        return hierarchy, hierarchy.path_of(codes)

    @property
    def metrics(self) -> dict[str, Any]:
        """The scores."""
        return self.read_checked("metrics.json", Metrics)

    @property
    def stages(self) -> dict[str, dict[str, Any]]:
        """By name of each stage that is marked as finished: how many seconds it took, and its files."""
        try:
            found = read_sealed(self.folder / "stages.json")
        except UserError:  # it says what events.jsonl says too
            found = {}
            for event in self.read_events():
                if event["event"] == "start":
                    found.pop(event["stage"], None)
                elif event["event"] == "changed":
                    found = {name: record for name, record in found.items() if name not in AFTER_A_CHANGE}
                elif event["event"] == "steered":
                    found = {name: record for name, record in found.items() if name == "data"}
                elif event["event"] == "done" and "files" in event:
                    found[event["stage"]] = {key: event.get(key) for key in ("seconds", "cpu_seconds", "files")}
        stages = {}
        for name, record in found.items() if isinstance(found, dict) else ():
            try:
                stages[name] = StageRecord.model_validate(record).model_dump()
            except ValidationError:  # as if it were not finished
                continue
        return stages

    def read_optional(self, name: str, schema: type[BaseModel]) -> dict[str, Any] | None:
        """What a JSON file that only some runs have holds; one that a finished stage has written must be there.

        Parameters
        ----------
        name : str
            The file.
        schema : type of pydantic.BaseModel
            What it must be.

        Returns
        -------
        dict or None
            None if there is no such file.
        """
        is_known = any(name in record["files"] for record in self.stages.values())
        return self.read_checked(name, schema) if is_known else super().read_optional(name, schema)

    @property
    def report_path(self) -> Path:
        """The file of the report."""
        return self.folder / "report.html"

    def read_npz(self, name: str, *needed: str) -> dict[str, np.ndarray]:
        """The arrays of an npz file of the folder; those of ``labels.npz`` and ``samples.npz`` are checked.

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
        arrays = self.read_arrays(name, *needed)
        if name in ("labels.npz", "samples.npz"):
            about = self.about_data
            hierarchy = (
                self.learned[1] if name == "samples.npz" else self.found_hierarchy
            )  # a flat model has its own
            expected = {"n_rows": about["n_rows"], "n_paths": len(hierarchy.paths), "shape": tuple(about["shape"])}
            if problem := problem_of_arrays(arrays, **expected):
                raise self.damaged(name, problem)
        return arrays
