"""Whether objects that were read from a file have what their annotations say: types, shapes, parts of parts.

Array shapes are compared within an object: two fields of shape "k" have the same length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, no_type_check

import numpy as np
from jaxtyping import jaxtyped


def check_fields(value: Any, names: Sequence[str], where: str, hints: Mapping[str, Any] | None = None) -> None:
    """Raise a TypeError unless these attributes of an object are what the annotations of its class say."""
    known = annotations_of(type(value)) if hints is None else hints
    with jaxtyped("context"):
        for name in names:
            if name in known:
                _check(getattr(value, name), known[name], f"{where}.{name}" if where else name)


@cache
def annotations_of(cls: type[Any]) -> dict[str, Any]:
    """The annotations of a class and those above it."""
    return get_type_hints(cls)


@no_type_check  # what checks calls in tests would give every call names of axes of its own
def _check(value: Any, kind: Any, where: str) -> None:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, UnionType):
        _check_any(value, args, where)
    elif origin is Literal:
        _require(any(value is one or value == one for one in args), value, where)
    elif origin is tuple and args[-1] is not Ellipsis:
        _require(isinstance(value, list | tuple) and len(value) == len(args), value, where)
        for i, (item, of) in enumerate(zip(value, args, strict=True)):
            _check(item, of, f"{where}[{i}]")
    elif origin in (list, tuple, Sequence):
        _require(isinstance(value, list | tuple), value, where)
        for i, item in enumerate(value):
            _check(item, args[0], f"{where}[{i}]")
    elif origin in (dict, Mapping):
        _require(isinstance(value, Mapping), value, where)
        for key, item in value.items():
            _check(key, args[0], where)
            _check(item, args[1], f"{where}[{key!r}]")
    elif kind in (int, float, bool, str, NoneType, None):
        allowed = {float: (int, float), None: NoneType}.get(kind, kind)
        truth = isinstance(value, bool | np.bool_) and kind is not bool
        _require(isinstance(value, allowed) and not truth, value, where)
    else:
        _require(isinstance(value, kind), value, where)
        if is_dataclass(value):
            check_fields(value, [one.name for one in fields(value)], where)


@no_type_check
def _check_any(value: Any, kinds: Sequence[Any], where: str) -> None:
    """Of the kinds of a union, at least one must fit."""
    for kind in kinds:
        try:
            _check(value, kind, where)
        except TypeError as error:
            problem = error
        else:
            return
    raise problem


def _require(is_right: bool, value: Any, where: str) -> None:
    if not is_right:
        shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
        kind = str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"{where} is not what it must be, but {kind}{shape}")
