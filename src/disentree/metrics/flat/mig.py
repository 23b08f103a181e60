"""The mutual information gap (Chen et al. 2018), estimated from histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.flat.information import N_BINS, binned, information
from disentree.metrics.inputs import Pairing, check_count, pair_up
from disentree.metrics.shared_docs import documented


@documented
def mig_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    n_bins: int = N_BINS, random_state: int = 0, max_rows: int | None = None,
) -> float:  # fmt: skip
    """The mutual information gap.

    The mean over true variables of ``(I(v; best z) - I(v; second best z)) / H(v)``. Continuous variables are
    cut into bins of equal width, categoricals count by option; inactive entries are 0, a categorical's inactive
    rows an option of their own. True variables without entropy are left out. With a single learned variable the
    second best is 0.

    Parameters
    ----------
    {codes}
    n_bins : int, default=20
        Bins of a continuous variable.
    random_state : int, default=0
        Seed of the subset of rows.
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> V = h.sample(20_000)
    >>> mig_score(V, V, h, h) > 0.95
    True
    >>> mig_score(V, V[:, [0, 0]], h, h) < 0.01
    True
    """
    check_count(n_bins, "n_bins", least=2)
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return information_gap(pairing, n_bins)


def information_gap(pairing: Pairing, n_bins: int = N_BINS) -> float:
    """The mutual information gap of codes that were paired before."""
    v_columns, z_columns = pairing.flat()
    learned = [binned(z, n_bins) for z in z_columns]
    gaps = []
    for true in (binned(v, n_bins) for v in v_columns):
        entropy = information(true, true)
        if entropy > 0:
            shared = sorted((information(true, z) for z in learned), reverse=True)
            gaps.append((shared[0] - (shared[1] if len(shared) > 1 else 0.0)) / entropy)
    return float(np.mean(gaps)) if gaps else 0.0
