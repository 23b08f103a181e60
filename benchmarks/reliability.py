"""What `docs/reliability.md` promises, put to the test: `python benchmarks/reliability.py [--seed 2000]`.

Two processes on one folder, kill -9, power cuts, damaged and hostile files, folders and saved models, containers
and units, environments, requests. Every process is real, forked from this one so that it need not load its
libraries again. Writes `results/reliability.json`; it ends with an error if anything failed. `--share .1` makes a
tenth of the tries.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"}

import argparse
import math
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from disentree.errors import UserError  # noqa: E402
from disentree.runs import Run  # noqa: E402
from disentree.runs.stages import STAGES, finished_stages, unfinished_stages  # noqa: E402
from disentree.utils.files import write_json  # noqa: E402
from disentree.utils.versions import build_versions  # noqa: E402
from fuzz.driver import Tally, fuzz  # noqa: E402
from fuzz.power import PowerCuts  # noqa: E402
from fuzz.stand_ins import small_pictures  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402

TRIES = {"files": 300, "damaged": 200, "hostile": 200, "models": 1000, "flipped": 1000, "containers": 100}
TRIES |= {"environments": 60, "requests": 300}
OFFSETS, KILLS, CUTS = 20, 40, 30
SAME = ("data.json", "hierarchy.json", "labels.npz", "model.safetensors", "metrics.json", "learned.npz",
        "samples.npz", "true.npz")  # fmt: skip
TOLD = ("is in use by another process", "was started over by another process", "holds a run with")


# ------------------------------------------------------------------ processes


def words(folder: Path, seed: int, *more: str) -> list[str]:
    return [
        "run", "chopsticks-depth2-inter", "--n-samples", "150", "--preset", "quick", "--epochs", "3", "--device",
        "cpu", "--seed", str(seed), "--out", str(folder), *more,
    ]  # fmt: skip


def start(command: list[str], errors: Path, before: Callable[[], None] | None = None) -> int:
    """A process that runs a command; its stderr goes to a file."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if before is not None:
            before()
        from disentree.cli.app import app

        with small_pictures():
            app(command)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    """The exit code; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_to_the_end(folder: Path, seed: int, *more: str) -> tuple[int, str]:
    errors = folder.with_suffix(".err")
    code = wait(start(words(folder, seed, *more), errors))
    return code, errors.read_text()


def results(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME if (folder / name).is_file()}


# ------------------------------------------------------------------ two processes on one folder


def two_processes(
    place: Path, rng: np.random.Generator, expected: dict[int, dict[str, bytes]], seconds: float, share: float
) -> Any:
    """The second starts after each of some delays; the folder must hold the whole of one of the two runs."""
    failures, told, tries, offsets = [], 0, 0, math.ceil(share * OFFSETS)
    for other in (0, 1):
        for more in ((), ("--force",)):
            for offset in np.linspace(0, 1.1 * seconds, offsets) + rng.uniform(0, 0.02, offsets):
                folder = place / f"two-{tries}"
                tries += 1
                first = start(words(folder, 0), folder.with_suffix(".1"))
                time.sleep(float(offset))
                second = start(words(folder, other, *more), folder.with_suffix(".2"))
                codes = [wait(first), wait(second)]
                said = [folder.with_suffix(f".{n}").read_text() for n in (1, 2)]
                problem = _mixture(folder, codes, said, (0, other), expected)
                told += sum(code == 2 for code in codes)
                if problem:
                    failures.append(f"seeds 0 and {other}, {more}, after {offset:.2f} s: {problem}")
                shutil.rmtree(folder)
    return {"tries": tries, "second_or_first_was_told": told, "failures": failures}


def _mixture(
    folder: Path, codes: list[int], said: list[str], seeds: tuple[int, int], expected: dict[int, dict[str, bytes]]
) -> str | None:
    if not {*codes} <= {0, 2} or 0 not in codes:
        return f"exit codes {codes}: {said[0][-200:]} {said[1][-200:]}"
    for code, text in zip(codes, said, strict=True):
        if code == 2 and not any(reason in text.splitlines()[-1] for reason in TOLD):
            return f"not told why: {text[-200:]}"
    run = Run.open(folder)
    if run.config.seed not in {seed for seed, code in zip(seeds, codes, strict=True) if code == 0}:
        return f"the folder holds seed {run.config.seed}, whose process failed"
    if left := unfinished_stages(run):
        return f"{left} not finished"
    if results(folder) != expected[run.config.seed]:
        return "a mixture of two runs"
    return None


# ------------------------------------------------------------------ kills


def kills(place: Path, rng: np.random.Generator, expected: dict[str, bytes], seconds: float, share: float) -> Any:
    """kill -9 at moments of a run, half of them between two operations on files; then the same command again."""
    failures, stages, tries = [], {}, math.ceil(share * KILLS)
    for n in range(tries):
        folder = place / f"kill-{n}"
        if n % 2:
            pid = start(words(folder, 0), folder.with_suffix(".err"))
            time.sleep(float(rng.uniform(0, seconds)))
            os.kill(pid, signal.SIGKILL)
        else:
            at = int(rng.integers(1, 120))
            pid = start(words(folder, 0), folder.with_suffix(".err"), lambda at=at: _die_at(at))
        wait(pid)
        reached = len(finished_stages(Run.open(folder))) if (folder / "config.json").is_file() else 0
        stages[reached] = stages.get(reached, 0) + 1
        code, said = run_to_the_end(folder, 0)
        if code or results(folder) != expected or unfinished_stages(Run.open(folder)):
            failures.append(f"kill {n}, {reached} stages finished: exit code {code}: {said[-300:]}")
        if left := [p.name for p in folder.rglob(".*") if p.name != ".lock"]:
            failures.append(f"kill {n}: {left} left behind")
        shutil.rmtree(folder)
    return {"tries": tries, "by_stages_finished": dict(sorted(stages.items())), "failures": failures}


def _die_at(n: int) -> None:
    """Kill this process before its n-th operation on a file."""
    count = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        opened = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if opened or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"):
            count += 1
            if count == n:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


# ------------------------------------------------------------------ power cuts


def power_cuts(place: Path, rng: np.random.Generator, expected: dict[str, bytes], share: float) -> Any:
    """What a disk holds if all, or a part, of what was not synced is lost; then the same command again."""
    folder = place / "cut"
    trial = PowerCuts(folder, place / "counted", ())
    wait(start(words(folder, 0), folder.with_suffix(".err"), trial.install))
    n_operations = int((place / "counted" / "operations").read_text())
    shutil.rmtree(folder)
    moments = sorted(
        {int(k) for k in rng.choice(n_operations, min(math.ceil(share * CUTS), n_operations), replace=False)}
    )
    cuts = PowerCuts(folder, place / "cuts", moments, int(rng.integers(2**31)))
    wait(start(words(folder, 0), folder.with_suffix(".err"), cuts.install))
    shutil.rmtree(folder)
    failures, tries = [], 0
    for state in sorted((place / "cuts").glob("*-*")):
        tries += 1
        shutil.copytree(state, folder)  # under the name that the run had
        if (problem := _falsely_finished(folder, expected)) is not None:
            failures.append(f"{state.name}: {problem}")
        code, said = run_to_the_end(folder, 0)
        if code or results(folder) != expected or unfinished_stages(Run.open(folder)):
            failures.append(f"{state.name}: exit code {code}: {said[-300:]}")
        shutil.rmtree(folder)
    return {"operations": n_operations, "moments": len(moments), "tries": tries, "failures": failures}


def _falsely_finished(folder: Path, expected: dict[str, bytes]) -> str | None:
    try:
        done = finished_stages(Run.open(folder))
    except UserError:  # it has no settings yet
        return None
    for stage in STAGES:
        for name in stage.files:
            if stage.name in done and (not (folder / name).is_file() or not (folder / name).stat().st_size):
                return f"{stage.name} counts as finished and {name} is empty or missing"
            if stage.name in done and name in expected and (folder / name).read_bytes() != expected[name]:
                return f"{stage.name} counts as finished and {name} is another"
    return None


# ------------------------------------------------------------------ all of it


def fuzzed(place: Path, seed: int, share: float) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, make in TARGETS.items():
        (place / name).mkdir()
        target, tally = make(place / name), Tally(name, seed)
        try:
            fuzz(target, tally, tries=math.ceil(share * TRIES[name]))
        finally:
            target.close()
        print(tally.sentence(), flush=True)
        yield name, {
            "tries": tally.tries, "accepted": tally.accepted, "clean_errors": tally.clean_errors,
            "hangs": tally.hangs, "slowest_seconds": round(tally.slowest, 1), "failures": tally.failures,
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "reliability.json")
    parser.add_argument("--share", type=float, default=1.0, help="of the tries of each kind")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    versions = build_versions()  # of the code that is tested, whatever is changed meanwhile
    command = f"python benchmarks/reliability.py --seed {args.seed}"
    command += f" --share {args.share:g}" if args.share < 1 else ""

    def keep() -> None:
        write_json(args.out, {"command": command, "seed": args.seed, "versions": versions, **found})

    with tempfile.TemporaryDirectory(prefix="reliability-") as name:
        place = Path(name)
        import torch

        torch.set_num_threads(1)
        from shell import invoke

        with small_pictures():  # here too, so that every library is loaded before the first fork
            assert invoke(*words(place / "warm", 0)).exit_code == 0
        expected = {}
        for seed in (0, 1):
            began = time.perf_counter()
            code, said = run_to_the_end(place / f"good-{seed}", seed)
            assert code == 0, said
            seconds = time.perf_counter() - began
            expected[seed] = results(place / f"good-{seed}")
        assert expected[0] != expected[1]
        rng = np.random.default_rng(args.seed)
        for what, test in (
            ("two_processes", lambda: two_processes(place, rng, expected, seconds, args.share)),
            ("kill_9", lambda: kills(place, rng, expected[0], seconds, args.share)),
            ("power_cuts", lambda: power_cuts(place, rng, expected[0], args.share)),
        ):
            found[what] = test()
            print(what, {**found[what], "failures": len(found[what]["failures"])}, flush=True)
            for failure in found[what]["failures"]:
                print(" ", failure, flush=True)
            keep()
        # last: requests start threads, after which no process should be forked
        for name, part in fuzzed(place, args.seed, args.share):
            found[name] = part
            keep()
    n_failures = sum(len(part["failures"]) for part in found.values())
    print(f"{n_failures} failures")
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
