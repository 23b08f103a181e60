"""Reading the JSON files of a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from disentree.errors import UserError


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
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            events.append(event)
    return events


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
