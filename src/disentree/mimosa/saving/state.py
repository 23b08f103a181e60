"""Objects made of arrays, numbers and text, as JSON with arrays beside it, and back: what is saved of a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_state(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """JSON for an object; arrays that it holds are added to `arrays`, under names that begin with `name`."""
    if isinstance(value, np.ndarray):
        # Products are the same to the last bit only if arrays are in the same order in memory.
        order = {"order": "F"} if np.isfortran(value) else {}
        for known, other in arrays.items():  # what several parts share is written once
            if other.shape == value.shape and np.may_share_memory(other, value):
                return {"array": known} | order
        arrays[name] = np.ascontiguousarray(value).reshape(value.shape)
        return {"array": name} | order
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [to_state(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):  # JSON has only text as keys
        return {"pairs": [[key, to_state(item, arrays, f"{name}.{key}")] for key, item in value.items()]}
    if isinstance(value, dict):
        return {"entries": {key: to_state(item, arrays, f"{name}.{key}") for key, item in value.items()}}
    if hasattr(value, "to_dict") and hasattr(type(value), "from_dict"):
        return {"class": type(value).__name__, "dict": value.to_dict()}
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"class": type(value).__name__, "fields": to_state(fields, arrays, name)["entries"]}
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def from_state(state: Any, arrays: Mapping[str, np.ndarray], classes: Mapping[str, type[Any]]) -> Any:
    """The object that `to_state` took apart; only the given classes are made. Tuples come back as lists."""
    if isinstance(state, list):
        return [from_state(item, arrays, classes) for item in state]
    if not isinstance(state, dict):
        return state
    if "array" in state:
        return np.asarray(arrays[state["array"]], order=state.get("order"))
    if "number" in state:
        return float(state["number"])
    if "entries" in state:
        return {key: from_state(item, arrays, classes) for key, item in state["entries"].items()}
    if "pairs" in state:
        return {key: from_state(item, arrays, classes) for key, item in state["pairs"]}
    if "dict" in state:
        return classes[state["class"]].from_dict(state["dict"])
    fields = {key: from_state(item, arrays, classes) for key, item in state["fields"].items()}
    return classes[state["class"]](**fields)
