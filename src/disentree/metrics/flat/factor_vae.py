"""The FactorVAE score (Kim & Mnih 2018): does fixing a factor fix one code, and does that code identify it?"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.inputs import Column, Pairing, check_count, pair_up
from disentree.metrics.shared_docs import documented


@documented
def factor_vae_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    batch_size: int = 64, n_train: int = 4000, n_eval: int = 2000,
    random_state: int = 0, max_rows: int | None = None,
) -> float:  # fmt: skip
    """The FactorVAE score: accuracy of guessing which true variable was held fixed.

    A batch holds rows that agree in one true variable: for a categorical, rows with the same option; for a
    continuous one, the rows nearest to a value. The learned variable with the least variance in the batch
    casts a vote, and a majority classifier maps voters to true variables.

    Two things differ from the score for flat data, and only where variables can be inactive. Batches are
    drawn from the rows where the true variable is active. And variances are divided by the variance over
    those same rows rather than over all, so that codes of other branches, which do not vary there at all,
    cannot win: they do not vote. Categorical codes have the Gini variance. There is no threshold that depends
    on the units of a code. If no code varies, the score is 0.

    Parameters
    ----------
    {codes}
    batch_size : int, default=64
        Rows of a batch; a quarter of the active rows where a true variable is active in few.
    n_train : int, default=4000
        Batches to fit the classifier to.
    n_eval : int, default=2000
        Batches to score it on.
    random_state : int, default=0
        Seed of the batches, and of the subset of rows.
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(3)
    >>> V = h.sample(2000)
    >>> factor_vae_score(V, V, h, h)
    1.0
    """
    check_count(batch_size, "batch_size", least=2)
    check_count(n_train, "n_train", least=1)
    check_count(n_eval, "n_eval", least=1)
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return fixed_factor_accuracy(pairing, batch_size, n_train, n_eval, random_state)


def fixed_factor_accuracy(
    pairing: Pairing, batch_size: int = 64, n_train: int = 4000, n_eval: int = 2000, random_state: int = 0
) -> float:
    """The FactorVAE score of codes that were paired before."""
    rng = np.random.default_rng(random_state)
    _, codes = pairing.flat()
    live = [z for z in codes if not z.is_dead]
    factors = [v for v in pairing.v if not v.is_dead and v.active.sum() >= 8]
    if not live or not factors:
        return 0.0
    voters = [_votes(v, live, batch_size, rng) for v in factors]
    fixed = rng.integers(len(factors), size=n_train + n_eval)
    vote = np.array([voters[k][rng.integers(len(voters[k]))] for k in fixed])
    cast = vote >= 0
    counts = np.zeros((len(live), len(factors)), dtype=np.int64)
    train = cast & (np.arange(len(vote)) < n_train)
    np.add.at(counts, (vote[train], fixed[train]), 1)
    guess = np.where(cast, counts.argmax(axis=1)[vote], -1)
    return float((guess == fixed)[n_train:].mean())


def _votes(v: Column, codes: list[Column], batch_size: int, rng: np.random.Generator) -> Int[np.ndarray, " m"]:
    """The vote of the batch around each row where `v` is active, -1 where no code varies on those rows.

    Rows are put in the order of `v`, equal values shuffled; a batch is then a window of that order, and the
    variances of all windows follow from running sums.
    """
    rows = rng.permutation(np.flatnonzero(v.active))
    rows = rows[np.argsort(v.values[rows], kind="stable")]
    n = len(rows)
    size = np.full(n, min(batch_size, max(2, n // 4)))
    start = np.arange(n) - size // 2
    first, last = np.zeros(n, dtype=np.int64), np.full(n, n)
    if v.is_categorical:  # a window must not leave the rows with the same option
        values = v.values[rows]
        first, last = np.searchsorted(values, values, "left"), np.searchsorted(values, values, "right")
        size = np.minimum(size, last - first)
    start = np.clip(start, first, last - size)
    varied = np.stack([_relative_variance(z, z.values[rows], start, start + size) for z in codes])
    return np.where(np.isfinite(varied).any(axis=0), varied.argmin(axis=0), -1)


def _relative_variance(
    z: Column, values: Float[np.ndarray, " n"], start: Int[np.ndarray, " n"], stop: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Variance in each window over variance over all of `values`; infinite if they do not vary at all."""
    if z.is_constant(values):
        return np.full(len(start), np.inf)
    size = stop - start
    if z.is_categorical:
        # Gini: half the share of pairs of rows that differ
        indicators = values[:, None] == np.unique(values)
        inside = _windows(indicators.astype(float), start, stop)
        gini = (size**2 - (inside**2).sum(axis=1)) / (2 * size * np.maximum(size - 1, 1))
        overall = (len(values) ** 2 - (indicators.sum(axis=0) ** 2).sum()) / (2 * len(values) * (len(values) - 1))
        return gini / overall
    centered = values - values.mean()
    centered /= centered.std()
    sums = _windows(np.stack([centered, centered**2], axis=1), start, stop)
    return np.maximum(0.0, sums[:, 1] / size - (sums[:, 0] / size) ** 2)


def _windows(
    values: Float[np.ndarray, "n k"], start: Int[np.ndarray, " n"], stop: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "n k"]:
    running = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return running[stop] - running[start]
