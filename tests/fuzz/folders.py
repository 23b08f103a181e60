"""Run folders after accidents, and run folders that someone has prepared."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from disentree.runs import Run
from disentree.runs.files.json_files import sealed
from disentree.utils.files import SEAL, sha256_of
from disentree.utils.files import sealed as with_seal
from fuzz.driver import Failure, Target, damaged, run_command
from fuzz.stand_ins import small_pictures

SETTINGS = ("--preset", "quick", "--epochs", 1, "--structure", "true", "--device", "cpu")
SAME = (
    "data.json",
    "hierarchy.json",
    "labels.npz",
    "model.safetensors",
    "metrics.json",
    "learned.npz",
    "samples.npz",
)
MARK = "<img src=x onerror=fuzz()>"  # must not come out of a page as it went into a file


class Folders(Target):
    """A finished run, trained for an epoch, that every try gets a copy of."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.good = folder / "good" / "r"
        self.command = ("run", "chopsticks-depth2-inter", "--n-samples", 150, *SETTINGS, "--out")
        with small_pictures():
            accepted, said = run_command(*self.command, self.good)
        assert accepted, said
        run = Run.open(self.good)
        self.about, self.rows = run.about, folder / "x.npy"
        np.save(self.rows, run.data.X[:20])
        for words in self._uses(self.good, self.good.parent).values():
            accepted, said = run_command(*words)
            assert accepted, said
        shutil.copytree(self.good, folder / "original")
        self.expected = self._results(self.good, self.good.parent)

    def _uses(self, run: Path, beside: Path) -> dict[str, tuple[object, ...]]:
        """Commands that use a run without changing it, by what they write."""
        return {
            "z.npy": ("apply", run, self.rows, "--out", beside / "z.npy", "--device", "cpu"),
            "z.paths.npy": ("apply", run, self.rows, "--out", beside / "z.npy", "--force"),
            "page.html": ("explore", run, "--export", beside / "page.html", "--device", "cpu"),
            "s.json": ("score", run, "--out", beside / "s.json", "--n-splits", 1, "--n-jobs", 1, "--force"),
        }

    def _results(self, run: Path, beside: Path) -> dict[str, bytes]:
        """What must not change, by name; times and the name of the folder are left out."""
        found = {name: (run / name).read_bytes() for name in SAME if (run / name).is_file()}
        for name in ("z.npy", "z.paths.npy", "page.html", "s.json"):
            if (beside / name).is_file():
                found[name] = self._nameless((beside / name).read_bytes(), run)
        if (run / "report.html").is_file():
            text = self._nameless((run / "report.html").read_bytes(), run)
            found["report.html"] = re.sub(rb"\b\d+(\.\d+)? s\b|\b\d+ min\b", b"", text)
        return found

    def _nameless(self, content: bytes, run: Path) -> bytes:
        for place in (run.parent, self.good.parent):
            content = content.replace(os.fsencode(place), b"")
        return content

    def _copy(self, folder: Path) -> Path:
        return shutil.copytree(self.folder / "original", folder / "r", symlinks=True)


class Damaged(Folders):
    """Accidents: what can be made again is the same again; nothing else is taken for right."""

    name = "damaged"

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        run = self._copy(folder)
        files = sorted(p for p in run.rglob("*") if p.is_file() and p.name != ".lock")
        hurt = [str(p.relative_to(run)) for p in rng.permutation(files)[: rng.choice([1, 1, 1, 2, 4])]]
        for name in hurt:
            if rng.random() < 0.2:
                (run / name).unlink()
            else:
                (run / name).write_bytes(damaged((run / name).read_bytes(), rng))
        with small_pictures():
            if rng.random() < 0.6:
                words = list(self._uses(run, folder).values())[rng.integers(4)]
                words = ("report", run) if rng.random() < 0.3 else words
                accepted, said = run_command(*words)
                self._check(run, folder, hurt, said)
                if accepted:
                    return True
            accepted, said = run_command(*self.command, run)
        # names belong to the user, who is told to correct or remove them
        restorable = not {"config.json", "events.jsonl"} <= {*hurt} and "names.json" not in hurt
        if not accepted and restorable:
            raise Failure(f"{hurt} damaged: the same command does not make it again: {said[-300:]}")
        if accepted:
            self._check(run, folder, [], said)
            if Run.open(run).about["config"] != self.about["config"]:
                raise Failure(f"{hurt} damaged: the settings are others")
            if (
                missing := self.expected.keys()
                - self._results(run, folder).keys()
                - self._uses(run, folder).keys()
            ):
                raise Failure(f"{hurt} damaged: {missing} not made again")
        return accepted

    def _check(self, run: Path, folder: Path, hurt: list[str], said: str) -> None:
        for name, content in self._results(run, folder).items():
            if name not in hurt and content != self.expected[name]:
                raise Failure(f"{name} differs and nothing is said: {said[-300:]}")


class Hostile(Folders):
    """Files that vouch for each other, and mean harm: one sentence, or a page in which nothing runs."""

    name = "hostile"

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        run, mine = self._copy(folder), folder / "mine"
        mine.mkdir()
        for name in ("figures", "checkpoint"):
            (mine / name).mkdir()
            (mine / name / "tree.png").write_text("my own")
        (mine / "file").write_text("my own\n")
        before = _contents(mine)
        for _ in range(int(rng.integers(1, 4))):
            harm = HARMS[rng.integers(len(HARMS))]
            harm(run, mine, rng)
        if rng.random() < 0.9:
            _vouch(run)
        words = [*self._uses(run, folder).values(), ("report", run), (*self.command, run)]
        words.append((*self.command, run, "--force", "--seed", 1))
        accepted = False
        with small_pictures():
            for n in rng.permutation(len(words))[:2]:
                accepted = run_command(*words[n])[0] or accepted
        if _contents(mine) != before:
            raise Failure("a link was followed: a file outside of the folder has changed")
        for page in (folder / "page.html", run / "report.html"):
            if page.is_file() and not page.is_symlink() and MARK in page.read_text(errors="replace"):
                raise Failure(f"{page.name} has markup from a file in it")
        return accepted


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# ------------------------------------------------------------------ harm

STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    2**70,
    1e-320,
    "",
    "x",
    MARK,
    "\ud800",
    "../../x",
    "a" * 100_000,
    [],
    {},
    [[]],
    [1] * 10_000,
    {"a": 1},
    "\x00",
    "NaN",
    [None],
    ["x"],
    "</script><script>fuzz()</script>",
]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(item, (*path, key))


def replaced_at(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    inner = dict(value) if isinstance(value, dict) else list(value)
    inner[path[0]] = replaced_at(inner[path[0]], path[1:], change)
    return inner


def change_json(run: Path, mine: Path, rng: np.random.Generator) -> None:
    """A value somewhere in a JSON file is another one, or a key is gone or new."""
    name = str(
        rng.choice(
            [
                "config.json",
                "stages.json",
                "data.json",
                "structure.json",
                "metrics.json",
                "model.json",
                "hierarchy.json",
            ]
        )
    )
    path = run / name
    if not _is_own(path):
        return
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # it was harmed before
        return
    places = list(places_in(value))
    place = places[rng.integers(len(places))]
    strange = STRANGE[rng.integers(len(STRANGE))]

    def change(old: Any) -> Any:
        if isinstance(old, dict) and old and rng.random() < 0.5:
            return {k: v for k, v in old.items() if k != list(old)[rng.integers(len(old))]} | {"new": strange}
        if isinstance(old, list) and old and rng.random() < 0.5:
            return [*old, *old] if rng.random() < 0.5 else old[:-1]
        if isinstance(old, str) and rng.random() < 0.5:
            return MARK + old
        if isinstance(old, int | float) and rng.random() < 0.5:
            return type(old)(rng.choice([-old, old + 1, old * 1000, 0]))
        return strange

    path.write_text(json.dumps(replaced_at(value, place, change)), errors="surrogatepass")


def deep_json(run: Path, mine: Path, rng: np.random.Generator) -> None:
    name = str(
        rng.choice(["config.json", "stages.json", "data.json", "hierarchy.json", "model.json", "events.jsonl"])
    )
    _remove(run / name)
    (run / name).write_text(
        str(rng.choice(["[" * 100_000, '{"variables": ' * 3000, '{"a":' * 90_000 + "1", "1" * 9000]))
    )


def change_arrays(run: Path, mine: Path, rng: np.random.Generator) -> None:
    """Arrays of another shape, type or content."""
    path = run / str(rng.choice(["labels.npz", "learned.npz", "true.npz", "samples.npz"]))
    if not _is_own(path):
        return
    try:
        with np.load(path) as archive:
            arrays = dict(archive)
    except (OSError, ValueError):
        return
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    others = [
        array[:-1] if array.ndim else array,
        np.zeros(0),
        np.array("x"),
        array.reshape(-1),
        array.astype("f4") if array.dtype.kind != "U" else array,
        np.full(array.shape, np.nan),
        np.full(array.shape, 10**9),
        np.full(array.shape, -5),
        np.array(MARK),
        np.array('{"variables": []}'),
        np.full(array.shape, np.inf),
        np.zeros((*array.shape, 2)),
        np.full(array.shape, 1e300),
    ]
    arrays[name] = others[rng.integers(len(others))]
    if rng.random() < 0.1:
        del arrays[name]
    np.savez(path, **arrays)


def change_tensors(run: Path, mine: Path, rng: np.random.Generator) -> None:
    """The header of the model's file, or its numbers."""
    path = run / "model.safetensors"
    if not _is_own(path):
        return
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[:8], "little")
    if rng.random() < 0.5:
        start = 8 + size + 4 * int(rng.integers(0, max(1, (len(content) - size - 8) // 4)))
        content[start : start + 4] = np.array(rng.choice([np.nan, np.inf, 1e38]), dtype="<f4").tobytes()
    else:
        content[: 8 + size] = damaged(bytes(content[: 8 + size]), rng)
    path.write_bytes(content)


def put_link(run: Path, mine: Path, rng: np.random.Generator) -> None:
    files = [
        ".lock",
        "events.jsonl",
        "metrics.json",
        "stages.json",
        "report.html",
        "model.safetensors",
        "config.json",
    ]
    name = str(rng.choice([*files, "figures", "checkpoint", "figures/tree.png"]))
    (run / name).parent.mkdir(exist_ok=True)
    if (run / name).parent.is_symlink():
        return
    _remove(run / name)
    target = mine / name if (mine / name).is_dir() else mine / "file"
    if rng.random() < 0.1:
        target = run / name  # to itself
    (run / name).symlink_to(target)


def put_pipe(run: Path, mine: Path, rng: np.random.Generator) -> None:
    name = str(
        rng.choice(
            [
                "events.jsonl",
                "config.json",
                "stages.json",
                "data.json",
                ".lock",
                "model.json",
                "samples.npz",
                "model.safetensors",
                "figures/tree.png",
            ]
        )
    )
    if (run / name).parent.is_dir() and not (run / name).parent.is_symlink():
        _remove(run / name)
        os.mkfifo(run / name)


def put_folder(run: Path, mine: Path, rng: np.random.Generator) -> None:
    name = str(
        rng.choice(
            [
                "events.jsonl",
                "config.json",
                "stages.json",
                "data.json",
                ".lock",
                "model.json",
                "labels.npz",
                "model.safetensors",
                "report.html",
                ".tmp-x",
            ]
        )
    )
    _remove(run / name)
    (run / name).mkdir()


def change_events(run: Path, mine: Path, rng: np.random.Generator) -> None:
    """Lines among the events, of any kind; without config.json they are what is left of the settings."""
    if not _is_own(run / "events.jsonl"):
        return
    lines = [
        {"event": "epoch", "epoch": "x", "seconds": None},
        {"event": "done"},
        {"event": "done", "stage": [], "files": 5},
        {"event": "created", "about": 5},
        {"event": "created", "about": {"config": {"source": MARK}}},
        {"event": "start", "stage": {"a": 1}},
        {"event": "done", "stage": "model", "files": {}, "seconds": -1},
        {"event": "done", "stage": ["x"], "files": {}, "seconds": 1},
        {"event": "epoch"},
        {"event": 5},
    ]
    with (run / "events.jsonl").open("a") as file:
        for n in rng.integers(0, len(lines), 3):
            file.write(json.dumps(lines[n]) + "\n")
    for name in ("config.json", "stages.json"):
        if rng.random() < 0.4:
            _remove(run / name)
    if rng.random() < 0.3:  # a training that seems to be half done
        (run / "checkpoint").mkdir(exist_ok=True)
        if not (run / "checkpoint").is_symlink() and _is_own(run / "model.safetensors"):
            shutil.copyfile(run / "model.safetensors", run / "checkpoint" / "checkpoint.safetensors")
            _remove(run / "stages.json")


HARMS = (
    [change_json] * 5
    + [change_arrays] * 3
    + [change_tensors, deep_json, put_link, put_link, put_pipe, put_folder, change_events]
)


def _is_own(path: Path) -> bool:
    """Whether it is a file, and not a link or a pipe that was put there before."""
    return path.is_file() and not path.is_symlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def _vouch(run: Path) -> None:
    """Let stages.json and config.json have the checksums of what is there now."""
    for name in ("model.json", "mimosa/mimosa.json"):
        if _is_own(run / name):
            seal_again((run / name).parent)
    try:
        stages = json.loads((run / "stages.json").read_bytes()) if _is_own(run / "stages.json") else {}
        for stage in stages.values():
            for name in stage["files"] if isinstance(stage, dict) else ():
                if (run / name).is_file():
                    stage["files"][name] = sha256_of(run / name)
        _seal(run / "stages.json", stages)
        if _is_own(run / "config.json"):
            _seal(run / "config.json", json.loads((run / "config.json").read_bytes()))
    except (ValueError, TypeError, AttributeError, KeyError, OSError, RecursionError):
        return


def seal_again(folder: Path) -> None:
    """Let the files of saved models in a folder have the checksums of what is there now."""
    for path in [*folder.rglob("model.json"), *folder.rglob("mimosa.json")]:
        try:
            value = json.loads(path.read_bytes()) if _is_own(path) else None
        except (ValueError, RecursionError):  # it was harmed before
            continue
        if not isinstance(value, dict):
            continue
        value.pop(SEAL, None)
        beside = {p.name: p for p in path.parent.glob("*.safetensors") if _is_own(p)}
        if isinstance(value.get("sha256"), dict):
            value["sha256"] |= {name: sha256_of(beside[name]) for name in value["sha256"] if name in beside}
        elif "sha256" in value and "model.safetensors" in beside:
            value["sha256"] = sha256_of(beside["model.safetensors"])
        path.write_text(json.dumps(with_seal(value)), errors="surrogatepass")


def _seal(path: Path, value: dict[str, Any]) -> None:
    if _is_own(path):
        value.pop("sha256", None)
        path.write_text(json.dumps(sealed(value)), errors="surrogatepass")
