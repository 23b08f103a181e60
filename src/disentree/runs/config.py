"""The settings of a run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from disentree.datasets import dataset_info
from disentree.datasets.files.arrays import knows_truth
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.user_files import ARRAYS, TABLES, digest_of, options_of, tables_at
from disentree.errors import UserError
from disentree.runs.models import find_model, makes_runs

N_SAMPLES = {"quick": 20_000, "default": 100_000, "paper": 100_000}  # of a benchmark, by preset
NEAR = 0.75  # likeness of names from which on one may be meant for the other
SET_BY_RUN = ("checkpoint", "events", "callbacks", "mimosa")  # settings of a model that are the run's own


class RunConfig(BaseModel):
    """What a run computes. Two runs with equal settings make the same files.

    `RunConfig.of` makes one and checks it.

    Attributes
    ----------
    source : str
        The name of a benchmark, or a file or folder.
    kind : {"dataset", "file"}
        Which of the two.
    digest : str
        Checksum of a file: the same name may hold other data tomorrow.
    n_samples : int, optional
        Samples of a benchmark, or of a file a random subset of this many rows.
    seed : int
        Seed of everything random.
    options : dict
        Options of `load_dataset` or of `load_file`.
    structure : {"mimosa", "mimosa-paper", "true", "given"}
        Where the tree comes from.
    structure_settings : dict
        Parameters of `MIMOSA` or of `MIMOSA.paper`.
    hierarchy_file, labels_file : str, optional
        The tree and the path of every row, if they are given.
    structure_digest : str
        Checksum of these two files.
    model : str
        The name of a model, or ``package.module:Class``.
    preset : {"quick", "default", "paper"}
        Which settings the model has.
    model_settings : dict
        Parameters of the model that differ from its preset.
    epochs : int, optional
        Epochs of training, if they differ from the preset's.
    held_out : float
        Fraction of the rows that are scored and not trained on.
    resamples : int, optional
        Resamples of the rows that show how much of the tree comes back; 0 for none. 10 if None, and none with the
        preset "quick" or with the latent of an autoencoder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    kind: Literal["dataset", "file"]
    digest: str = ""
    n_samples: int | None = Field(default=None, ge=1)
    seed: int = Field(default=0, ge=0)
    options: dict[str, Any] = {}
    structure: Literal["mimosa", "mimosa-paper", "true", "given"] = "mimosa"
    structure_settings: dict[str, Any] = {}
    hierarchy_file: str | None = None
    labels_file: str | None = None
    structure_digest: str = ""
    model: str = "cofhae"
    preset: Literal["quick", "default", "paper"] = "default"
    model_settings: dict[str, Any] = {}
    epochs: int | None = Field(default=None, ge=1)
    held_out: float = Field(default=0.1, gt=0, lt=1)
    resamples: int | None = Field(default=None, ge=0)

    @classmethod
    def of(
        cls, source: str, *, preset: str = "default", n_samples: int | None = None, **settings: Any
    ) -> RunConfig:
        """Settings for a benchmark by its name, or for a file, checked before any work is done.

        Parameters
        ----------
        source : str
            The name of a benchmark, or a file or folder.
        preset : {"quick", "default", "paper"}, default="default"
            Settings of the model; "quick" also takes fewer samples of a benchmark.
        n_samples : int, default=None
            Samples of a benchmark, 100,000 if None (20,000 with "quick"), or rows of a file, all if None.
        **settings
            Other attributes.

        Returns
        -------
        RunConfig

        Examples
        --------
        >>> config = RunConfig.of("chopsticks-depth2-either", preset="quick")
        >>> config.kind, config.n_samples
        ('dataset', 20000)
        """
        model = settings.get("model", "cofhae")
        needs_codes = find_model(model).needs_codes
        path = Path(source)
        is_file = path.exists() or suffix_of(path) in TABLES + ARRAYS
        is_there = path.exists() or bool(tables_at(path))
        given = {"source": source, "preset": preset, "n_samples": n_samples, **settings}
        if not is_file:
            dataset_info(source, **settings.get("options", {}))
            given["kind"] = "dataset"
            if n_samples is None:
                given["n_samples"] = N_SAMPLES.get(preset)
        else:
            if not is_there:
                raise UserError(f"there is no file {path}")
            what, known = options_of(path)
            for option in settings.get("options", {}):
                if option not in known:
                    raise UserError(f"{path} is {what}, which has no option {option!r}; it has {', '.join(known)}")
            given |= {"kind": "file", "digest": digest_of(path)}
        if given.get("structure") is None:
            known = given["kind"] == "dataset" or (path.suffix == ".npz" and knows_truth(path))
            given["structure"] = usual_structure(model, "dataset" if known else "file")
        files = [given.get(name) for name in ("hierarchy_file", "labels_file")]
        if any(files):
            given |= {"structure": "given", "structure_digest": " ".join(digest_of(f) for f in files if f)}
        if given.get("structure_settings") and given["structure"] in ("true", "given"):
            raise UserError("--set mimosa.NAME is for MIMOSA, which is not asked for the tree here")
        if needs_codes and given["structure"] != "true":
            raise UserError(f"{model} learns from the true codes, so its structure must be the true one too")
        try:
            return cls(**given)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])).replace("_", "-")
            if first["type"] == "extra_forbidden":
                raise UserError(f"a run has no setting {name!r}") from None
            problem = first["msg"].replace("Input should", "must")
            raise UserError(f"--{name} {problem}, got {first['input']!r}") from None

    def differences(self, other: RunConfig) -> list[str]:
        """What two runs do differently.

        Parameters
        ----------
        other : RunConfig
            The settings of the other run.

        Returns
        -------
        list of str
            One phrase for each difference. Where a file is does not matter, what it holds does.
        """
        mine, theirs = self.model_dump(), other.model_dump()
        by_content = {"hierarchy_file", "labels_file"} | (
            {"source"} if self.kind == other.kind == "file" else set()
        )
        out = []
        for name in mine:
            if name in by_content or mine[name] == theirs[name]:
                continue
            if name.endswith("digest"):
                out.append("other data in the file" if name == "digest" else "another structure")
            else:
                out.append(f"{name.replace('_', ' ')} {_word(mine[name])}, not {_word(theirs[name])}")
        return out

    def same_structure(self, other: RunConfig) -> bool:
        """Whether both runs find the same tree: equal data, split and way of finding it.

        Parameters
        ----------
        other : RunConfig
            The settings of the other run.

        Returns
        -------
        bool
        """
        names = ("source", "kind", "digest", "n_samples", "seed", "options", "held_out")
        names += ("structure", "structure_settings", "structure_digest")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def command(self, folder: str | os.PathLike[str]) -> str:
        """The command line that repeats the run.

        Parameters
        ----------
        folder : str or path
            The run's folder.

        Returns
        -------
        str
        """
        words = ["disentree", "run", self.source, "--out", str(folder)]
        if self.preset != "default":
            words += ["--preset", self.preset]
        if self.n_samples is not None and not (
            self.kind == "dataset" and self.n_samples == N_SAMPLES[self.preset]
        ):
            words += ["--n-samples", str(self.n_samples)]
        words += ["--seed", str(self.seed)]
        for name, value in self.options.items():
            flag = name.replace("_", "-")
            if isinstance(value, bool):
                negative = {"binarize": "gray"}.get(name, f"no-{flag}")
                words.append(f"--{flag if value else negative}")
            elif isinstance(value, dict):
                words += [word for pair in value.items() for word in (f"--{flag}", "=".join(pair))]
            elif isinstance(value, list | tuple):
                words += [word for item in value for word in (f"--{flag}", str(item))]
            else:
                words += [f"--{flag}", str(value)]
        if self.structure not in ("given", usual_structure(self.model, self.kind)):
            words += ["--structure", self.structure]
        for flag, file in (("--hierarchy", self.hierarchy_file), ("--labels", self.labels_file)):
            words += [flag, file] if file else []
        if self.model != "cofhae":
            words += ["--model", self.model]
        if self.epochs is not None:
            words += ["--epochs", str(self.epochs)]
        if self.resamples is not None:
            words += ["--resamples", str(self.resamples)]
        asked = dict(self.structure_settings)
        if (leaves := asked.pop("n_leaves", None)) is not None:
            words += ["--leaves", str(leaves)]
        for prefix, settings in (("mimosa.", asked), ("", self.model_settings)):
            for name, value in settings.items():
                words += ["--set", f"{prefix}{name}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(words)


def usual_structure(model: str, kind: str) -> str:
    """Where the tree comes from if the user does not say it.

    As in the paper, baselines and ablations of COFHAE get the tree of the ground truth, also of a file that has
    one. Of other files only models that are trained on true codes need it.
    """
    if model == "cofhae" or (kind == "file" and not find_model(model).needs_codes):
        return "mimosa"
    return "true"


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_word(one)}" for name, one in value.items()) or "as usual"
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value))
    return "as usual" if value is None else str(value)


def check_model(config: RunConfig) -> None:
    """Refuse a model of a user that cannot do all that a run asks of it."""
    model = find_model(config.model)
    if model.kind == "own" and not makes_runs(model.load_class()):
        more = "`disentree study compare` scores any model with fit and transform"
        raise UserError(f"{config.model} is no subclass of FlatEstimator or COFHAE, which a run needs; {more}")


def check_settings(config: RunConfig) -> None:
    """Refuse settings that MIMOSA or the model does not have, before any work is done."""
    if not config.structure_settings and not config.model_settings:
        return
    from disentree.mimosa import MIMOSA

    make = MIMOSA.paper if config.structure == "mimosa-paper" else MIMOSA
    of_mimosa = [f"mimosa.{name}" for name in make().get_params() if name not in ("random_state", "verbose")]
    of_model = [n for n in find_model(config.model).load_class().quick().get_params() if n not in SET_BY_RUN]
    everything = [*of_mimosa, *of_model]
    _check_names(
        "--set mimosa", config.structure_settings, [n.removeprefix("mimosa.") for n in of_mimosa], everything
    )
    _check_names("--set", config.model_settings, of_model, everything)


def _check_names(flag: str, given: Iterable[str], known: Sequence[str], everything: Sequence[str]) -> None:
    if wrong := [name for name in given if name not in known]:
        raise UserError(f"{flag}: there is no setting {wrong[0]!r}; {_nearest(wrong[0], everything, known)}")


def _nearest(name: str, everything: Sequence[str], known: Sequence[str]) -> str:
    """The settings whose names are most like one that does not exist, whatever part has them; else all."""
    plain = {one.removeprefix("mimosa."): one for one in everything}
    near = get_close_matches(name, plain, n=2, cutoff=NEAR)
    if near:
        return f"did you mean {' or '.join(plain[one] for one in near)}?"
    return f"there are {', '.join(known)}"
