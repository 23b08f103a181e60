"""What others add to this package: things by a name of their own, entry points, and `package.module:object`."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from disentree.errors import UserError


def is_spec(name: str) -> bool:
    """Whether a name says where something is, as `package.module:object`."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def find_in_working_directory() -> None:
    """Let modules of the working directory be found, as `python -m` does: for names that a user has typed, not for
    those in a file of someone else."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def import_object(spec: str) -> Any:
    """What `package.module:object` names."""
    name, _, attribute = spec.partition(":")
    try:
        found: Any = import_module(name)
    except ImportError as error:
        raise UserError(f"{spec}: the module {name} cannot be imported ({error})") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UserError(f"{spec}: {name} has no {attribute}")
        found = getattr(found, part)
    return found


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, by name, of all packages that are installed."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load_installed(group: str, name: str) -> Any:
    """What an entry point stands for."""
    entry = installed(group)[name]
    try:
        return entry.load()
    except Exception as error:
        raise UserError(f"{name} of the package that installs it cannot be loaded: {error}") from None


def check_new_name(kind: str, name: str, taken: bool) -> None:
    """Refuse a name for something of one's own that means something else already."""
    if not isinstance(name, str) or not name or any(c in ":/\\," or c.isspace() for c in name):
        raise ValueError(
            f"the name of a {kind} must be a word without blanks, commas, colons and slashes, got {name!r}"
        )
    if taken:
        raise ValueError(f"there is a {kind} {name!r} already: choose another name")
