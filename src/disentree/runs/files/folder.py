"""Reading and writing the files of a run folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from disentree.errors import UserError
from disentree.runs.files.json_files import read_events, read_json, sealed
from disentree.utils.arrays import read_arrays
from disentree.utils.files import atomic_path, encodable_json, naming, open_without_links, write_json, write_npz


class Folder:
    """A folder of JSON files, arrays and events; errors name the file and say how it is made again."""

    def __init__(self, folder: str | os.PathLike[str], advice: str) -> None:
        self.folder = Path(folder)
        self.advice = advice  # how files that are damaged or missing are made again

    def read_json(self, name: str) -> Any:
        """What a JSON file of the folder holds."""
        try:
            return read_json(self.folder / name)
        except UserError as error:
            raise UserError(f"{error}: {self.advice}") from None

    def read_checked(self, name: str, schema: type[BaseModel]) -> dict[str, Any]:
        """What a JSON file of the folder holds, if it is of a schema."""
        try:
            return schema.model_validate(self.read_json(name)).model_dump(by_alias=True)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise self.damaged(name, f"{where}: {first['msg']}" if where else first["msg"]) from None

    def read_optional(self, name: str, schema: type[BaseModel]) -> dict[str, Any] | None:
        """The same of a file that only some runs have, and only after some stage; None if there is none."""
        return self.read_checked(name, schema) if (self.folder / name).exists() else None

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file of the folder."""
        write_json(self.folder / name, value)

    def write_sealed(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON file of the folder with a checksum of itself, as no other file has one of it."""
        write_json(self.folder / name, sealed(value))

    def read_arrays(self, name: str, *needed: str) -> dict[str, np.ndarray]:
        """Arrays of an npz file of the folder by their names; all of them if none is named."""
        try:
            return read_arrays(self.folder / name, *needed)
        except FileNotFoundError:
            raise UserError(f"{self.folder / name} is missing: {self.advice}") from None
        except UserError as error:
            raise UserError(f"{error}: {self.advice}") from None

    def write_npz(self, name: str, **arrays: Any) -> None:
        """Write an npz file of the folder."""
        with atomic_path(self.folder / name) as temporary:
            write_npz(temporary, {key: np.asarray(value) for key, value in arrays.items()})

    def log_event(self, event: str, **more: Any) -> None:
        """Append a line to events.jsonl: what happened, and more about it as JSON has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **more}
        path = self.folder / "events.jsonl"
        handle = open_without_links(path, os.O_RDWR | os.O_APPEND)
        with naming(path), os.fdopen(handle, "ab") as file:
            size = os.fstat(handle).st_size
            cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"  # the last line, by a kill or a power cut
            file.write(b"\n" * cut + encodable_json(line).encode() + b"\n")

    def read_events(self) -> list[dict[str, Any]]:
        """The lines of events.jsonl; lines that are cut short or damaged are left out."""
        return read_events(self.folder)

    def damaged(self, name: str, problem: object) -> UserError:
        """An error about the content of a file."""
        return UserError(f"{self.folder / name} is damaged ({problem}): {self.advice}")
