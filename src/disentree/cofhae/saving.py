"""Models and checkpoints on disk: safetensors for numbers, JSON for the rest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Shaped
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from disentree._version import __version__
from disentree.training.loop import State
from disentree.utils.files import atomic_path, sha256_of

if TYPE_CHECKING:
    from disentree.cofhae.base import Autoencoder

FORMAT = 1  # of saved models
# Fitted attributes that JSON holds as they are
SIMPLE_ATTRIBUTES = ("seed", "interrupted", "diverged", "history", "code_statistics")
_NOT_SAVED = ("callbacks", "mimosa", "checkpoint", "events", "tensorboard", "verbose", "device")


def save_model(model: Autoencoder, folder: Path) -> None:
    tensors = {name: torch.from_numpy(getattr(model, f"{name}_")) for name in model._arrays}
    for name, module in (("autoencoder", model.autoencoder_), ("input", model.input_)):
        tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    save_tensors(folder / "model.safetensors", tensors, {"format": FORMAT})
    about = {
        "format": FORMAT,
        "class": type(model).__name__,
        "version": __version__,
        "parameters": plain_parameters(model),
        "hierarchy": model.hierarchy_.to_dict(),
        "input": model.input_.config,
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
        **{name: getattr(model, f"{name}_") for name in SIMPLE_ATTRIBUTES},
        "sha256": sha256_of(folder / "model.safetensors"),
    }
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_model(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `save_model` wrote, or a ValueError that says which file is damaged."""
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        newer, checksum = about["format"] > FORMAT, about["sha256"]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise ValueError(f"{folder / 'model.json'} is cut short or damaged") from None
    if newer:
        raise ValueError(f"{folder} was saved by disentree {about.get('version')}; this is {__version__}")
    if sha256_of(folder / "model.safetensors") != checksum:
        raise ValueError(f"{folder / 'model.safetensors'} is cut short or damaged: its checksum differs")
    return about, load_tensors(folder / "model.safetensors")[0]


def plain_parameters(model: Autoencoder) -> dict[str, Any]:
    """The parameters that make the model what it is, as JSON has them; None for a module of the user's own."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        if name in _NOT_SAVED:
            continue
        if isinstance(value, torch.nn.Module | np.random.RandomState | np.random.Generator):
            value = None
        parameters[name] = value
    return json.loads(json.dumps(parameters, default=lambda number: number.item()))


def fingerprint(array: Shaped[np.ndarray, "n ..."], *more: int) -> str:
    """Tells one array (the first block of X, the given paths) from another."""
    digest = hashlib.sha256(repr((array.shape, str(array.dtype), more)).encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """One safetensors file, written whole or not at all; `about` goes into its header as JSON."""
    with atomic_path(path) as temporary:
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(whole, temporary, metadata={"about": json.dumps(about)})


def load_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(os.fspath(path), framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{os.fspath(path)} is cut short or damaged ({error})") from None


def save_checkpoint(folder: str | os.PathLike[str], state: State, about: Mapping[str, Any], paths: Tensor) -> None:
    """All of `state`, and the structure found, so that neither MIMOSA nor an epoch is run twice."""
    tensors = {"paths": paths, "generator": state.generator.get_state()}
    for name, module in state.networks():
        tensors |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
    for name, optimizer in state.optimizers():
        for i, moments in optimizer.state_dict()["state"].items():
            tensors |= {f"{name}.{i}.{key}": value for key, value in moments.items()}
    about = {**about, "epoch": state.epoch, "history": state.history}
    save_tensors(Path(folder) / "checkpoint.safetensors", tensors, about)


def restore_checkpoint(state: State, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Put everything back as it was at the end of an epoch."""
    state.generator.set_state(tensors["generator"])
    for name, module in state.networks():
        module.load_state_dict(below(tensors, f"{name}."))
    for name, optimizer in state.optimizers():
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in below(tensors, f"{name}.").items():
            i, what = key.split(".")
            moments.setdefault(int(i), {})[what] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    state.epoch, state.history = about["epoch"], list(about["history"])


def below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
