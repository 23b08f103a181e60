"""Models of columns of categories: a network of columns that depend on each other, traits, and classes.

Networks are Bayesian networks (Pearl 1988), traits the nominal responses of Bock (1972), classes the latent
classes of Lazarsfeld (1950).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import logsumexp

from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.mixed.constants import MIXED


@dataclass(frozen=True)
class Answers:
    """Categories as features."""

    # A block of columns for each column of categories, with a one for its value; zeros where a cell is empty.
    features: Float[np.ndarray, "n f"]
    edges: tuple[int, ...]  # where blocks begin, and the end of the last

    @classmethod
    def of(cls, columns: Sequence[Int[np.ndarray, " n"]], n_levels: Sequence[int]) -> Answers:
        """From positions among the levels of each column, -1 where empty."""
        blocks = [(c[:, None] == np.arange(k)).astype(float) for c, k in zip(columns, n_levels, strict=True)]
        return cls(np.concatenate(blocks, axis=1), tuple(np.cumsum([0, *n_levels]).tolist()))

    def __len__(self) -> int:
        return len(self.features)

    @property
    def blocks(self) -> list[slice]:
        """The features of each column."""
        return [slice(a, b) for a, b in pairwise(self.edges)]

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Values of each column."""
        return tuple(b - a for a, b in pairwise(self.edges))

    @property
    def places(self) -> Int[np.ndarray, "n q"]:
        """The position of each value, -1 where a cell is empty."""
        H = self.features
        return np.stack([np.where(H[:, b].any(axis=1), H[:, b].argmax(axis=1), -1) for b in self.blocks], axis=1)

    def take(self, rows: np.ndarray) -> Answers:
        """Some of the rows."""
        return Answers(self.features[rows], self.edges)

    def shares(self) -> Float[np.ndarray, " f"]:
        """Of each value in its column; none is zero."""
        counts = self.features.sum(axis=0)
        return np.concatenate([(counts[b] + 0.5) / (counts[b] + 0.5).sum() for b in self.blocks])


@dataclass(frozen=True)
class Classes:
    """Groups of rows in each of which columns are independent, or places along a trait."""

    log_shares: Float[np.ndarray, " k"]
    log_tables: Float[np.ndarray, "k f"]  # of the share of each value in each group

    def log_joint(self, answers: Answers) -> Float[np.ndarray, "n k"]:
        return answers.features @ self.log_tables.T + self.log_shares

    def log_likelihood(self, answers: Answers) -> Float[np.ndarray, " n"]:
        return np.asarray(logsumexp(self.log_joint(answers), axis=1))

    def posteriors(self, answers: Answers) -> Float[np.ndarray, "n k"]:
        joint = self.log_joint(answers)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


@dataclass(frozen=True)
class Family:
    """A column, those that it depends on, and the log of the share of its values for each of theirs."""

    column: int
    parents: tuple[int, ...]
    log_table: Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class Network:
    """Columns that depend on each other."""

    n_levels: tuple[int, ...]
    families: list[Family]

    def log_likelihood(self, answers: Answers) -> Float[np.ndarray, " n"]:
        places, out = answers.places, np.zeros(len(answers))
        for family in self.families:
            values = places[:, family.column]
            told = family.log_table[_configuration(places, family.parents, self.n_levels), values]
            out += np.where(values < 0, 0.0, told)
        return out


def fit_network(answers: Answers) -> Network:
    """Columns that depend on up to two others each: what saves most is added until nothing saves more bits than it
    takes to be described (the Bayesian information criterion)."""
    places, n_levels, n = answers.places, answers.n_levels, len(answers)
    q = len(n_levels)
    parents: list[tuple[int, ...]] = [()] * q
    above = np.eye(q, dtype=bool)  # of each column, those that it depends on by way of others, and itself

    def bits(j: int, own: tuple[int, ...]) -> float:
        counts = _counts(places, j, own, n_levels)
        told = counts * np.log(np.maximum(counts, 1) / np.maximum(counts.sum(axis=1, keepdims=True), 1))
        return float(told.sum() - n_parameters(places, j, own, n_levels) * np.log(n) / 2)

    def gains(j: int) -> Float[np.ndarray, " q"]:
        if len(parents[j]) == MIXED.most_parents:
            return np.full(q, -np.inf)
        now = bits(j, parents[j])
        possible = [i != j and i not in parents[j] for i in range(q)]
        return np.array([bits(j, (*parents[j], i)) - now if ok else -np.inf for i, ok in enumerate(possible)])

    gain = np.stack([gains(j) for j in range(q)])
    while True:
        j, i = np.unravel_index(np.where(above.T, -np.inf, gain).argmax(), gain.shape)
        if above[i, j] or gain[j, i] <= 0:
            break
        parents[j] = (*parents[j], int(i))
        above |= np.outer(above[:, j], above[i])
        gain[j] = gains(int(j))
    return Network(n_levels, [_family(answers, j, own) for j, own in enumerate(parents)])


def n_parameters(
    places: Int[np.ndarray, "n q"], column: int, parents: Sequence[int], n_levels: Sequence[int]
) -> int:
    """Shares that are free in the table of a column: with each combination of its parents' values, of which an
    empty cell is one more where there are such cells."""
    with_empty = [n_levels[i] + bool((places[:, i] < 0).any()) for i in parents]
    return (n_levels[column] - 1) * int(np.prod(with_empty))


def _configuration(
    places: Int[np.ndarray, "n q"], parents: Sequence[int], n_levels: Sequence[int]
) -> Int[np.ndarray, " n"]:
    """A number for the values of some columns together; an empty cell is a value too."""
    out = np.zeros(len(places), np.int64)
    for i in parents:
        out = out * (n_levels[i] + 1) + places[:, i] + 1
    return out


def _counts(
    places: Int[np.ndarray, "n q"], column: int, parents: Sequence[int], n_levels: Sequence[int]
) -> Float[np.ndarray, "_ _"]:
    """How often each value of a column comes with those of others."""
    there = places[:, column] >= 0
    k, size = n_levels[column], int(np.prod([n_levels[i] + 1 for i in parents]))
    # Rows are taken last: a copy of the whole table for each pair of columns would take most of the time.
    cells = (_configuration(places, parents, n_levels) * k + places[:, column])[there]
    return np.bincount(cells, minlength=size * k).reshape(size, k).astype(float)


def _family(answers: Answers, column: int, parents: tuple[int, ...]) -> Family:
    counts = _counts(answers.places, column, parents, answers.n_levels)
    # One row that is divided as all rows are: with few of a combination the column has the shares of all rows.
    share = counts + answers.shares()[answers.blocks[column]]
    return Family(column, parents, np.log(share / share.sum(axis=1, keepdims=True)))


def fit_traits(answers: Answers, d: int) -> Classes:
    """`d` independent Gaussian traits of rows, with which the odds of values rise and fall: a group for each place
    on a grid of them."""
    reach, n_places = MIXED.traits[d - 1]
    line = np.linspace(-reach, reach, n_places)
    places = np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)
    log_shares = -0.5 * (places**2).sum(axis=1)
    log_shares -= logsumexp(log_shares)
    design = np.concatenate([np.ones((len(places), 1)), places], axis=1)
    H, n = answers.features, len(answers)
    there = np.stack([H[:, b].sum(axis=1) for b in answers.blocks], axis=1)  # where a cell is not empty
    sizes = np.diff(answers.edges)
    directions = np.linalg.svd(H - H.mean(axis=0), full_matrices=False)[2][:d]
    start = np.concatenate([np.log(answers.shares())[None], 2 * directions])

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        loadings = numbers.reshape(start.shape)
        model = Classes(log_shares, _normalized(design @ loadings, answers))
        joint = model.log_joint(answers)
        total = np.asarray(logsumexp(joint, axis=1))
        R = np.exp(joint - total[:, None])
        expected = np.repeat(R.T @ there, sizes, axis=1) * np.exp(model.log_tables)
        slope = design.T @ (R.T @ H - expected)
        slope[1:] -= MIXED.loading_precision * loadings[1:]
        penalty = 0.5 * MIXED.loading_precision * (loadings[1:] ** 2).sum()
        return -(total.sum() - penalty) / n, -slope.ravel() / n

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MIXED.steps})
    return Classes(log_shares, _normalized(design @ found.x.reshape(start.shape), answers))


def _normalized(logits: Float[np.ndarray, "k f"], answers: Answers) -> Float[np.ndarray, "k f"]:
    parts = [logits[:, b] - logsumexp(logits[:, b], axis=1, keepdims=True) for b in answers.blocks]
    return np.concatenate(parts, axis=1)


def fit_classes(answers: Answers, k: int, rng: np.random.Generator) -> Classes:
    """`k` classes by expectation maximization, the best of several starts from random rows."""
    fits = [_climb(answers, k, rng) for _ in range(FINDERS.rounds)]
    return max(fits, key=lambda model: float(model.log_likelihood(answers).sum()))


def _climb(answers: Answers, k: int, rng: np.random.Generator) -> Classes:
    H, n = answers.features, len(answers)
    alike = H @ H[rng.choice(n, k, replace=False)].T + 0.5 * rng.random((n, k))
    model = _of_memberships(answers, 0.8 * np.eye(k)[alike.argmax(axis=1)] + 0.2 / k)
    last = -np.inf
    for _ in range(MIXED.steps):
        joint = model.log_joint(answers)
        total = np.asarray(logsumexp(joint, axis=1))
        if total.mean() - last < MIXED.settled:
            break
        last = total.mean()
        model = _of_memberships(answers, np.exp(joint - total[:, None]))
    return model


def _of_memberships(answers: Answers, R: Float[np.ndarray, "n k"]) -> Classes:
    """The classes that rows are in, each with a probability."""
    counts = R.T @ answers.features + answers.shares()
    tables = [counts[:, b] / counts[:, b].sum(axis=1, keepdims=True) for b in answers.blocks]
    return Classes(np.log((R.sum(axis=0) + 1) / (R.sum() + R.shape[1])), np.log(np.concatenate(tables, axis=1)))
