"""Products: independent switches, each of which turns variables of its own on.

Every row has `x`. Switch i is off, or on with one variable (odd i) or two (even i). The leaves are the
combinations of k switches, 2^k of them, and the hierarchy has k categoricals side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from disentree.datasets.generated.recipe import Codes, Recipe, Rows
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group

SHARES = {"unequal": (0.5, 0.35, 0.65, 0.4, 0.6), "equal": (0.5,)}  # of "on"; they repeat after the last
NORMS = (0.8, 1.2)  # of the directions of a curved embedding: near 1, where sines of the values bend visibly


@dataclass(frozen=True)
class Product:
    """One member of the family: how codes are drawn and how they become rows.

    >>> product = Product(2)
    >>> print(product.hierarchy)
    ○ x
    ◇ switch1
    ├── off ∅
    └── on
        └── ○ u1
    ◇ switch2
    ├── off ∅
    └── on
        ├── ○ u2
        └── ○ v2
    """

    k: int  # switches, 2 or more
    curved: bool = False  # columns are sines of mixed variables instead of mixed variables
    shares: str = "unequal"  # a key of SHARES: how probable it is that a switch is on
    missing: bool = False  # leave out one combination: the first two of 3 or more switches on, all others off
    offset: float = 0.0  # what a switch that is on adds to its variables; above 1, leaves no longer touch

    def __post_init__(self) -> None:
        if self.k < 2:
            raise ValueError(f"a product has 2 switches or more, got {self.k}")
        if self.shares not in SHARES:
            raise ValueError(f"shares must be {' or '.join(SHARES)}, got {self.shares!r}")
        if self.missing and self.k < 3:
            raise ValueError(f"missing must be False for a product of {self.k} switches; it needs 3 or more")
        if not isinstance(self.offset, int | float | np.number) or not np.isfinite(self.offset):
            raise ValueError(f"offset must be a finite number, got {self.offset!r}")

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the codes follow."""
        switches = (self._switch(i) for i in range(1, self.k + 1))
        return Hierarchy(Group((Continuous("x"), *switches)))

    @staticmethod
    def _switch(i: int) -> Categorical:
        own = (Continuous(f"u{i}"),) if i % 2 else (Continuous(f"u{i}"), Continuous(f"v{i}"))
        return Categorical(f"switch{i}", (Group((), "off"), Group(own, "on")))

    def sample_codes(self, n_samples: int, rng: np.random.Generator) -> Codes:
        tree = self.hierarchy
        p = np.resize(SHARES[self.shares], self.k)
        on = rng.random((n_samples, self.k)) < p
        codes = rng.uniform(-1, 1, (n_samples, tree.n_variables))
        while self.missing and len(left_out := np.flatnonzero(on[:, :2].all(axis=1) & ~on[:, 2:].any(axis=1))):
            on[left_out] = rng.random((len(left_out), self.k)) < p
        codes[:, tree.is_categorical] = on
        codes[~tree.active(codes)] = np.nan
        return codes

    def render(self, codes: Codes) -> Rows:
        """Rows without noise, of 2 + 2 * n_continuous columns."""
        tree = self.hierarchy
        numbers = [v for v in tree.variables if v.kind == "continuous"]
        directions, phases = self._embedding(len(numbers))
        X = np.tile(phases, (len(codes), 1))
        # One variable after the other: a product of matrices may round rows differently in blocks of other sizes.
        for variable, direction in zip(numbers, directions, strict=True):
            values = codes[:, variable.index] + (self.offset if variable.parent is not None else 0.0)
            X += np.nan_to_num(values)[:, None] * direction
        return np.sin(X) if self.curved else X

    def _embedding(self, n: int) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, " p"]]:
        """The column directions, and what is added to each column: the same for every seed."""
        rng = np.random.default_rng([self.k, self.curved])
        normal = rng.standard_normal((2 + 2 * n, n))
        if not self.curved:
            return np.linalg.qr(normal)[0].T, np.zeros(2 + 2 * n)
        norms = rng.uniform(*NORMS, 2 + 2 * n)
        return (normal * (norms / np.linalg.norm(normal, axis=1))[:, None]).T, rng.uniform(0, 2 * np.pi, 2 + 2 * n)

    @property
    def recipe(self) -> Recipe:
        """How a data set of this product is made."""
        about = f"{self.k} independent switches with variables of their own{', curved' * self.curved}"
        return Recipe(about, self.hierarchy, self.sample_codes, self.render)
