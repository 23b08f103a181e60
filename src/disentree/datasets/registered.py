"""Data sets of one's own, under a name that every command and study takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from disentree.datasets.base import Dataset
from disentree.hierarchy import Hierarchy
from disentree.utils.plugins import installed, load_installed

GROUP = "disentree.datasets"  # of entry points
FEW_ROWS = 64  # from which the hierarchy of a data set is known, if it was not given


@dataclass(frozen=True)
class Registered:
    """A function that makes a data set, and what is known without calling it."""

    make: Callable[..., Any]
    description: str
    hierarchy: Hierarchy | None

    @property
    def options(self) -> dict[str, Any]:
        """The parameters of the function besides the number of rows and the seed, with their defaults."""
        parameters = list(inspect.signature(self.make).parameters.values())[2:]
        return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}

    def load(self, name: str, n_samples: int, seed: int, options: Mapping[str, Any]) -> Dataset:
        """The data set itself, its codes checked."""
        made = self.make(n_samples, seed, **options)
        if isinstance(made, Dataset):
            return replace(made, name=name, seed=seed, options=dict(options))
        if not isinstance(made, tuple) or len(made) != 3:
            raise ValueError(
                f"{name} must give a Dataset, or X, codes and hierarchy; it gave {type(made).__name__}"
            )
        X, codes, hierarchy = made
        if hierarchy is None:
            return Dataset(name, X, None, None, None, seed, dict(options))
        codes = hierarchy.validate(codes)
        if len(codes) != len(X):
            raise ValueError(f"{name} gave {len(X)} rows of X and {len(codes)} of codes")
        return Dataset(name, X, codes, hierarchy, hierarchy.path_of(codes), seed, dict(options))


OWN: dict[str, Registered] = {}


def find_registered(name: str) -> Registered | None:
    """What was registered under a name, or installed by a package."""
    if name not in OWN and name in installed(GROUP):
        OWN[name] = Registered(load_installed(GROUP, name), "", None)
    return OWN.get(name)


def own_names() -> list[str]:
    """All names of data sets that are not of this package."""
    return [*OWN, *(name for name in installed(GROUP) if name not in OWN)]


def true_hierarchy(name: str, registered: Registered, options: Mapping[str, Any]) -> Hierarchy | None:
    """The tree of a data set: the one that was given, or that of a few rows."""
    if registered.hierarchy is not None:
        return registered.hierarchy
    return registered.load(name, FEW_ROWS, 0, options).hierarchy
