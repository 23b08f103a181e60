"""The stage that trains the model on the tree that was found."""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any

from disentree.cofhae.preprocessor import Preprocessor
from disentree.datasets import UserData
from disentree.errors import DamagedFile, UserError
from disentree.rows import taken
from disentree.runs.models import find_model
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.structure import searched_rows
from disentree.tables import Codec, Schema

log = logging.getLogger(__name__)

CHECKPOINT = "checkpoint/checkpoint.safetensors"
# and of the representation network, which is trained in the stage before
CHECKPOINTS = (CHECKPOINT, "checkpoint/representation.safetensors")


def train_model(run: Run, options: StageOptions) -> str:
    """Train the model, or go on with a training that was interrupted, and save it."""
    data, hierarchy = run.data, run.found_hierarchy
    if not hierarchy.n_variables:
        what = "it has no column of numbers, and its categories form no groups"
        raise UserError(f"there is nothing to learn about {run.config.source}: {what}")
    rows = run.read_npz("labels.npz", "train", "labels")
    _remove_damaged_checkpoint(run)
    is_image = data.X.ndim > 2
    model = make_model(run, options, is_image=is_image)
    X, preprocessor = data.X[rows["train"]], preprocessor_of(data)
    more: dict[str, Any] = {}
    if find_model(run.config.model).needs_codes:
        assert data.codes is not None
        more["codes"] = data.codes[rows["train"]]
    mimosa = run.mimosa if run.config.model == "cofhae" else None
    if mimosa is not None:
        more["mimosa"] = mimosa
        is_of_table = data.schema is not None and not is_image and mimosa.representation != "given"
        if is_of_table and hasattr(type(mimosa), "codes_"):
            if mimosa.sample_ is None:
                more["codes"] = mimosa.codes_[rows["train"]]
            else:  # it was loaded, and a sample has no codes of the other rows
                own = searched_rows(run, options)[0] if data.everything is None else data.frame
                more["codes"] = mimosa.transform(taken(own, rows["train"]))
        if (table := getattr(mimosa, "table_", None)) is not None:
            preprocessor = Preprocessor(table=table)
            X = preprocessor.to_features(data.frame.iloc[rows["train"]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        model.fit(X, hierarchy=hierarchy, paths=rows["labels"], preprocessor=preprocessor, **more)
    if getattr(model, "interrupted_", False):  # the checkpoint has every finished epoch
        raise KeyboardInterrupt
    for warning in caught:
        log.warning("%s", warning.message)
    model.save(run.folder)
    remove_checkpoint(run)
    if getattr(model, "maps_", "network") == "linear":
        return "linear maps in closed form"
    n_epochs = len(model.history_)
    return f"{n_epochs} epoch{'s' * (n_epochs != 1)}"


def preprocessor_of(data: UserData) -> Preprocessor:
    """How the rows were prepared, so that the saved model takes rows as they are in the file."""
    if data.kind == "images":
        return Preprocessor()
    codec = data.codec
    if codec is None and data.schema is not None:
        # columns that are not in use make no table of mixed kinds of one of numbers
        codec = Codec(Schema(tuple(column for column in data.schema.columns if column.used)))
    return Preprocessor(
        codec=codec,
        names=tuple(data.feature_names) if data.schema is not None else (),
        columns=None if data.columns is None else tuple(data.columns.tolist()),
        n_columns=data.n_columns,
        in_units=data.scale is None or data.searched is not data.X,
        center=None if data.center is None else tuple(data.center.tolist()),
        scale=None if data.scale is None else tuple(data.scale.tolist()),
    )


def make_model(run: Run, options: StageOptions, *, is_image: bool) -> Any:
    """The untrained model that the run's preset and settings stand for."""
    config = run.config
    cls = find_model(config.model).load_class()
    settings: dict[str, Any] = {
        "random_state": config.seed,
        "device": options.device,
        "verbose": options.verbose,
        "checkpoint": (run.folder / CHECKPOINT).parent,
        "events": run.folder / "events.jsonl",
    }
    if config.epochs is not None:
        settings["epochs"] = config.epochs
    settings |= config.model_settings
    if config.preset == "paper":
        return cls.paper(images=is_image, **settings)
    return cls.quick(**settings) if config.preset == "quick" else cls(**settings)


def seconds_in_checkpoint(run: Run) -> float:
    """Seconds of the epochs that an interrupted training has left in its checkpoint."""
    if not (run.folder / CHECKPOINT).is_file():
        return 0.0
    seconds: dict[int, float] = {}
    for event in run.read_events():
        if event["event"] == "epoch":
            seconds[event["epoch"]] = event["seconds"]
        elif event["event"] == "done" and event["stage"] == "model":
            seconds.clear()
    return sum(seconds.values())


def remove_checkpoint(run: Run) -> None:
    """Remove the checkpoints of a training, and their folder if nothing else is in it."""
    path = run.folder / CHECKPOINT
    for name in CHECKPOINTS:
        (run.folder / name).unlink(missing_ok=True)
    if path.parent.is_dir() and not os.listdir(path.parent):
        path.parent.rmdir()


def _remove_damaged_checkpoint(run: Run) -> None:
    from disentree.training.checkpoints import load_tensors

    path = run.folder / CHECKPOINT
    if not path.is_file():
        return
    try:
        load_tensors(path)
    except DamagedFile as error:
        log.warning("%s; training starts from the beginning", error)
        remove_checkpoint(run)
