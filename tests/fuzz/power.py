"""A disk that forgets: what is left of a folder if the power fails and unsynced writes are lost."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np


class PowerCuts:
    """Records what this process syncs in a folder, and writes down what a power cut would leave.

    Content is safe once the file is synced, a name once its folder is. At each of `moments`, counted in operations
    on files, three folders are written to `out`:

    - ``strict``: safe names with their safe content, and nothing else
    - ``names``: all names, also those not yet safe, with their safe content; a file that was never synced is empty
    - ``mixed``: a random part of what is not safe has arrived, content perhaps up to a random byte

    Parameters
    ----------
    folder : Path
        What is watched. It need not exist yet.
    out : Path
        Where the states are written, and the number of operations.
    moments : collection of int
        When the power fails.
    seed : int, default=0
        Of what arrives in ``mixed``.
    """

    def __init__(self, folder: Path, out: Path, moments: Collection[int], seed: int = 0) -> None:
        self.folder, self.out, self.moments = folder, out, {*moments}
        self.rng = np.random.default_rng(seed)
        self.safe_content: dict[int, bytes] = {}  # by inode
        self.safe_names: dict[Path, dict[str, int]] = {}  # by folder: name and inode
        self.kept_open: list[int] = []  # so that no inode gets another file
        self.count = 0
        self.busy = False

    def install(self) -> None:
        """Watch this process from now on. There is no way back."""
        real_sync = os.fsync
        self.out.mkdir(parents=True, exist_ok=True)

        def fsync(handle: int) -> None:
            self._operation()
            real_sync(handle)
            self._synced(handle)

        os.fsync = fsync
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy:
            return
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if (writes and isinstance(args[0], str | os.PathLike)) or event in (
            "os.rename", "os.remove", "os.mkdir", "os.rmdir",
        ):  # fmt: skip
            place = os.fsdecode(args[0])
            if place.startswith(str(self.folder)):
                self._operation()

    def _operation(self) -> None:
        self.busy = True
        try:
            if self.count in self.moments:
                for kind in ("strict", "names", "mixed"):
                    self._write_state(self.out / f"{self.count:05d}-{kind}", kind)
            self.count += 1
            (self.out / "operations").write_text(str(self.count))
        finally:
            self.busy = False

    def _synced(self, handle: int) -> None:
        self.busy = True
        try:
            about = os.fstat(handle)
            if stat.S_ISREG(about.st_mode):
                self.kept_open.append(os.dup(handle))
                self.safe_content[about.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()  # Linux
                return
            for place in (self.folder.parent, self.folder, *(p for p in self.folder.glob("*") if p.is_dir())):
                if place.is_dir() and os.path.samestat(place.stat(), about):
                    self.safe_names[place] = {p.name: p.lstat().st_ino for p in place.iterdir() if not p.is_dir()}
        finally:
            self.busy = False

    def _write_state(self, target: Path, kind: str) -> None:
        target.mkdir()
        places = [self.folder, *(p for p in self.folder.glob("*") if p.is_dir())] if self.folder.is_dir() else []
        for place in places:
            into = target / place.relative_to(self.folder)
            now = {p.name: p.stat().st_ino for p in place.iterdir() if p.is_file()}
            safe = self.safe_names.get(place, {})
            if kind == "strict":
                names = safe
            elif kind == "names":
                names = now
            else:
                both = {*now, *safe}
                names = {name: (now if self.rng.random() < 0.5 else safe).get(name) for name in sorted(both)}
            into.mkdir(exist_ok=True)
            for name, inode in names.items():
                if inode is not None:
                    (into / name).write_bytes(self._content(place / name, inode, kind))
        for empty in [p for p in target.glob("*") if p.is_dir() and not any(p.iterdir())]:
            shutil.rmtree(empty)

    def _content(self, path: Path, inode: int, kind: str) -> bytes:
        safe = self.safe_content.get(inode, b"")
        if kind != "mixed" or not path.is_file() or path.stat().st_ino != inode or self.rng.random() < 0.5:
            return safe
        written = path.read_bytes()
        if written == safe:
            return safe
        return written if self.rng.random() < 0.5 else written[: self.rng.integers(len(written) + 1)]
