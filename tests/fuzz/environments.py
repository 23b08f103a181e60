"""Commands where something else than their files is wrong: too little memory or disk, no rights, a terminal of
ASCII, folders that go away, Ctrl-C at any moment, a clock that jumps, names that are no text."""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzz.driver import Failure
from fuzz.folders import Folders
from fuzz.stand_ins import small_pictures

CODES = {0: "ended well", 2: "said what is wrong", 130: "was stopped"}
NOBODY = 65534


class Environments(Folders):
    """A command in a process of its own, whose surroundings are made strange before it starts or while it runs."""

    name = "environments"

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        strange = KINDS[rng.integers(len(KINDS))]
        place = folder / str(rng.choice(NAMES)) if strange is odd_names else folder
        place.mkdir(exist_ok=True)
        run = shutil.copytree(self.folder / "original", place / "r", symlinks=True)
        uses = [*self._uses(run, place).values(), ("report", run), ("check", self.rows), (*self.command, run)]
        words = [str(word) for word in uses[rng.integers(len(uses))]]
        if words[0] == "run" and rng.random() < 0.5:
            words += ["--force"]  # all of it, so that there is time for something to happen
        before, during = strange(rng, run)
        code, said = in_a_process(words, folder / "said", before, during)
        what = f"{strange.__name__}: `{' '.join(words)}`"
        if code not in CODES or (code == 130 and strange is interrupted) != (code == 130):
            raise Failure(f"{what} ended with {code}: {said[-500:]}")
        told = "disentree: " in said or "Invalid value for" in said  # the latter of options
        if code == 2 and strange is not no_streams and not told:
            raise Failure(f"{what} has no sentence: {said[-500:]}")
        if "Traceback" in said or "Exception ignored" in said:
            raise Failure(f"{what} shows where it happened: {said[-800:]}")
        if left := [p.name for p in folder.rglob(".tmp-*")]:
            raise Failure(f"{what} leaves {left} behind")
        if strange is deleted:
            return code == 0
        if code and words[0] == "run":  # as usual again
            again, said = in_a_process([word for word in words if word != "--force"], folder / "said")
            if again:
                raise Failure(f"{what}, then the same command in peace ended with {again}: {said[-500:]}")
        if words[0] == "run" or code == 0:
            for name, content in self._results(run, place).items():
                says_where = name in ("report.html", "s.json")
                if content != self.expected[name] and not says_where:
                    raise Failure(f"{what} made another {name} and said nothing")
        return code == 0


def in_a_process(
    words: list[str],
    errors: Path,
    before: Callable[[], None] = lambda: None,
    during: Callable[[int], None] = lambda pid: None,
) -> tuple[int, str]:
    """The exit code of a command, negative for a signal, and what it wrote to stderr. `before` is called in its
    process, `during` in this one, which gets the number of that."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(out, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(n, "w", closefd=False)) for n in (1, 2))
            from disentree.cli.app import app

            with small_pictures():
                before()
                app(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except KeyboardInterrupt:  # before the command began
            code = 130
        except BaseException as error:
            os.write(out, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            except (OSError, ValueError):
                code = code or 120  # as Python ends if it cannot write what is left
            os._exit(code)
    try:
        during(pid)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:  # it hangs
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    return code, errors.read_text(errors="replace") if errors.is_file() else ""


# ------------------------------------------------------------------ what is strange

Strange = tuple[Callable[[], None], Callable[[int], None]]


def _nothing(*args: object) -> None:
    pass


def little_memory(rng: np.random.Generator, run: Path) -> Strange:
    more = int(rng.integers(1, 120)) * 2**20

    def before() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))

    return before, _nothing


def full_disk(rng: np.random.Generator, run: Path) -> Strange:
    limit = int(2.0 ** rng.uniform(13, 20))  # of every file, that of stderr included

    def before() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return before, _nothing


def few_files(rng: np.random.Generator, run: Path) -> Strange:
    n = len(os.listdir("/proc/self/fd")) + int(rng.integers(0, 12))
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)), _nothing


def another_user(rng: np.random.Generator, run: Path) -> Strange:
    """The run is of someone else: it can be read, or not even that."""
    mode = int(rng.choice([0o755, 0o711, 0o700]))

    def before() -> None:
        for folder in [run, *(p for p in run.rglob("*") if p.is_dir())]:
            folder.chmod(mode)
        if os.geteuid() == 0:
            os.chmod(run.parent, 0o777)
            for above in run.parent.parents:
                if above.stat().st_uid == 0 and above.is_relative_to("/tmp") and above != Path("/tmp"):
                    os.chmod(above, above.stat().st_mode | 0o111)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    return before, _nothing


def another_language(rng: np.random.Generator, run: Path) -> Strange:
    encoding = str(rng.choice(["ascii", "latin-1", "cp1252", "shift_jis"]))

    def before() -> None:
        os.environ |= {"LC_ALL": "POSIX", "LANG": "tr_TR", "PYTHONIOENCODING": encoding}
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(n, "w", closefd=False), encoding=encoding) for n in (1, 2)
        )

    return before, _nothing


def odd_names(rng: np.random.Generator, run: Path) -> Strange:
    return _nothing, _nothing


NAMES = [
    os.fsdecode(b"b\xffd"),
    "two  words",
    "größe",
    "a\nb",
    "-r",
    "x" * 200,
    "'\"`$(ls)",
    "\x1b[2J",
    "[red]",
    "%s",
]


def deleted(rng: np.random.Generator, run: Path) -> Strange:
    """The folder of the run goes away while the command runs."""
    delay = float(rng.uniform(0, 1))

    def during(pid: int) -> None:
        time.sleep(delay)
        shutil.rmtree(run, ignore_errors=True)

    return _nothing, during


def interrupted(rng: np.random.Generator, run: Path) -> Strange:
    delay = float(rng.uniform(0, 1.5))

    def during(pid: int) -> None:
        time.sleep(delay)
        os.kill(pid, signal.SIGINT)

    def before() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return before, during


def jumping_clock(rng: np.random.Generator, run: Path) -> Strange:
    """The time of day goes back and forth, and files are of another century."""
    real, jumps = time.time, np.random.default_rng(int(rng.integers(2**31)))

    def before() -> None:
        time.time = lambda: real() + float(jumps.uniform(-1e9, 1e9))
        for path in run.rglob("*"):
            os.utime(path, (0, float(jumps.uniform(0, 4e9))))

    return before, _nothing


def no_streams(rng: np.random.Generator, run: Path) -> Strange:
    """Nobody can read what is written to stdout."""
    full = rng.random() < 0.5

    def before() -> None:
        if full:
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        else:
            sys.stdout.close()
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            os.close(1)

    return before, _nothing


KINDS = (
    little_memory, full_disk, few_files, another_user, another_language, odd_names, deleted, interrupted,
    jumping_clock, no_streams,
)  # fmt: skip
