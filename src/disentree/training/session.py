"""What surrounds a training: device, seed, threads, progress, events."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from disentree.training.loop import Record
from disentree.utils.extras import needing
from disentree.utils.files import naming
from disentree.utils.progress import bar

# Multiplications of a minibatch (weights times rows) below which one thread is used. Several wait for each other,
# on a busy machine for most of the time; and those that are there already do not flush denormals.
_WORTH_THREADS = 1e9


def pick_device(device: str) -> torch.device:
    """The device of that name; "auto" is CUDA, else Apple's MPS, else the CPU."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device {device!r} is not available: {str(error).splitlines()[0]}") from None
    return chosen


def pick_seed(random_state: Any) -> int:
    """One whole number from which all randomness of a training follows."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state must be None, a whole number >= 0 or a generator, got {random_state!r}")


def generator_of(seed: int) -> torch.Generator:
    """A generator of torch's own, on the CPU."""
    return torch.Generator().manual_seed(seed)


@contextmanager
def torch_threads(n: int | None) -> Iterator[None]:
    """`n` threads for torch within the block; None leaves their number alone."""
    before = torch.get_num_threads()
    torch.set_num_threads(n or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def suitable_threads(device: torch.device, work: int) -> Iterator[None]:
    """One thread for networks on a CPU that are too small for several. `work`: weights times rows of a batch."""
    with torch_threads(1 if device.type == "cpu" and work < _WORTH_THREADS else None):
        yield


@contextmanager
def flushed_denormals(device: torch.device | None = None) -> Iterator[None]:
    """Denormal floats count as 0 within the block. Smooth activations drift into them, and a CPU computes with
    them several times slower."""
    changed = (device is None or device.type == "cpu") and torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if changed:
            torch.set_flush_denormal(False)


@contextmanager
def reporter(
    n_epochs: int,
    verbose: bool,
    events: str | os.PathLike[str] | None = None,
    tensorboard: str | os.PathLike[str] | None = None,
    what: str = "epoch",
) -> Iterator[tuple[Callable[[Record], None], Callable[[int, int], None]]]:
    """What to call with the record of each epoch and, after each minibatch, with the steps done and the total."""
    with ExitStack() as stack:
        update = stack.enter_context(bar(what, n_epochs, verbose))
        calls: list[Callable[[Record], None]] = []
        if events is not None:
            Path(events).parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(open(events, "a", encoding="utf-8", buffering=1))
            calls.append(lambda record: _write_line(file, events, {"event": "epoch", **record}))
        if tensorboard is not None:
            calls.append(stack.enter_context(_tensorboard(tensorboard)))

        def after_epoch(record: Record) -> None:
            update(record["epoch"], _losses(record))
            for call in calls:
                call(record)

        def after_batch(done: int, total: int) -> None:
            update(n_epochs * done / total)

        yield after_epoch, after_batch


def _losses(record: Record) -> str:
    terms = {name: value for name, value in record.items() if name not in ("epoch", "seconds") and value}
    if len(terms) > 1:
        terms.pop("loss", None)  # their sum
    return "  ".join(f"{name} {value:.2e}" for name, value in terms.items())


def _write_line(file: Any, path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    with naming(path):
        file.write(json.dumps(record) + "\n")


@contextmanager
def _tensorboard(folder: str | os.PathLike[str]) -> Iterator[Callable[[Record], None]]:
    with needing("tensorboard="):
        from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter(os.fspath(folder))

    def after_epoch(record: Record) -> None:
        for name, value in record.items():
            if name != "epoch":
                writer.add_scalar(name, value, record["epoch"])

    try:
        yield after_epoch
    finally:
        writer.close()
