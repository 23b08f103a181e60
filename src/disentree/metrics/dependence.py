"""Conditional dependence: how much the continuous codes of a leaf depend on each other.

It needs no ground truth. Factors that vary independently on every path, as those of the benchmarks do, have
none. Within each path it is the mean over pairs of the distance correlation (Székely, Rizzo & Bakirov 2007),
which is 0 exactly for independent variables, in its bias-corrected form (Székely & Rizzo 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.inputs import check_count
from disentree.metrics.shared_docs import documented

FEWEST_ROWS = 20


@dataclass(frozen=True)
class PathDependence:
    """The dependence on one path.

    Attributes
    ----------
    path : str
        Name of the path.
    n_rows : int
        Rows that it was measured on.
    mean : float
        Mean distance correlation over pairs of continuous variables.
    worst : float
        The largest of them.
    pair : tuple of (str, str)
        The variables with the largest.
    """

    path: str
    n_rows: int
    mean: float
    worst: float
    pair: tuple[str, str]


@documented
def dependence_scores(
    Z: ArrayLike, z_hierarchy: Hierarchy, *, max_rows: int = 1000, random_state: int = 0
) -> list[PathDependence]:
    """The dependence between the continuous codes of each path.

    Parameters
    ----------
    {learned}

    Returns
    -------
    list of PathDependence
        One for each path with at least two continuous variables and 20 rows.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> Z = h.sample(500)
    >>> dependence_scores(Z, h)[0].mean < 0.1
    True
    >>> Z[:, 1] = Z[:, 0] ** 3
    >>> dependence_scores(Z, h)[0].mean > 0.8
    True
    """
    codes = z_hierarchy.validate(Z)
    check_count(max_rows, "max_rows", least=FEWEST_ROWS)
    check_count(random_state, "random_state", least=0)
    paths = z_hierarchy.path_of(codes)
    out = []
    for path in z_hierarchy.paths:
        rows = np.flatnonzero(paths == path.index)
        if path.dimension < 2 or len(rows) < FEWEST_ROWS:
            continue
        chosen = rows
        if len(rows) > max_rows:
            rng = np.random.default_rng([random_state, path.index])
            chosen = np.sort(rng.choice(rows, max_rows, replace=False))
        centered = {c: _centered(codes[chosen, c]) for c in path.continuous}
        own = {c: float((d * d).sum()) for c, d in centered.items()}
        pairs = list(combinations(path.continuous, 2))
        values = [_correlation(centered[a], centered[b], own[a], own[b]) for a, b in pairs]
        worst = int(np.argmax(values))
        first, second = (z_hierarchy.variables[c].name for c in pairs[worst])
        out.append(PathDependence(path.name, len(rows), float(np.mean(values)), values[worst], (first, second)))
    return out


@documented
def dependence_score(
    Z: ArrayLike, z_hierarchy: Hierarchy, *, max_rows: int = 1000, random_state: int = 0
) -> float:
    """The mean of `dependence_scores`, weighted by the rows of each path.

    Parameters
    ----------
    {learned}

    Returns
    -------
    float
        0 if the codes of every leaf are independent or no leaf has two codes, 1 if all of a leaf's codes are the
        same up to shift and scale.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> dependence_score(h.sample(500), h) < 0.1
    True
    """
    found = dependence_scores(Z, z_hierarchy, max_rows=max_rows, random_state=random_state)
    total = sum(p.n_rows for p in found)
    return float(sum(p.mean * p.n_rows for p in found) / total) if total else 0.0


def _centered(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """Distances with row and column means taken off so that products of two are unbiased ("U-centered")."""
    n = len(values)
    distance = np.abs(values[:, None] - values)
    sums = distance.sum(axis=0)
    centered = distance - sums / (n - 2) - sums[:, None] / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centered, 0.0)
    return centered


def _correlation(a: Float[np.ndarray, "n n"], b: Float[np.ndarray, "n n"], a_own: float, b_own: float) -> float:
    """Bias-corrected distance correlation: the root of its square where that is positive, else 0; 0 for a
    variable with one value."""
    if min(a_own, b_own) <= 0:
        return 0.0
    squared = float((a * b).sum()) / np.sqrt(a_own * b_own)
    return float(np.sqrt(max(0.0, squared)))
