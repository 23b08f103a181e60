"""What surrounds a training: device, seeds, progress, events."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

Record = dict[str, Any]
_WORTH_THREADS = 1e8


def pick_device(device: str) -> torch.device:
    """ "auto" is CUDA, else Apple's MPS, else the CPU."""
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
    """One whole number from which all randomness follows."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state must be None, a whole number >= 0 or a generator, got {random_state!r}")


@contextmanager
def fitting_threads(device: torch.device, work: int) -> Iterator[None]:
    """One thread for networks so small that threads would wait for each other more than they compute, which
    is ruinous on a busy machine. `work`: weights times rows of a batch."""
    threads = torch.get_num_threads()
    if device.type == "cpu" and work < _WORTH_THREADS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def reporter(
    epochs: int,
    verbose: bool,
    events: str | os.PathLike[str] | None,
    tensorboard: str | os.PathLike[str] | None,
) -> Iterator[tuple[Callable[[Record], None], Callable[[int, int], None]]]:
    """What to call after each epoch and after each batch, and what to close in the end."""
    with ExitStack() as stack:
        after_epoch: list[Callable[[Record], None]] = []
        after_batch: Callable[[int, int], None] = lambda done, of: None  # noqa: E731
        if verbose:
            show_epoch, after_batch = stack.enter_context(_progress(epochs))
            after_epoch.append(show_epoch)
        if events is not None:
            Path(events).parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(open(events, "a", encoding="utf-8", buffering=1))
            after_epoch.append(lambda record: _write_line(file, {"event": "epoch", **record}))
        if tensorboard is not None:
            after_epoch.append(stack.enter_context(_tensorboard(tensorboard)))

        def report(record: Record) -> None:
            for call in after_epoch:
                call(record)

        yield report, after_batch


def _write_line(file: Any, record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record) + "\n")


@contextmanager
def _progress(epochs: int) -> Iterator[tuple[Callable[[Record], None], Callable[[int, int], None]]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("epoch {task.fields[epoch]}/" + str(epochs)),
        BarColumn(),
        TextColumn("{task.fields[losses]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=epochs, epoch=1, losses="")
        finished = 0

        def after_epoch(record: Record) -> None:
            nonlocal finished
            finished = record["epoch"]
            losses = "  ".join(
                f"{name} {record[name]:.2e}"
                for name in record
                if name not in ("epoch", "loss", "seconds") and record[name]
            )
            progress.update(task, completed=finished, epoch=min(finished + 1, epochs), losses=losses)

        def after_batch(done: int, of: int) -> None:
            progress.update(task, completed=finished + done / of)

        yield after_epoch, after_batch


@contextmanager
def _tensorboard(folder: str | os.PathLike[str]) -> Iterator[Callable[[Record], None]]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError(
            "tensorboard= needs the package tensorboard: pip install 'disentree[tensorboard]'"
        ) from None
    writer = SummaryWriter(os.fspath(folder))

    def after_epoch(record: Record) -> None:
        for name, value in record.items():
            if name != "epoch":
                writer.add_scalar(name, value, record["epoch"])

    try:
        yield after_epoch
    finally:
        writer.close()
