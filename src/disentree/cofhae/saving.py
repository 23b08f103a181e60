"""Models on disk: safetensors for numbers, JSON for the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from disentree._version import __version__
from disentree.cofhae.inputs import InputLayer
from disentree.cofhae.linear import linear_autoencoder
from disentree.cofhae.pixels import PixelDecoder
from disentree.cofhae.placement import Placement
from disentree.cofhae.preprocessor import Preprocessor
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.moves_as_json import move_from_dict, move_to_dict
from disentree.mimosa import MIMOSA
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER, write_card
from disentree.training.checkpoints import below, load_tensors, save_tensors
from disentree.training.networks import CONVOLUTIONAL
from disentree.training.session import pick_device
from disentree.utils.files import sha256_of, write_json
from disentree.utils.versions import build_commit

# Of saved models. In 1 convolutional networks had activations of their own, whatever the parameter; up to 2 there
# were "table", "codec" and "units" instead of a preprocessor; up to 3 variables were those of the networks.
FORMAT = 4
# Fitted attributes that JSON holds as they are
_SIMPLE_ATTRIBUTES = ("seed", "interrupted", "diverged", "history", "code_statistics", "maps")
_NOT_SAVED = ("callbacks", "mimosa", "checkpoint", "events", "tensorboard", "verbose", "device")


def save_model(model: Any, folder: Path) -> None:
    tensors = {name: torch.from_numpy(getattr(model, f"{name}_")) for name in model._arrays}
    move = None if model.autoencoder_.placement is None else model.autoencoder_.placement.move
    modules = {"autoencoder": model.autoencoder_, "input": model.input_}
    if model.pixels_ is not None:
        modules["pixels"] = model.pixels_
    for name, module in modules.items():
        tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    save_tensors(folder / "model.safetensors", tensors, {"format": FORMAT})
    about = {
        "format": FORMAT,
        "class": type(model).__name__,
        "version": __version__,
        "commit": build_commit(),
        "parameters": plain_parameters(model),
        "hierarchy": model.hierarchy_.to_dict(),
        **({"move": move_to_dict(move)} if move is not None else {}),
        "input": model.input_.config,
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
        **{name: getattr(model, f"{name}_") for name in _SIMPLE_ATTRIBUTES},
        **({"pixels": model.pixels_.config} if model.pixels_ is not None else {}),
        "preprocessor": model.preprocessor_.to_dict(),
        "mimosa": getattr(model, "_judge", None) is not None,
        "sha256": sha256_of(folder / "model.safetensors"),
    }
    write_json(folder / "model.json", about)
    write_card(model, folder)
    if about["mimosa"]:
        _save_mimosa(model.mimosa_, folder / MIMOSA_FOLDER)


def _save_mimosa(mimosa: Any, folder: Path) -> None:
    """Save the estimator that assigns rows to paths, unless it is there: a run has saved it before."""
    if (folder / "mimosa.json").is_file():
        there = type(mimosa).load(folder)
        if there.hierarchy_.to_dict() == mimosa.hierarchy_.to_dict() and np.array_equal(
            there.labels_, mimosa.labels_
        ):
            return
    mimosa.save(folder)


def read_model(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `save_model` wrote, or a ValueError that says which file is damaged."""
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        newer, checksum = about["format"] > FORMAT, about["sha256"]
        convolutional = {about["parameters"][name] for name in ("encoder", "decoder")} & {*CONVOLUTIONAL}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise ValueError(f"{folder / 'model.json'} is cut short or damaged") from None
    if newer:
        raise ValueError(f"{folder} was saved by disentree {about.get('version')}; this is {__version__}")
    if about["format"] < 2 and convolutional:
        raise ValueError(
            f"{folder} holds a convolutional model of disentree {about.get('version')}: train it again"
        )
    if sha256_of(folder / "model.safetensors") != checksum:
        raise ValueError(f"{folder / 'model.safetensors'} is cut short or damaged: its checksum differs")
    return about, load_tensors(folder / "model.safetensors")[0]


def load_model(cls: Any, folder: Path, device: str, modules: Mapping[str, nn.Module | None]) -> Any:
    """The model of a class that `save_model` wrote. `modules`: the encoder and decoder of a user, if they are."""
    about, tensors = read_model(folder)
    if about["class"] != cls.__name__:
        raise ValueError(f"{folder} holds a model of class {about['class']}, not {cls.__name__}")
    parameters = dict(about["parameters"])
    for name, module in modules.items():
        if parameters[name] is None and module is None:
            raise ValueError(f"this model has its own {name}: give it again as load(..., {name}=module)")
        parameters[name] = module if module is not None else parameters[name]
    known = cls().get_params()
    model = cls(**{name: value for name, value in parameters.items() if name in known})
    model.device_ = pick_device(device)
    move = move_from_dict(about["move"]) if about.get("move") else None
    model.hierarchy_ = Hierarchy.from_dict(about["hierarchy"]) if move is None else move.before
    for name in cls._arrays:
        setattr(model, f"{name}_", tensors[name].numpy())
    arrays = {key: value.numpy() for key, value in below(tensors, "input.").items()}
    model.input_ = InputLayer(about["input"], arrays).to(model.device_)
    weights = below(tensors, "autoencoder.")
    if about.get("maps") == "linear":
        model.autoencoder_ = linear_autoencoder(model.hierarchy_, weights).to(model.device_)
    else:
        model.autoencoder_, _ = model._build(None)
        if move is not None:
            model.hierarchy_ = move.after
            model.autoencoder_.place(Placement(move, below(weights, "placement.")).to(model.device_))
        model.autoencoder_.load_state_dict(weights)
    model.autoencoder_.eval()
    if about.get("pixels"):
        pixels = PixelDecoder.from_weights(about["pixels"], below(tensors, "pixels."))
        model.pixels_ = pixels.to(model.device_)
    model.n_features_in_ = about["n_features_in"]
    model.preprocessor_ = Preprocessor.from_dict(about.get("preprocessor") or _of_format_2(about))
    if about["feature_names_in"]:
        model.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    if about.get("mimosa"):
        model.mimosa_ = MIMOSA.load(folder / MIMOSA_FOLDER)
    for name in _SIMPLE_ATTRIBUTES:
        if name in about:  # the first models had fewer
            setattr(model, f"{name}_", about[name])
    return model


def _of_format_2(about: dict[str, Any]) -> dict[str, Any]:
    """The preprocessor of a model that an earlier version saved."""
    parts = {"table": about.get("table"), "codec": about.get("codec"), **(about.get("units") or {})}
    return {name: value for name, value in parts.items() if value not in (None, [])}


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters that make the model what it is, as JSON has them; None for the user's own modules."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        if name in _NOT_SAVED:
            continue
        if isinstance(value, nn.Module | np.random.RandomState | np.random.Generator):
            value = None
        parameters[name] = value
    return json.loads(json.dumps(parameters, default=lambda number: number.item()))
