"""InfoMEC (Hsu et al. 2023): modularity, compactness and explicitness from information."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.flat.information import Relations
from disentree.metrics.inputs import pair_up
from disentree.metrics.shared_docs import documented

LEAST_RANGE = 1 / 20  # of the widest continuous code: narrower ones are taken for unused


class InfoMEC(NamedTuple):
    """The three scores, each between 0 and 1.

    Attributes
    ----------
    modularity : float
        1 if each code tells of one factor.
    compactness : float
        1 if each factor is told by one code.
    explicitness : float
        1 if logistic regression reads the factors from the codes.
    """

    modularity: float
    compactness: float
    explicitness: float


@documented
def infomec_scores(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    random_state: int = 0, n_jobs: int | None = None, max_rows: int | None = None,
) -> InfoMEC:  # fmt: skip
    """InfoM, InfoC and InfoE.

    With NMI[i, j] the mutual information of factor i and code j over the entropy of the factor, modularity is the
    mean over codes of the largest share of a factor in the code's column, rescaled so that equal shares are 0;
    compactness is the same over rows. Explicitness is the mean over factors of the share of the entropy that
    logistic regression on all codes removes. Continuous variables are cut into 20 bins of equal width, where the
    original has nearest neighbors for codes; information is corrected for the bias of few rows. Codes that are
    narrower than a twentieth of the widest count as unused. Inactive entries are 0.

    Parameters
    ----------
    {codes}
    random_state : int, default=0
        Seed of the subset of rows.
    {n_jobs}
    {max_rows}

    Returns
    -------
    InfoMEC

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> V = Hierarchy.flat(2).sample(5000)
    >>> [round(score, 1) for score in infomec_scores(V, V)]
    [1.0, 1.0, 1.0]
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return information_scores(Relations(pairing, random_state, n_jobs))


def information_scores(relations: Relations) -> InfoMEC:
    """The scores of codes that were paired before."""
    widest = max((z.spread for z in relations.codes if not z.is_categorical), default=0.0)
    used = np.array([z.is_categorical or z.spread > LEAST_RANGE * widest for z in relations.codes], dtype=bool)
    if not used.any() or not relations.factors:
        return InfoMEC(0.0, 0.0, 0.0)
    shared = relations.information[:, used] / relations.entropies[:, None]
    told = [
        1 + _log_likelihood(probabilities, classes) / entropy
        for probabilities, classes, entropy in zip(
            relations.probabilities, relations.factors, relations.entropies, strict=True
        )
    ]
    return InfoMEC(_largest_share(shared.T), _largest_share(shared), float(np.mean(np.clip(told, 0, 1))))


def _largest_share(shared: Float[np.ndarray, "a b"]) -> float:
    """The mean over rows of the largest part of a row's sum: 1 if rows have one entry, 0 if all are equal."""
    sums, n = shared.sum(axis=1), shared.shape[1]
    if n == 1:
        return float((sums > 0).mean())
    part = np.where(sums > 0, shared.max(axis=1) / np.where(sums > 0, sums, 1), 1 / n)
    return float((part.mean() - 1 / n) / (1 - 1 / n))


def _log_likelihood(probabilities: Float[np.ndarray, "n k"], classes: np.ndarray) -> float:
    place = np.unique(classes, return_inverse=True)[1]
    return float(np.log(np.maximum(probabilities[np.arange(len(place)), place], 1e-300)).mean())
