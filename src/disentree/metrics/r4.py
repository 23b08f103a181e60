"""R4 and R4c, the right-representation scores: does every true variable have a learned one to match it?

R4 is the mean over true variables of the best R2(V_i <-> Z_j) over all rows (`pairs.py`); inactive entries
count as 0. R4c asks for the same within the rows where V_i is active, and lets different Z_j take over on
different branches of the learned hierarchy, so that merging up and pushing down change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, overload

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.factor_scores import FactorScore, FactorScores, Match
from disentree.metrics.inputs import Column, Pairing, in_threads, pair_up
from disentree.metrics.pairs import FEWEST_ROWS, Estimator, PairScorer
from disentree.metrics.shared_docs import documented


@overload
def r4c_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, per_factor: Literal[False] = False, *,
    estimator: Estimator = "fast", adjusted: bool = False, strict: bool = False, max_rows: int | None = None,
) -> float: ...  # fmt: skip
@overload
def r4c_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, *, per_factor: Literal[True],
    estimator: Estimator = "fast", adjusted: bool = False, strict: bool = False, max_rows: int | None = None,
) -> FactorScores: ...  # fmt: skip
@documented
def r4c_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, per_factor: bool = False, *,
    estimator: Estimator = "fast", adjusted: bool = False, strict: bool = False, max_rows: int | None = None,
) -> float | FactorScores:  # fmt: skip
    """Conditional R4: the mean over true variables of how well learned ones correspond to them.

    Invariant to the order of variables and options, to invertible changes of any single code, and to merging
    up and pushing down.

    Parameters
    ----------
    {codes}
    {splits}
    {n_jobs}
    {per_factor}
    {estimator}
    {adjusted}
    {strict}
    {max_rows}

    Returns
    -------
    float or FactorScores
        Between 0 and 1; 1 is best.

    Notes
    -----
    Subsets of fewer than 30 rows are too small to learn from; pairs score 0 on them. A code with one value over
    all rows scores 0.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [
    ...     {"variables": []}, {"variables": [{"kind": "continuous"}]}]}]})
    >>> V = h.sample(2000)
    >>> down = h.pushed_down()
    >>> round(r4c_score(V, h.transfer(V, down), h, down), 2)
    1.0
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    scorer = PairScorer(
        estimator=estimator, n_splits=n_splits, random_state=random_state, adjusted=adjusted, strict=strict
    )
    result = conditional_scores(pairing, scorer, n_jobs)
    return result if per_factor else result.mean


@overload
def r4_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, per_factor: Literal[False] = False, *,
    estimator: Estimator = "fast", adjusted: bool = False, max_rows: int | None = None,
) -> float: ...  # fmt: skip
@overload
def r4_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, *, per_factor: Literal[True],
    estimator: Estimator = "fast", adjusted: bool = False, max_rows: int | None = None,
) -> FactorScores: ...  # fmt: skip
@documented
def r4_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None,
    n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None, per_factor: bool = False, *,
    estimator: Estimator = "fast", adjusted: bool = False, max_rows: int | None = None,
) -> float | FactorScores:  # fmt: skip
    """R4: the mean over true variables of the best correspondence with one learned variable, over all rows.

    Inactive entries count as 0 (for a categorical: as an option of its own), so the score depends on which
    equivalent hierarchy is used. `r4c_score` does not.

    Parameters
    ----------
    {codes}
    {splits}
    {n_jobs}
    {per_factor}
    {estimator}
    {adjusted}
    {max_rows}

    Returns
    -------
    float or FactorScores
        Between 0 and 1; 1 is best.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> V = h.sample(1000)
    >>> round(r4_score(V, V[:, ::-1] ** 3, h, h), 2)
    1.0
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    scorer = PairScorer(estimator=estimator, n_splits=n_splits, random_state=random_state, adjusted=adjusted)
    result = marginal_scores(pairing, scorer, n_jobs)
    return result if per_factor else result.mean


def marginal_scores(pairing: Pairing, scorer: PairScorer, n_jobs: int | None) -> FactorScores:
    """R4 of every true variable, for codes that were paired before."""
    v_columns, z_columns = pairing.flat()
    everything = np.arange(pairing.n_rows)
    candidates = list(enumerate(z_columns))

    def explain(v: Column) -> FactorScore:
        best, match = _best_single(scorer, v, candidates, everything, 0.0)
        matches = () if match is None else (Match(z_columns[match].name, "", pairing.n_rows, best),)
        return FactorScore(v.name, best, pairing.n_rows, matches)

    return _for_all(explain, v_columns, n_jobs)


def conditional_scores(pairing: Pairing, scorer: PairScorer, n_jobs: int | None) -> FactorScores:
    """R4c of every true variable, for codes that were paired before."""
    places = _Places(pairing.z_hierarchy, pairing.z)

    def explain(v: Column) -> FactorScore:
        rows = np.flatnonzero(v.active)
        score, matches = _explain(scorer, v, places, None, rows, 0.0)
        return FactorScore(v.name, score, len(rows), matches)

    return _for_all(explain, pairing.v, n_jobs)


def _for_all(
    explain: Callable[[Column], FactorScore], columns: tuple[Column, ...], n_jobs: int | None
) -> FactorScores:
    # The longest first: the threads then finish together.
    order = sorted(range(len(columns)), key=lambda i: -columns[i].active.sum())
    done = in_threads(explain, [columns[i] for i in order], n_jobs)
    factors = [f for _, f in sorted(zip(order, done, strict=True), key=lambda pair: pair[0])]
    return FactorScores(np.array([f.score for f in factors]), tuple(factors))


class _Places:
    """The learned variables by the branch they stand on: a (categorical, option), or None for the root."""

    def __init__(self, hierarchy: Hierarchy, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        self.groups: dict[tuple[int, int] | None, list[tuple[int, Column]]] = {}
        self.where: dict[tuple[int, int] | None, str] = {None: ""}
        for variable, column in zip(hierarchy.variables, columns, strict=True):
            at = None if variable.parent is None else (variable.parent, int(variable.option or 0))
            self.groups.setdefault(at, []).append((variable.index, column))
            for k, option in enumerate(variable.options):
                choices = [self.where[at]] if self.where[at] else []
                self.where[variable.index, k] = ", ".join([*choices, f"{variable.name}={option}"])


def _best_single(
    scorer: PairScorer,
    v: Column,
    candidates: list[tuple[int, Column]],
    rows: Int[np.ndarray, " m"],
    floor: float,
) -> tuple[float, int | None]:
    """The candidate that corresponds to `v` best, if any does better than `floor`."""
    best, winner = floor, None
    for j, z in scorer.most_informative_first(v, candidates, rows):
        score = scorer.score(v, z, rows, best)
        if score > best:
            best, winner = score, j
    return best, winner


def _explain(
    scorer: PairScorer,
    v: Column,
    places: _Places,
    at: tuple[int, int] | None,
    rows: Int[np.ndarray, " m"],
    floor: float,
) -> tuple[float, tuple[Match, ...]]:
    """R2_c(V_i, g) over `rows`, which are on(V_i) and on(g). Exact if it exceeds `floor`; otherwise a number
    that does not, without matches.

    Children are weighted by their share of `rows`: dividing by |on(V_i)| at every level, as the formula is
    printed, would count the same weights twice below the first level.
    """
    group = places.groups.get(at, [])
    if len(rows) < FEWEST_ROWS or not group or floor >= 1:
        return floor, ()
    best, winner = _best_single(scorer, v, group, rows, floor)
    matches: tuple[Match, ...] = ()
    if winner is not None:
        matches = (Match(places.columns[winner].name, places.where[at], len(rows), best),)
    for j, z in group:
        if not z.is_categorical:
            continue
        parts = [((j, k), rows[z.values[rows] == k]) for k in range(z.n_classes)]
        parts = sorted((p for p in parts if len(p[1])), key=lambda part: -len(part[1]))
        total, left, found = 0.0, 1.0, []
        for branch, inside in parts:
            share = len(inside) / len(rows)
            left = max(0.0, left - share)
            needed = (best - total - left) / share  # even if every later branch were explained perfectly
            score, below = _explain(scorer, v, places, branch, inside, max(0.0, needed))
            if score <= needed:
                break
            total += share * score
            found += below
        else:
            if total > best:
                best, matches = total, tuple(found)
    return best, matches
