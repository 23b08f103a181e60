"""What every score of a representation is given, checked once and cut into columns, and what they all use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import joblib
import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Column:
    """One variable of a code array over all rows."""

    name: str
    values: Float[np.ndarray, " n"]  # categorical values are 0..n_classes-1; NaN where not active
    n_classes: int  # 0 for a continuous variable
    active: Bool[np.ndarray, " n"]
    spread: float  # range over the active rows; 0 for a dead variable

    @classmethod
    def of(cls, name: str, values: Float[np.ndarray, " n"], n_classes: int) -> Column:
        active = ~np.isnan(values)
        active_values = values[active]
        spread = float(np.ptp(active_values)) if len(active_values) else 0.0
        if spread <= 1e-12 * float(np.abs(active_values).max(initial=0.0)):
            spread = 0.0
        return cls(name, values, n_classes, active, spread)

    @property
    def is_categorical(self) -> bool:
        return self.n_classes > 0

    @property
    def is_dead(self) -> bool:
        return self.spread == 0

    def flat(self) -> Column:
        """The same variable as a flat metric sees it: 0 where it is not active. For a categorical that is an
        option of its own, so the options move up by one. A variable that is always active is itself."""
        if self.active.all():
            return self
        if self.is_categorical:
            return Column.of(self.name, np.where(self.active, self.values + 1, 0.0), self.n_classes + 1)
        return Column.of(self.name, np.where(self.active, self.values, 0.0), 0)

    def is_constant(self, values: Float[np.ndarray, " m"]) -> bool:
        """Whether some of this column's values are all the same, measured by its whole range."""
        return float(np.ptp(values)) <= 1e-9 * self.spread


@dataclass(frozen=True, eq=False)
class Pairing:
    """True and learned codes of the same rows."""

    v: tuple[Column, ...]
    z: tuple[Column, ...]
    v_hierarchy: Hierarchy
    z_hierarchy: Hierarchy
    n_rows: int

    def flat(self) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        return tuple(c.flat() for c in self.v), tuple(c.flat() for c in self.z)


def pair_up(
    V: ArrayLike,
    Z: ArrayLike,
    v_hierarchy: Hierarchy | None,
    z_hierarchy: Hierarchy | None,
    *,
    max_rows: int | None = None,
    random_state: int = 0,
) -> Pairing:
    """Check the arguments that all scores share, before any long work starts. Without a hierarchy all columns are
    continuous and always active."""
    v_hierarchy, z_hierarchy = (
        _flat(codes, name) if tree is None else tree
        for codes, name, tree in ((V, "V", v_hierarchy), (Z, "Z", z_hierarchy))
    )
    true, learned = _codes(V, v_hierarchy, "V"), _codes(Z, z_hierarchy, "Z")
    if len(true) != len(learned):
        raise ValueError(f"V and Z must have the same number of rows, got {len(true)} and {len(learned)}")
    if len(true) < 2:
        raise ValueError(f"V must have at least 2 rows, got {len(true)}")
    for argument, hierarchy in (("v_hierarchy", v_hierarchy), ("z_hierarchy", z_hierarchy)):
        if not hierarchy.n_variables:
            raise ValueError(f"{argument} must have at least one variable")
    check_count(random_state, "random_state", least=0)
    if max_rows is not None:
        check_count(max_rows, "max_rows", least=2)
        if max_rows < len(true):
            rows = np.random.default_rng([random_state, len(true)]).permutation(len(true))[:max_rows]
            true, learned = true[np.sort(rows)], learned[np.sort(rows)]
    v, z = _columns(true, v_hierarchy), _columns(learned, z_hierarchy)
    for column in v:
        if not column.active.any():
            raise ValueError(f"V: variable {column.name!r} is not active in any row, so it cannot be scored")
    return Pairing(v, z, v_hierarchy, z_hierarchy, len(true))


def check_count(value: object, name: str, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of {least} or more, got {value!r}")


def check_choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def standardized(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Zero mean and unit variance. Boosted trees know two absolute scales, a least gap between inputs and
    float32, and linear classifiers know one; a score should not depend on the units of a code."""
    centered = values - values.mean()
    return centered / centered.std()


def random_quarter(n: int, rng: np.random.Generator) -> Bool[np.ndarray, " n"]:
    """A mask of the rows to test on."""
    is_test = np.zeros(n, dtype=bool)
    is_test[rng.permutation(n)[: math.ceil(n / 4)]] = True
    return is_test


def in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`map` on `n_jobs` threads, as joblib counts them. What runs long releases the interpreter lock."""
    if n_jobs == 0:
        raise ValueError("n_jobs must be a whole number other than 0, or None for one thread")
    n_threads = joblib.effective_n_jobs(1 if n_jobs is None else n_jobs)
    if n_threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))


def _flat(codes: ArrayLike, name: str) -> Hierarchy:
    shape = np.shape(codes)
    if len(shape) != 2:
        raise ValueError(f"{name}: codes must have shape (n_rows, n_variables), got {shape}")
    return Hierarchy.flat(shape[1])


def _codes(codes: ArrayLike, hierarchy: Hierarchy, name: str) -> Float[np.ndarray, "n v"]:
    if not isinstance(hierarchy, Hierarchy):
        raise ValueError(f"{name.lower()}_hierarchy must be a Hierarchy, got {type(hierarchy).__name__}")
    try:
        return hierarchy.validate(codes)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _columns(codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy) -> tuple[Column, ...]:
    return tuple(
        Column.of(v.name, np.ascontiguousarray(codes[:, v.index]), v.n_options) for v in hierarchy.variables
    )
