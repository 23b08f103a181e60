"""One try after the other, each with its seed, its folder and a limit on its time."""

from __future__ import annotations

import faulthandler
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SECONDS = 10.0  # a try that takes longer, twice, hangs
GIVE_UP = 120.0  # then not even Python answers: end the process, and show where


class Failure(Exception):
    """What must not happen: the sentence says what it was."""


class Hang(BaseException):
    """Raised in a try that takes too long. No `except Exception` of the package catches it."""


class Target:
    """What is tried. `folder` stays for all tries, and is empty at first.

    `attempt` returns True if the input was accepted and False if it was refused with a sentence.
    """

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        """Called after the last try."""


@dataclass
class Tally:
    """What came of the tries of one target."""

    name: str
    first_seed: int
    tries: int = 0
    clean_errors: int = 0
    hangs: int = 0
    slowest: float = 0.0  # seconds
    failures: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        return self.tries - self.clean_errors - len(self.failures)

    def sentence(self) -> str:
        return (
            f"{self.name}: seeds from {self.first_seed}, {self.tries} tries, {self.accepted} accepted, "
            f"{self.clean_errors} clean errors, {len(self.failures)} failures, slowest {self.slowest:.1f} s"
        )


def fuzz(target: Target, tally: Tally, *, tries: int | None = None, seconds: float | None = None) -> None:
    """Add tries to a tally, until there are enough of them or the time is over."""
    until = None if seconds is None else time.monotonic() + seconds
    done = 0
    while (tries is None or done < tries) and (until is None or time.monotonic() < until):
        seed = tally.first_seed + tally.tries
        problem, accepted = _try(target, seed, tally)
        if isinstance(problem, Hang):  # once more: the machine may have been busy
            problem, accepted = _try(target, seed, tally)
            tally.hangs += isinstance(problem, Hang)
        tally.tries += 1
        done += 1
        if problem is not None:
            tally.failures.append(f"{target.name}, seed {seed}: {_sentence(problem)}")
            print(tally.failures[-1], file=sys.stderr, flush=True)
        elif not accepted:
            tally.clean_errors += 1


def _try(target: Target, seed: int, tally: Tally) -> tuple[BaseException | None, bool]:
    folder = Path(tempfile.mkdtemp(prefix="try-", dir=target.folder))
    began = time.monotonic()
    try:
        with _limited(SECONDS):
            return None, target.attempt(np.random.default_rng([seed, *target.name.encode()]), folder)
    except (Exception, Hang) as problem:
        # Compiled code that is stopped ends with an error of its own.
        hang = isinstance(problem, SystemError) and isinstance(problem.__cause__ or problem.__context__, Hang)
        return Hang(f"takes more than {SECONDS:g} s") if hang else problem, False
    finally:
        tally.slowest = max(tally.slowest, time.monotonic() - began)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise Hang(f"takes more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(GIVE_UP, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _sentence(problem: BaseException) -> str:
    if isinstance(problem, Failure):
        return str(problem)
    frames = traceback.extract_tb(problem.__traceback__)
    where = next((frame for frame in reversed(frames) if "disentree" in frame.filename), frames[-1])
    return f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"


# ------------------------------------------------------------------ commands


def run_command(*words: object) -> tuple[bool, str]:
    """Whether a command succeeded, or ended in one sentence, and what it wrote to stderr; else a `Failure`."""
    from shell import invoke

    result = invoke(*words)
    shown = " ".join(str(word) for word in words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Failure(f"`{shown}` raised {type(result.exception).__name__}: {result.exception}")
    said = Counter(line.startswith("disentree: ") for line in result.stderr.splitlines())
    last = (result.stderr.splitlines() or [""])[-1]
    if result.exit_code not in (0, 2) or "Traceback" in result.stderr:
        raise Failure(f"`{shown}` ended with {result.exit_code}: {last}")
    if result.exit_code == 2 and (said[True] != 1 or not last.startswith("disentree: ")):
        raise Failure(f"`{shown}` has no sentence: {result.stderr[-500:]}")
    if re.search(r"^\S+\.py:\d+: \w*Warning", result.stderr, re.MULTILINE):
        raise Failure(f"`{shown}` warns: {result.stderr[-500:]}")
    return result.exit_code == 0, result.stderr


# ------------------------------------------------------------------ damage


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file after an accident: cut, empty, bytes changed, lost, doubled or put in."""
    broken = bytearray(content)
    n = len(broken)
    kind = rng.choice(["cut", "flip", "flip", "flip", "noise", "drop", "double", "insert", "empty", "zeros"])
    if n == 0 or kind == "empty":
        return b"" if n else rng.bytes(10)
    start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
    if kind == "cut":
        return bytes(broken[:stop]) if stop < n else bytes(broken[: n // 2])
    if kind == "flip":
        for place in rng.integers(0, n, rng.integers(1, 5)):
            broken[place] ^= int(rng.integers(1, 256))
    elif kind == "noise":
        return rng.bytes(int(rng.integers(1, 2000)))
    elif kind == "drop":
        del broken[start:stop]
    elif kind == "double":
        broken[start:start] = broken[start:stop]
    elif kind == "insert":
        broken[start:start] = rng.bytes(int(rng.integers(1, 30)))
    elif kind == "zeros":
        broken[start:stop] = bytes(stop - start)
    return bytes(broken)
