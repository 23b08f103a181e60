"""The files of a saved model: JSON with a checksum of itself, and one sentence for each that is damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from disentree.errors import DamagedFile, UserError
from disentree.utils.files import check_is_file, json_text

SEAL = "seal"  # the key of a document's checksum of all its other keys


def checksum_of(value: Any) -> str:
    """The SHA-256 of a value as JSON, however it was written."""
    return hashlib.sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()


def sealed(value: Mapping[str, Any], key: str = SEAL) -> dict[str, Any]:
    """The value with a checksum of itself."""
    return {**value, key: checksum_of(value)}


def read_document(path: Path, sealed_formats: Container[int]) -> dict[str, Any]:
    """The table in a JSON file, with a whole number as "format"; a `DamagedFile` if it is not one. Those of
    `sealed_formats` must have a seal, and it must fit; those of other formats are for the caller to refuse."""
    check_is_file(path)
    with damage_told(path):
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict) or type(value.get("format")) is not int:
            raise ValueError("it does not say of which format it is")
        seal = value.pop(SEAL, None)
        if value["format"] in sealed_formats and seal != checksum_of(value):
            raise ValueError("its checksum differs")
        return value


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Whatever the content of a file makes Python raise within the block, as one sentence about that file."""
    try:
        yield
    except (DamagedFile, UserError):
        raise
    except MemoryError as error:
        raise MemoryError(f"{path} needs more than there is: {error}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DamagedFile(f"{path} is cut short or damaged ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200]
    text = str(error).strip()
    first = text.splitlines()[0][:200] if text else ""
    return first if isinstance(error, ValueError) and first else f"{type(error).__name__}: {first}".rstrip(": ")
