"""Names that a package exports but imports only when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from disentree.utils.extras import needing


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562); `modules` are those that define the
    exported names."""

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needing(name):
            return getattr(import_module(modules[name]), name)

    def list_attributes() -> list[str]:
        return sorted({*vars(import_module(package)), *modules})

    return get_attribute, list_attributes
