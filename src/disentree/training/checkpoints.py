"""Tensors and the state of a training on disk: safetensors, with JSON in the header for the rest."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Shaped
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from disentree.errors import DamagedFile
from disentree.training.loop import State
from disentree.utils.files import atomic_path

T = TypeVar("T")
log = logging.getLogger("disentree.training")

FILE_NAME = "checkpoint.safetensors"
# What a scheduler needs to continue; all else of it follows from its parameters.
_SCHEDULER_STATE = ("last_epoch", "_step_count", "_last_lr")


def fingerprint(blocks: Iterable[Shaped[np.ndarray, "_ ..."]]) -> str:
    """A digest of all rows, the same however they are divided into blocks."""
    digest, n_rows, kind = hashlib.sha256(), 0, None
    for block in blocks:
        kind = (block.shape[1:], str(block.dtype))
        digest.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        n_rows += len(block)
    digest.update(repr((n_rows, kind)).encode())
    return digest.hexdigest()


def save_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write one safetensors file with a checksum; readers never see a partial one.

    `about` goes into its header as JSON.
    """
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # One entry only: safetensors writes several in an order that differs from call to call.
    text = json.dumps({**about, "sha256": _checksum(whole, about)})
    content = save(whole, metadata={"about": text})
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)  # by Python, whose error for a full disk names the file


def load_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote: the tensors, and `about`. A `DamagedFile` if it is not that."""
    try:
        with safe_open(os.fspath(path), framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{os.fspath(path)} is cut short or damaged ({error})") from None
    if not isinstance(about, dict):
        raise DamagedFile(f"{os.fspath(path)} is damaged: its header is not a table")
    checksum = about.pop("sha256", None)  # not in files of older versions
    if checksum is not None and checksum != _checksum(tensors, about):
        raise DamagedFile(f"{os.fspath(path)} is cut short or damaged: its checksum differs")
    return tensors, about


def _checksum(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8).data)  # also of none
    return digest.hexdigest()


def below(tensors: Mapping[str, T], prefix: str) -> dict[str, T]:
    """Those whose names begin with a prefix, without it."""
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}


def save_checkpoint(
    folder: str | os.PathLike[str],
    state: State,
    about: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    name: str = FILE_NAME,
) -> None:
    """All of `state`, beside what identifies the training (`about`) and tensors found before it began."""
    numbers = {**tensors, "generator": state.generator.get_state()}
    for of, network in state.networks().items():
        numbers |= {f"{of}.{key}": value for key, value in network.state_dict().items()}
    numbers |= {f"best.{key}": value for key, value in (state.best or {}).items()}
    groups, schedulers = {}, {}
    for of, optimizer in state.optimizers().items():
        saved = optimizer.state_dict()
        groups[of] = saved["param_groups"]
        for i, moments in saved["state"].items():
            numbers |= {f"{of}_optimizer.{i}.{key}": value for key, value in moments.items()}
    for of, scheduler in state.schedulers().items():
        schedulers[of] = {key: scheduler.state_dict()[key] for key in _SCHEDULER_STATE}
    progress = {"epoch": state.epoch, "step": state.step, "history": state.history}
    about = {**about, **progress, "parameter_groups": groups, "schedulers": schedulers}
    save_tensors(Path(folder) / name, numbers, about)


def restore_checkpoint(state: State, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Set `state` to what it was when the checkpoint was saved."""
    state.generator.set_state(tensors["generator"])
    for name, network in state.networks().items():
        network.load_state_dict(below(tensors, f"{name}."))
    state.best = below(tensors, "best.") or None
    for name, optimizer in state.optimizers().items():
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in below(tensors, f"{name}_optimizer.").items():
            i, what = key.split(".")
            moments.setdefault(int(i), {})[what] = value
        optimizer.load_state_dict({"state": moments, "param_groups": about["parameter_groups"][name]})
        for weights, own in optimizer.state.items():
            for what, value in own.items():  # fused arithmetic takes them to be in the order of the weights
                if value.shape == weights.shape:
                    own[what] = torch.empty_like(weights).copy_(value)
    for name, scheduler in state.schedulers().items():
        # LambdaLR asks for its functions, None for each that stays as it is
        functions = {"lr_lambdas": [None]} if isinstance(scheduler, LambdaLR) else {}
        scheduler.load_state_dict({**about["schedulers"][name], **functions})
    state.epoch, state.step, state.history = about["epoch"], about["step"], list(about["history"])


_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def checkpoints_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Within the block, trainings that are not told where to save their state save it in this folder."""
    token = _folder.set(Path(folder))
    try:
        yield
    finally:
        _folder.reset(token)


def resume(
    state: State, name: str, about: Mapping[str, Any], folder: str | os.PathLike[str] | None = None
) -> Callable[[State], None]:
    """Set `state` to that of the checkpoint of this name, if there is one of the same training; what is returned
    saves the state that it is given there.

    `about` identifies the training, as JSON has it: a checkpoint of another one, or one that is damaged, is not
    read, and the next one replaces it. `folder` is by default that of `checkpoints_in`; outside of it nothing is
    saved.
    """
    folder = _folder.get() if folder is None else Path(folder)
    if folder is None:
        return lambda state: None
    if (folder / name).exists():
        try:
            tensors, saved = load_tensors(folder / name)
        except DamagedFile as error:
            log.warning("%s; that training starts from the beginning", error)
        else:
            if all(saved.get(key) == value for key, value in about.items()):
                restore_checkpoint(state, tensors, saved)
    else:
        folder.mkdir(parents=True, exist_ok=True)
    return lambda state: save_checkpoint(folder, state, about, {}, name)
