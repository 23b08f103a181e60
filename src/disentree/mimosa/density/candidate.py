"""A decomposition as a density, leaves with shares: what the search, the judge and the tree ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from disentree.mimosa.constants import FIT


@runtime_checkable
class Leaf(Protocol):
    """One component of a decomposition."""

    @property
    def dimension(self) -> int:
        """Of its manifold."""
        ...

    @property
    def noise_across(self) -> float:
        """The deviation of rows across it; 0 where its density does not tell."""
        ...

    @property
    def has_edge(self) -> bool:
        """Whether rows beside it, as near as its noise lets them be, are in its reach."""
        ...

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Natural log of the density of rows that are on it."""
        ...

    def outwardness(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
        """What grows with the distance from it: along it and across it, or the unlikelihood if its density knows
        no such directions."""
        ...

    def limits(self, quantiles: Sequence[float]) -> list[float]:
        """The largest `outwardness` of a row in its reach, given high quantiles of that of its own rows."""
        ...

    def along(
        self, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, " q"] | float]:
        """Rows in coordinates in which noise across it does not show, if it has such, and their units."""
        ...


class Undirected:
    """What a leaf says whose density does not tell along from across."""

    noise_across = 0.0
    has_edge = False

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        raise NotImplementedError

    def outwardness(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
        return (-self.log_density(Z),)

    def limits(self, quantiles: Sequence[float]) -> list[float]:
        return list(quantiles)

    def along(
        self, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, " q"] | float]:
        return Z, 1.0


@dataclass(frozen=True)
class NoLeaf(Undirected):
    """A combination of choices that does not occur, with the dimension that it would have."""

    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """No row is on it."""
        return np.full(len(Z), -np.inf)


@dataclass(frozen=True)
class Choice:
    """A categorical of a product."""

    switches: list[int]  # the one that is on under each option; -1 for the option under which none is
    below: list[list[Choice]] = field(default_factory=list)  # what each option opens

    @property
    def n_paths(self) -> int:
        """Ways to choose."""
        return sum(int(np.prod([choice.n_paths for choice in inner])) for inner in self.below)


def all_choices(choices: Sequence[Choice]) -> list[Choice]:
    """Choices and those that they open."""
    return [choice for top in choices for choice in (top, *all_choices([c for inner in top.below for c in inner]))]


@dataclass(frozen=True)
class Product:
    """What a product is made of."""

    choices: list[Choice]
    base: int  # variables that all rows have
    sizes: list[int]  # variables that each switch adds


@runtime_checkable
class Candidate(Protocol):
    """What a finder proposes: p(z) = sum over leaves of share times density."""

    @property
    def finder(self) -> str:
        """The name of the proposal, by which it is listed."""
        ...

    @property
    def components(self) -> Sequence[Leaf]: ...

    @property
    def shares(self) -> Float[np.ndarray, " k"]: ...

    @property
    def dimensions(self) -> list[int]:
        """Of the leaves."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether most rows lie on leaves to rounding."""
        ...

    @property
    def makes_needless(self) -> Sequence[str]:
        """Finders that can only describe the same in more pieces, if this saves bits beyond doubt."""
        ...

    @property
    def needless_bits(self) -> float:
        """Bits per row that it must save, too, to make them needless."""
        ...

    @property
    def product(self) -> Product | None:
        """The choices of which the leaves are combinations; None for leaves one by one."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether its leaves are other kinds, of which none encloses another."""
        ...

    def log_joint(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Log of share times density, for each row and leaf."""
        ...

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]: ...

    def posteriors(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """The probability of each leaf, given that a row is on one of them."""
        ...


@dataclass(frozen=True)
class LeafCandidate:
    """Leaves one by one. The fields with a default are for the search, see `Candidate`."""

    finder: str
    components: Sequence[Leaf]
    shares: Float[np.ndarray, " k"]
    is_exact: bool = False
    makes_needless: Sequence[str] = ()
    needless_bits: float = 0.0
    tolerance: float = 0.0  # by which charts were linked, to find it again; 0 where there is none
    is_apart: bool = False

    product = None

    @property
    def dimensions(self) -> list[int]:
        return [int(leaf.dimension) for leaf in self.components]

    def log_joint(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        shares = np.log(np.maximum(self.shares, 1e-300))
        out = np.empty((len(Z), len(self.components)))
        for start in range(0, len(Z), FIT.landmarks):
            some = Z[start : start + FIT.landmarks]
            for k, leaf in enumerate(self.components):
                out[start : start + len(some), k] = shares[k] + leaf.log_density(some)
        return out

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return np.asarray(logsumexp(self.log_joint(Z), axis=1))

    def posteriors(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        return posteriors_of(self.log_joint(Z), self.shares)


def posteriors_of(joint: Float[np.ndarray, "n k"], shares: Float[np.ndarray, " k"]) -> Float[np.ndarray, "n k"]:
    """Probabilities from the log of share times density. Rows so far from all leaves that every density is zero
    get the shares."""
    none = ~np.isfinite(joint).any(axis=1)
    joint[none] = np.log(np.maximum(shares, 1e-300))
    joint = joint - joint.max(axis=1, keepdims=True)  # far from all leaves the sum would be lost in rounding
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def likeliest(
    candidate: Candidate, Z: Float[np.ndarray, "n D"]
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The likeliest leaf of each row, and its probability."""
    labels, certain = np.empty(len(Z), np.int64), np.empty(len(Z))
    for start in range(0, len(Z), FIT.landmarks):
        block = slice(start, start + FIT.landmarks)
        posteriors = candidate.posteriors(Z[block])
        labels[block], certain[block] = posteriors.argmax(axis=1), posteriors.max(axis=1)
    return labels, certain


def contiguous(part: Any) -> Any:
    """A candidate or a part of one, each array in one block of memory, as in a model that was loaded: products of
    arrays are equal to the last bit only if these lie in memory alike."""
    if isinstance(part, np.ndarray):
        return part if part.flags.forc else np.ascontiguousarray(part)
    if isinstance(part, list | tuple):
        return type(part)(contiguous(item) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{one.name: contiguous(getattr(part, one.name)) for one in fields(part)})
    return part
