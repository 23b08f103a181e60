"""The mixture finder: clusters, few rows, real tables."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.mimosa.candidate import Candidate
from disentree.mimosa.finders.gaussians import Mixture, expectation_maximization, maximized
from disentree.mimosa.finders.growth import grow
from disentree.mimosa.finders.margins import Margins
from disentree.mimosa.finders.mixture_leaf import MixtureLeaf, Space, dimension_of, leaf_covariance
from disentree.mimosa.finders.pieces import merge_pieces
from disentree.mimosa.finders.structureless import Columns

SEARCHED = 6000  # rows that mixtures are grown on; all rows are used in the end
# principal components that a mixture is looked for in, at most: in more, few odd rows decide splits (digits: 20
# gives ARI .77, 50 gives .18)
LEADING = 20
MOST_COLUMNS = 100  # that normal margins are fitted to
SCORE_FLOOR = 0.01  # standard deviation of scores, at least
ROWS_PER_AXIS = 5  # and no more than the rows can say something about


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    columns: Columns | None = None,
    families: tuple[str, ...] = ("pooled", "lowrank"),
    margins: bool = True,
    merged: bool = True,
) -> list[Candidate]:
    """Mixtures in the principal components, and in the columns with normal margins if some column is not
    normal."""
    n, D = Z.shape
    floor = np.broadcast_to(np.asarray(precision, float), (D,))
    out = [in_components(Z, floor, rng, families, merged)]
    if margins and columns is not None and D <= MOST_COLUMNS and n >= ROWS_PER_AXIS * D:
        own = columns.independent()
        maps = Margins.fit(own.of(Z), own.precision)
        if not maps.straight and len(out[0].details["groups"]) > 1:
            out.append(with_margins(Z, own, maps, out[0]))
        if not maps.straight and D <= LEADING:
            out.append(in_margins(Z, own, maps, rng, merged))
    return out


def in_components(Z, floor, rng, families, merged) -> Candidate:
    n, D = Z.shape
    q = max(1, min(D, LEADING, n // ROWS_PER_AXIS))
    rest = np.maximum(np.sqrt((Z[:, q:] ** 2).mean(axis=0) * (n / max(n - 1, 1))), floor[q:])
    return fitted("mixture", Z, Space(q, rest), floor[:q], rng, families, merged)


def in_margins(Z, columns, maps, rng, merged) -> Candidate:
    slopes = []
    X = columns.of(Z)
    for j, m in enumerate(maps.maps):
        slopes.append(np.exp(np.median(m(X[:, j])[1])))
    floor = np.maximum(1e-4, np.array(slopes) * columns.precision)
    space = Space(Z.shape[1], np.ones(0), columns, maps)
    return fitted("margins-mixture", Z, space, floor, rng, ("pooled",), merged)


def with_margins(Z, columns, maps, found: Candidate) -> Candidate:
    """The same leaves, described by Gaussians of the columns' scores.

    A model with normal margins gains much where columns heap (pixels that are mostly 0). Leaves that were found
    without it are compared with it on equal terms if they may use the same margins.
    """
    space = Space(Z.shape[1], np.ones(0), columns, maps)
    S, _ = space(Z)
    groups = found.details["groups"]
    Y, _ = found.components[0].space(Z)
    R = found.details["mixture"].posteriors(Y)
    mixture = maximized(S, R, len(Z), np.full(S.shape[1], SCORE_FLOOR), "pooled")
    shares = np.array([mixture.shares[groups == g].sum() for g in range(groups.max() + 1)])
    leaves = [
        MixtureLeaf(space, part(mixture, groups == g), found.components[g].dimension)
        for g in range(groups.max() + 1)
    ]
    return Candidate("mixture-with-margins", leaves, shares, dict(found.details))


def part(mixture: Mixture, chosen) -> Mixture:
    """Some of a mixture's components."""
    shares = mixture.shares[chosen]
    return Mixture(
        shares / shares.sum(), mixture.means[chosen], mixture.covariances[chosen], 0.0, mixture.within[chosen]
    )


def fitted(name, Z, space, floor, rng, families, merged) -> Candidate:
    Y, _ = space(Z)
    n = len(Y)
    searched = Y if n <= SEARCHED else Y[np.sort(rng.permutation(n)[:SEARCHED])]
    grown = [(*grow(searched, floor, family), family) for family in families]
    mixture, score, R, family = max(grown, key=lambda one: one[1])
    # the judge scores densities, for which leaves need not be told apart
    groups = merge_pieces(searched, mixture, R, floor, family) if merged else np.zeros(len(mixture), int)
    if n > SEARCHED:
        mixture, _, R = expectation_maximization(Y, mixture.posteriors(Y), floor, family, steps=10)
    leaves, shares = [], []
    for g in range(groups.max() + 1):
        pieces = part(mixture, groups == g)
        share = mixture.shares[groups == g].sum()
        leaves.append(MixtureLeaf(space, pieces, dimension_of(leaf_covariance(pieces), floor, n * share)))
        shares.append(share)
    details = {"family": family, "pieces": len(mixture), "bic": score, "groups": groups, "mixture": mixture}
    return Candidate(name, leaves, np.array(shares), details)
