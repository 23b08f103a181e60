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
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.gaussians import Mixture, expectation_maximization, maximized
from disentree.mimosa.density.margins import Margins
from disentree.mimosa.density.mixture_leaf import GatedLeaf, MixtureCandidate, MixtureLeaf, Space, leaf_dimension
from disentree.mimosa.density.structureless import fit_gaussian, fit_margins
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.modes.growth import grow
from disentree.mimosa.finders.modes.valleys import merge_pieces


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    columns: Columns | None = None,
    part: float = 1.0,
) -> list[MixtureCandidate]:
    """Mixtures of the rows, their pieces joined to leaves: `mixture` and `gmm`, and of `mixture-with-margins`,
    `margins-mixture` and `margins-gmm` those that may matter.

    No deviation is taken below the precision of a coordinate. Without the table's own columns there are none with
    normal margins. Rows that are a `part` of all show what all of them would.
    """
    n, D = Z.shape
    floor = np.broadcast_to(np.asarray(precision, float), (D,))
    with threadpool_limits(1, user_api="blas"):  # on small matrices threads cost more than they save
        out = [in_components("mixture", Z, floor, rng, ("pooled", "lowrank"), part=part)]
        shattered = is_shattered(out[0])
        most = MODES.first_pieces // 2 if shattered else None
        out.append(in_components("gmm", Z, floor, rng, ("full",), most=most, part=part))
        if columns is None or n < MODES.fewest * D or shattered:
            return out
        own = columns.independent()
        alone = fit_margins(Z, own)
        if alone.margins.straight:
            return out
        one = fit_gaussian(Z, floor).log_density(Z).mean()
        if alone.log_density(Z).mean() - one < FINDERS.counted * (max(c.log_density(Z).mean() for c in out) - one):
            return out
        if len(out[0].mixture) > 1:
            out.append(with_margins(Z, own, alone.margins, out[0]))
        if COORDINATES.most_linear >= D:
            out.append(in_margins("margins-mixture", Z, own, alone.margins, rng, "pooled", part=part))
        if 2 * COORDINATES.most_linear >= D:
            out.append(in_margins("margins-gmm", Z, own, alone.margins, rng, "full", part=part))
        return out


def refit(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    columns: Columns | None,
    found: Sequence[MixtureCandidate],
    part: float | None = None,
) -> list[MixtureCandidate]:
    """The same kinds of mixtures, of other rows: densities for the judge, whose leaves need not be told apart; or
    those of a `part` of the rows, which show what all of them do, in no more pieces."""
    floor = np.broadcast_to(np.asarray(precision, float), (Z.shape[1],))
    out: dict[str, MixtureCandidate] = {}
    plain, own, maps = ("mixture", "gmm"), None, None
    with threadpool_limits(1, user_api="blas"):
        if columns is not None and any(c.finder not in plain for c in found):
            own = columns.independent()
            maps = Margins.fit(own.of(Z), own.precision)
        for candidate in found:
            name, family = candidate.finder, candidate.family
            more = {"merged": False} if part is None else {"most": len(candidate.mixture), "part": part}
            if name in plain:
                out[name] = in_components(name, Z, floor, rng, (family,), **more)
            elif name == "mixture-with-margins":
                # whose leaves may be asked for alone: others were not found again
                same = out.get("mixture") or in_components("mixture", Z, floor, rng, (family,), **more)
                out[name] = with_margins(Z, own, maps, same)
            else:
                out[name] = in_margins(name, Z, own, maps, rng, family, **more)
    return list(out.values())


def is_shattered(found: MixtureCandidate) -> bool:
    """Whether a mixture is pieces of something else, for which no other mixture will do better."""
    pieces = len(found.mixture)
    return pieces >= MODES.first_pieces and 2 * len(found.components) < pieces


def in_components(name, Z, floor, rng, families, **more) -> MixtureCandidate:
    """A mixture of the leading principal components."""
    n, D = Z.shape
    q = max(1, min(D, COORDINATES.most_linear, n // MODES.fewest))
    rest = np.maximum(np.sqrt((Z[:, q:] ** 2).mean(axis=0) * (n / max(n - 1, 1))), floor[q:])
    return fitted(name, Z, Space(q, rest), floor[:q], rng, families, **more)


def in_margins(name, Z, columns, maps, rng, family, **more) -> MixtureCandidate:
    """A mixture of the columns' scores."""
    X = columns.of(Z)
    slopes = np.array([np.exp(np.median(m(X[:, j])[1])) for j, m in enumerate(maps.maps)])
    floor = np.maximum(DENSITY.score_floor, slopes * columns.precision)
    space = Space(Z.shape[1], np.ones(0), columns, maps)
    return fitted(name, Z, space, floor, rng, (family,), **more)


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
    density = maximized(S, R, len(Z), np.full(S.shape[1], DENSITY.score_floor), "pooled")
    shares = np.array([R[:, groups == g].sum() for g in range(groups.max() + 1)]) / len(Z)
    leaves = [
        GatedLeaf(space, density, gate_space, gate, groups == g, float(share), found.components[g].dimension)
        for g, share in enumerate(shares)
    ]
    return replace(found, finder="mixture-with-margins", components=leaves, shares=shares)


def pieces_of(mixture: Mixture, chosen) -> Mixture:
    """Some of a mixture's components."""
    shares = mixture.shares[chosen]
    return Mixture(
        shares / shares.sum(), mixture.means[chosen], mixture.covariances[chosen], 0.0, mixture.within[chosen]
    )


def fitted(name, Z, space, floor, rng, families, most=None, merged=True, part=1.0) -> MixtureCandidate:
    """The mixture of the family with the best BIC, of so many pieces at most, as leaves."""
    Y, _ = space(Z)
    n = len(Y)
    searched = Y if n <= FINDERS.searched else Y[np.sort(rng.permutation(n)[: FINDERS.searched])]
    grown = [
        (*grow(searched, floor, family, most or MODES.first_pieces, part=part), family) for family in families
    ]
    mixture, _, R, family = max(grown, key=lambda one: one[1])
    groups = np.zeros(len(mixture), int)
    if merged:
        groups = merge_pieces(searched, mixture, R, floor, family, part)
    if merged and not most and len(mixture) >= MODES.first_pieces and 2 * (groups.max() + 1) >= len(mixture):
        mixture, _, R = grow(searched, floor, family, MODES.most_pieces, R, part)
        groups = merge_pieces(searched, mixture, R, floor, family, part)
    if n > FINDERS.searched:
        mixture, _, R = expectation_maximization(Y, mixture.posteriors(Y), floor, family, steps=MODES.steps)
    leaves, shares = [], []
    for g in range(groups.max() + 1):
        pieces = pieces_of(mixture, groups == g)
        share = mixture.shares[groups == g].sum()
        leaves.append(MixtureLeaf(space, pieces, leaf_dimension(pieces, space, floor, n * share)))
        shares.append(share)
    return MixtureCandidate(
        name,
        leaves,
        np.array(shares),
        family=family,
        mixture=mixture,
        space=space,
        groups=groups,
    )
