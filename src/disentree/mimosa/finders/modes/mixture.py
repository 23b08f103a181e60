"""The mixture finder: clusters, few rows, real tables.

Mixtures of Gaussians are grown in the principal components and, if some column is not normal, among the columns
with normal margins, each with parsimonious covariances (`mixture`) and with free ones (`gmm`). Pieces without a
valley between them are one leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.density.gaussians import Mixture, expectation_maximization, maximized
from disentree.mimosa.density.margins import Margins
from disentree.mimosa.density.mixture_leaf import GatedLeaf, MixtureCandidate, MixtureLeaf, Space, leaf_dimension
from disentree.mimosa.density.structureless import SCORE_FLOOR, fit_gaussian, fit_margins
from disentree.mimosa.finders.modes.growth import MAX_COMPONENTS, grow
from disentree.mimosa.finders.modes.valleys import merge_pieces

SEARCHED = 6000  # rows that mixtures are grown on; all rows are used in the end
# principal components that a mixture is looked for in, at most: in more, few odd rows decide splits (digits: 20
# gives ARI .77, 50 gives .18)
LEADING = 20
MARGINS_LEADING = 40  # columns with normal margins that free covariances are fitted to, at most
MOST_COLUMNS = 100  # that normal margins are fitted to
ROWS_PER_AXIS = 5  # and no more than the rows can say something about
# Growth pauses at so many pieces, and goes on if at least this part of them are leaves: pieces of a curved leaf,
# which have no valleys between them, are no reason for more pieces.
FIRST_PIECES, LEAVES = 24, 0.5
# Mixtures among normal margins are tried if margins alone save this part of what the mixture of components saves.
WORTH = 0.1

FAMILIES = {"mixture": ("pooled", "lowrank"), "gmm": ("full",)}
MARGINS_FAMILIES = {"margins-mixture": "pooled", "margins-gmm": "full"}


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    columns: Columns | None = None,
    rigor: float = 1.0,
) -> list[MixtureCandidate]:
    """Mixtures of the rows, their pieces joined to leaves.

    Parameters
    ----------
    Z : array of shape (n, D)
        Principal components.
    precision : array of shape (D,) or float
        Of each coordinate: no deviation is taken below it.
    rng : Generator
    columns : Columns or None, default=None
        The table's own columns; None for no mixtures among columns with normal margins.
    rigor : float, default=1.0
        How many times the usual deviations of chance a valley between leaves must have.

    Returns
    -------
    list of MixtureCandidate
        `mixture` and `gmm`, and those of `mixture-with-margins`, `margins-mixture` and `margins-gmm` that may
        matter.
    """
    n, D = Z.shape
    floor = np.broadcast_to(np.asarray(precision, float), (D,))
    with threadpool_limits(1, user_api="blas"):  # on small matrices threads cost more than they save
        out = [in_components("mixture", Z, floor, rng, FAMILIES["mixture"], rigor=rigor)]
        shattered = is_shattered(out[0])
        most = FIRST_PIECES // 2 if shattered else None
        out.append(in_components("gmm", Z, floor, rng, FAMILIES["gmm"], most, rigor=rigor))
        if columns is None or D > MOST_COLUMNS or n < ROWS_PER_AXIS * D or shattered:
            return out
        own = columns.independent()
        alone = fit_margins(Z, own)
        if alone.margins.straight:
            return out
        one = fit_gaussian(Z, floor).log_density(Z).mean()
        if alone.log_density(Z).mean() - one < WORTH * (max(c.log_density(Z).mean() for c in out) - one):
            return out
        if len(out[0].mixture) > 1:
            out.append(with_margins(Z, own, alone.margins, out[0]))
        for name, family in MARGINS_FAMILIES.items():
            if (LEADING if family == "pooled" else MARGINS_LEADING) >= D:
                out.append(in_margins(name, Z, own, alone.margins, rng, family, rigor=rigor))
        return out


def refit(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    columns: Columns | None,
    found: Sequence[MixtureCandidate],
) -> list[MixtureCandidate]:
    """The same kinds of mixtures, of a part of the rows: densities for the judge, so that leaves need not be told
    apart."""
    floor = np.broadcast_to(np.asarray(precision, float), (Z.shape[1],))
    out: dict[str, MixtureCandidate] = {}
    with threadpool_limits(1, user_api="blas"):
        own, maps = None, None
        if columns is not None and len(found) > len(FAMILIES):
            own = columns.independent()
            maps = Margins.fit(own.of(Z), own.precision)
        for candidate in found:
            name, family = candidate.finder, candidate.family
            if name in FAMILIES:
                out[name] = in_components(name, Z, floor, rng, (family,), merged=False)
            elif own is not None and name in MARGINS_FAMILIES:
                out[name] = in_margins(name, Z, own, maps, rng, family, merged=False)
            elif own is not None:
                out[name] = with_margins(Z, own, maps, out["mixture"])
    return list(out.values())


def is_shattered(found: MixtureCandidate) -> bool:
    """Whether a mixture is pieces of something else, for which no other mixture will do better."""
    return len(found.components) < LEAVES * len(found.mixture) and len(found.mixture) >= FIRST_PIECES


def in_components(name, Z, floor, rng, families, most=None, merged=True, rigor=1.0) -> MixtureCandidate:
    """A mixture of the leading principal components, of so many pieces at most."""
    n, D = Z.shape
    q = max(1, min(D, LEADING, n // ROWS_PER_AXIS))
    rest = np.maximum(np.sqrt((Z[:, q:] ** 2).mean(axis=0) * (n / max(n - 1, 1))), floor[q:])
    return fitted(name, Z, Space(q, rest), floor[:q], rng, families, most, merged, rigor)


def in_margins(name, Z, columns, maps, rng, family, merged=True, rigor=1.0) -> MixtureCandidate:
    """A mixture of the columns' scores."""
    X = columns.of(Z)
    slopes = np.array([np.exp(np.median(m(X[:, j])[1])) for j, m in enumerate(maps.maps)])
    floor = np.maximum(SCORE_FLOOR, slopes * columns.precision)
    space = Space(Z.shape[1], np.ones(0), columns, maps)
    return fitted(name, Z, space, floor, rng, (family,), None, merged, rigor)


def with_margins(Z, columns, maps, found: MixtureCandidate) -> MixtureCandidate:
    """The same leaves, with a density of the columns' scores.

    A model with normal margins gains much where columns heap (pixels that are mostly 0). Leaves that were found
    without it are compared with it on equal terms if they may use the same margins. Which leaf a row is on is for
    the mixture to say that found them.
    """
    space = Space(Z.shape[1], np.ones(0), columns, maps)
    S, _ = space(Z)
    groups, gate, gate_space = found.groups, found.mixture, found.space
    R = gate.posteriors(gate_space(Z)[0])
    density = maximized(S, R, len(Z), np.full(S.shape[1], SCORE_FLOOR), "pooled")
    shares = np.array([R[:, groups == g].sum() for g in range(groups.max() + 1)]) / len(Z)
    leaves = [
        GatedLeaf(space, density, gate_space, gate, groups == g, float(share), found.components[g].dimension)
        for g, share in enumerate(shares)
    ]
    return replace(found, finder="mixture-with-margins", components=leaves, shares=shares)


def part(mixture: Mixture, chosen) -> Mixture:
    """Some of a mixture's components."""
    shares = mixture.shares[chosen]
    return Mixture(
        shares / shares.sum(), mixture.means[chosen], mixture.covariances[chosen], 0.0, mixture.within[chosen]
    )


def fitted(name, Z, space, floor, rng, families, most, merged, rigor) -> MixtureCandidate:
    """The mixture of the family with the best BIC, as leaves."""
    Y, _ = space(Z)
    n = len(Y)
    searched = Y if n <= SEARCHED else Y[np.sort(rng.permutation(n)[:SEARCHED])]
    normal = space.margins is not None and "full" in families
    grown = [(*grow(searched, floor, family, most or FIRST_PIECES), family) for family in families]
    mixture, _, R, family = max(grown, key=lambda one: one[1])
    groups = np.zeros(len(mixture), int)
    if merged:
        groups = merge_pieces(searched, mixture, R, floor, family, normal, rigor)
    if merged and not most and len(mixture) >= FIRST_PIECES and groups.max() + 1 >= LEAVES * len(mixture):
        mixture, _, R = grow(searched, floor, family, MAX_COMPONENTS, R)
        groups = merge_pieces(searched, mixture, R, floor, family, normal, rigor)
    if n > SEARCHED:
        mixture, _, R = expectation_maximization(Y, mixture.posteriors(Y), floor, family, steps=10)
    leaves, shares = [], []
    for g in range(groups.max() + 1):
        pieces = part(mixture, groups == g)
        share = mixture.shares[groups == g].sum()
        leaves.append(MixtureLeaf(space, pieces, leaf_dimension(pieces, space, floor, n * share)))
        shares.append(share)
    return MixtureCandidate(
        name,
        leaves,
        np.array(shares),
        has_valleys=merged,
        family=family,
        mixture=mixture,
        space=space,
        groups=groups,
    )
