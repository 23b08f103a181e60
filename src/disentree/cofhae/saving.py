"""Models on disk: safetensors for numbers, JSON for the rest."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel
from torch import Tensor

from disentree._version import __version__
from disentree.cofhae.inputs import InputLayer
from disentree.cofhae.linear import linear_autoencoder
from disentree.cofhae.placement import Placement
from disentree.cofhae.preprocessor import Preprocessor
from disentree.cofhae.saved_files import About, CodeStatistics, Parameters, bounded_hierarchy
from disentree.errors import DamagedFile, UserError
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.moves_as_json import move_from_dict, move_to_dict
from disentree.mimosa import MIMOSA
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER, write_card
from disentree.mimosa.saving.types import check_fields
from disentree.training.checkpoints import below, load_tensors, save_tensors
from disentree.training.networks import CONVOLUTIONAL, check_weights
from disentree.training.session import pick_device
from disentree.utils.files import check_is_file, damage_told, read_document, sealed, sha256_of, write_json
from disentree.utils.versions import build_commit

# Of saved models. In 1 convolutional networks had activations of their own, whatever the parameter; up to 2 there
# were "table", "codec" and "units" instead of a preprocessor; up to 3 model.json had no checksum of itself, and
# variables were those of the networks; up to 4 images had an embedding and a decoder of their own.
FORMAT, SEALED = 5, 4
ABOUT, NUMBERS = "model.json", "model.safetensors"
_PATHS_TRIED = 64  # when a model is read
# Fitted attributes that JSON holds as they are
_SIMPLE_ATTRIBUTES = ("seed", "interrupted", "diverged", "history", "code_statistics", "maps")
_NOT_SAVED = ("callbacks", "mimosa", "checkpoint", "events", "tensorboard", "verbose", "device")


def save_model(model: Any, folder: Path) -> None:
    tensors = {name: torch.from_numpy(getattr(model, f"{name}_")) for name in model._arrays}
    move = None if model.autoencoder_.placement is None else model.autoencoder_.placement.move
    modules = {"autoencoder": model.autoencoder_, "input": model.input_}
    for name, module in modules.items():
        tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    save_tensors(folder / NUMBERS, tensors, {"format": FORMAT})
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
        "preprocessor": model.preprocessor_.to_dict(),
        "mimosa": getattr(model, "_judge", None) is not None,
        "sha256": sha256_of(folder / NUMBERS),
    }
    write_json(folder / ABOUT, sealed(about))
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


def read_model(folder: Path) -> tuple[About, dict[str, Tensor]]:
    """What `save_model` wrote, or an error that says which file is missing or damaged."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    for name in (ABOUT, NUMBERS):
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder} holds no saved model: it has no {name}")
        check_is_file(folder / name)
    value = read_document(folder / ABOUT, range(SEALED, FORMAT + 1))
    if not 1 <= value["format"] <= FORMAT:
        by = f"was saved by disentree {value.get('version')}, in a format that this {__version__} does not know"
        raise ValueError(f"{folder} {by}: fit the model again")
    if value["format"] < 5 and (value.get("pixels") or _kind_of_input(value) == "embedding"):
        by = f"was saved by disentree {value.get('version')}, whose networks for images this version does not have"
        raise ValueError(f"{folder} {by}: fit the model again")
    with damage_told(folder / ABOUT):
        if value["format"] < 3 and "preprocessor" not in value:
            value["preprocessor"] = _of_format_2(value)
        about = About(**value)
        convolutional = {about.parameters.get(name) for name in ("encoder", "decoder")} & {*CONVOLUTIONAL}
    if about.format < 2 and convolutional:
        raise ValueError(f"{folder} holds a convolutional model of disentree {about.version}: train it again")
    if sha256_of(folder / NUMBERS) != about.sha256:
        raise DamagedFile(f"{folder / NUMBERS} is cut short or damaged: its checksum differs")
    return about, load_tensors(folder / NUMBERS)[0]


def load_model(cls: Any, folder: Path, device: str, modules: Mapping[str, Any]) -> Any:
    """The model of a class that `save_model` wrote. `modules`: the encoder and decoder of a user, if they are."""
    about, tensors = read_model(folder)
    if about.name != cls.__name__:
        raise ValueError(f"{folder} holds a model of class {about.name[:60]}, not {cls.__name__}")
    pick_device(device)  # an error if there is none
    with damage_told(folder / ABOUT):
        model = _restored(cls, about, tensors, device, modules)
    if about.mimosa:
        model.mimosa_ = MIMOSA.load(folder / MIMOSA_FOLDER)
    with damage_told(folder / ABOUT):
        _try(model)
    return model


def _restored(
    cls: Any, about: About, tensors: Mapping[str, Tensor], device: str, modules: Mapping[str, Any]
) -> Any:
    # A penalty or an adversary of a user's own is not there, and not needed any more.
    parameters: Any = {
        k: v for k, v in about.parameters.items() if v is not None or k not in ("penalty", "discriminator")
    }
    Parameters(**parameters)
    known = cls().get_params().keys() - {*_NOT_SAVED}
    parameters = {name: value for name, value in parameters.items() if name in known}
    for name, module in modules.items():
        if parameters[name] is None and module is None:
            raise UserError(f"this model has its own {name}: give it again as load(..., {name}=module)")
        parameters[name] = module if module is not None else parameters[name]
    model = cls(**parameters)
    model._check_parameters()
    hierarchy, move = bounded_hierarchy(about.hierarchy), None
    if about.move is not None:
        bounded_hierarchy(about.move["before"])
        move = move_from_dict(about.move, hierarchy)
    model.hierarchy_ = hierarchy if move is None else move.before
    for name in cls._arrays:
        setattr(model, f"{name}_", tensors[name].numpy())
    check_fields(model, [f"{name}_" for name in cls._arrays], "")
    arrays = {key: value.numpy() for key, value in below(tensors, "input.").items()}
    # Nothing is as wide as a row but what is in the file.
    if "mean" not in arrays or arrays["mean"].shape != (math.prod(about.input.shape),):
        raise ValueError(f"it has no mean of rows of shape {about.input.shape}")
    model.device_ = torch.device("meta")
    model.input_ = InputLayer(about.input.model_dump(exclude_unset=True), arrays)
    weights = below(tensors, "autoencoder.")
    if about.maps == "linear":
        model.autoencoder_ = linear_autoencoder(model.hierarchy_, weights)
    else:
        try:
            knots = below(weights, "placement.")
            check_weights(
                lambda: model._build(None)[0], {k: v for k, v in weights.items() if "placement." not in k}
            )
        except (ValueError, RuntimeError) as error:
            if any(module is not None for module in modules.values()):
                raise UserError(f"the network that was given is another than the saved one: {error}") from None
            raise
        model.device_ = torch.device("cpu")
        model.autoencoder_, _ = model._build(None)
        if move is not None:
            model.hierarchy_ = move.after
            model.autoencoder_.place(Placement.along(move, knots["own"], knots["shared"]))
        model.autoencoder_.load_state_dict(weights)
    model.device_ = pick_device(device)
    model.input_.to(model.device_)
    model.autoencoder_.to(model.device_).eval()
    model.n_features_in_ = about.n_features_in
    saved = {} if about.preprocessor is None else about.preprocessor.model_dump(exclude_unset=True)
    model.preprocessor_ = Preprocessor.from_dict(saved)
    check_fields(model.preprocessor_, [one.name for one in fields(Preprocessor)], "preprocessor")
    if about.feature_names_in:
        model.feature_names_in_ = np.array(about.feature_names_in, dtype=object)
    for name in _SIMPLE_ATTRIBUTES:
        if name in about.model_fields_set:  # the first models had fewer
            value = getattr(about, name)
            setattr(model, f"{name}_", value.model_dump() if isinstance(value, BaseModel) else value)
    if about.code_statistics is not None:
        _check_statistics(about.code_statistics, model.hierarchy_)
    return model


def _check_statistics(found: CodeStatistics, hierarchy: Hierarchy) -> None:
    options = [v.n_options for v in hierarchy.variables if v.kind == "categorical"]
    if len(found.ranges) != hierarchy.n_variables:
        raise ValueError("code_statistics are of another tree")
    for path in found.paths:
        taken = zip(path.choices, options, strict=True)
        there = all(name.isdecimal() and int(name) < hierarchy.n_variables for name in path.variables)
        if not there or any(chosen is not None and chosen >= n for chosen, n in taken):
            raise ValueError("code_statistics are of another tree")


def _try(model: Any) -> None:
    """Use a model that was read as it will be used: decode a code of each path, encode the mean row."""
    hierarchy, layer = model.hierarchy_, model.input_
    codes = np.full((min(len(hierarchy.paths), _PATHS_TRIED), hierarchy.n_variables), np.nan)
    for code, path in zip(codes, hierarchy.paths, strict=False):
        code[list(path.active)] = 0.0
        for column, option in path.choices:
            code[column] = option
    for name, array in (("paths", getattr(model, "paths_", None)), ("trust", getattr(model, "trust_", None))):
        n = len(hierarchy.paths)
        if array is not None and len(array) and (array.min() < -1 or (name == "paths" and array.max() >= n)):
            raise ValueError(f"{name} must be of {n} paths")
    mean = (layer._exact_mean().numpy() * layer.pixel_scale).reshape(1, *layer.shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plain = model.in_features()
        shape = plain.inverse_transform(codes).shape
        if shape != (len(codes), *layer.shape):
            raise ValueError("it does not decode to rows such as it encodes")
        hierarchy.validate(plain.transform(mean))
        rows, own = model.preprocessor_.from_features(mean, hierarchy, codes[:1]), model.preprocessor_
        if own.columns is not None:  # a column of an array that is not in use may hold anything
            whole = np.zeros((1, own.n_columns))
            whole[:, list(own.columns)] = rows
            rows = whole
        model.transform(rows)


def _kind_of_input(about: dict[str, Any]) -> Any:
    layer = about.get("input")
    return layer.get("kind") if isinstance(layer, dict) else None


def _of_format_2(about: dict[str, Any]) -> dict[str, Any]:
    """The preprocessor of a model that an earlier version saved."""
    parts = {"table": about.get("table"), "codec": about.get("codec"), **(about.get("units") or {})}
    return {name: value for name, value in parts.items() if value not in (None, [])}


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters that make the model what it is, as JSON has them; None for the user's own modules and
    functions."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        if name in _NOT_SAVED:
            continue
        if callable(value) or isinstance(value, np.random.RandomState | np.random.Generator):
            value = None
        parameters[name] = value
    return json.loads(json.dumps(parameters, default=lambda number: number.item()))
