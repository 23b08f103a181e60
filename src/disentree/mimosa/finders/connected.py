"""How many connected pieces the leaves of a candidate are."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.geometry.neighbors import thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.finders.flats.subspaces import n_connected


def connected_leaves(candidate: Candidate, Z: Float[np.ndarray, "n D"]) -> int:
    """The number of leaves, where one whose rows fall apart counts as several: two clouds on one line are no fewer
    for being called a line."""
    return sum(_pieces(candidate, Z))


def has_gaps(candidate: Candidate, Z: Float[np.ndarray, "n D"]) -> bool:
    """Whether the rows of a leaf that is thin fall apart."""
    pieces = zip(candidate.dimensions, _pieces(candidate, Z), strict=True)
    return any(n > 1 for dimension, n in pieces if dimension < Z.shape[1])


def _pieces(candidate: Candidate, Z: Float[np.ndarray, "n D"]) -> list[int]:
    some = Z[thinned(np.arange(len(Z)), FIT.most)]
    labels = candidate.posteriors(some).argmax(axis=1)
    return [n_connected(some[labels == c]) for c in range(len(candidate.dimensions))]
