"""Reading the JSON files of a run folder, and the seal of those that vouch for the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from disentree.errors import UserError
from disentree.utils.files import checksum_of
from disentree.utils.files import sealed as with_seal

SEAL = "sha256"  # the key of a file's checksum of all its other keys


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The lines of a folder's events.jsonl; lines that are cut short or damaged are left out."""
    path = folder / "events.jsonl"
    if not path.is_file():
        return []
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and _is_event(event):
            events.append(event)
    return events


def _is_event(event: dict[str, Any]) -> bool:
    """Whether an event has the keys that its kind always has, and they are of their types."""
    kind = event.get("event")
    if not isinstance(kind, str) or not isinstance(event.get("stage", ""), str):
        return False
    if kind in ("start", "done") and "stage" not in event:
        return False
    if kind != "epoch":
        return True
    seconds = event.get("seconds")
    return type(event.get("epoch")) is int and isinstance(seconds, int | float) and seconds >= 0


def read_json(path: Path) -> Any:
    """What a JSON file holds, or an error that names it."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def sealed(value: dict[str, Any]) -> dict[str, Any]:
    """The value with a checksum of itself."""
    return with_seal(value, SEAL)


def read_sealed(path: Path) -> Any:
    """What a JSON file that was sealed holds; one without a seal is not ours, and told by its content."""
    value = read_json(path)
    if isinstance(value, dict) and SEAL in value and value.pop(SEAL) != checksum_of(value):
        raise UserError(f"{path} is damaged: its checksum differs")
    return value
