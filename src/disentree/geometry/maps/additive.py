"""A linear map that follows a hierarchy: y = b + the vectors of the chosen options + directions times variables.

One map for all paths, so that a variable moves a point the same way wherever it is active, and paths with few rows
or none have one too. It is fitted by alternating least squares: variables given directions, and the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION, fast_ica
from disentree.hierarchy import Hierarchy

ROUNDS, SETTLED = 30, 1e-4  # of least squares; the relative gain below which they end
EXACT = 1e-14  # of the variance: nothing left to fit
RIDGE = 1e-9  # of the mean square of a column: options of a categorical sum to one
ICA_ROWS = 5000  # rows that a group's variables are made independent on


@dataclass(frozen=True)
class Items:
    """The options and continuous variables of a hierarchy in the order of an autoencoder's flat code."""

    options: Float[np.ndarray, "paths options"]  # 1 for every option on the way to a path
    continuous: Bool[np.ndarray, "paths continuous"]  # which continuous variables a path has
    columns: Int[np.ndarray, " continuous"]  # of these in codes
    opener: Int[np.ndarray, " continuous"]  # the option that opens the group of each, -1 at the root

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Items:
        option_of: dict[tuple[int, int], int] = {}
        for v in hierarchy.variables:
            for k in range(v.n_options):
                option_of[v.index, k] = len(option_of)
        columns = np.flatnonzero(~hierarchy.is_categorical)
        options = np.zeros((len(hierarchy.paths), len(option_of)))
        continuous = np.zeros((len(hierarchy.paths), len(columns)), dtype=bool)
        for path in hierarchy.paths:
            options[path.index, [option_of[choice] for choice in path.choices]] = 1
            continuous[path.index] = np.isin(columns, path.continuous)
        variables = (hierarchy.variables[c] for c in columns)
        opener = [-1 if v.parent is None or v.option is None else option_of[v.parent, v.option] for v in variables]
        return cls(options, continuous, columns, np.array(opener, dtype=np.int64))

    def codes(
        self, hierarchy: Hierarchy, paths: Int[np.ndarray, " n"], z: Float[np.ndarray, "n continuous"]
    ) -> Float[np.ndarray, "n v"]:
        """Codes of rows on given paths with these variables, whatever these are where they are not active."""
        codes = np.full((len(paths), hierarchy.n_variables), np.nan)
        codes[:, self.columns] = np.where(self.continuous[paths], z, np.nan)
        used, place = np.unique(paths, return_inverse=True)
        chosen = np.full((len(used), hierarchy.n_variables), np.nan)
        for i, path in enumerate(used):
            for column, option in hierarchy.paths[path].choices:
                chosen[i, column] = option
        return np.where(np.isnan(chosen[place]), codes, chosen[place])

    def groups(self) -> list[Int[np.ndarray, " _"]]:
        """The continuous variables of each group, those that most paths have first."""
        found = [np.flatnonzero(self.opener == o) for o in np.unique(self.opener)]
        return sorted(found, key=lambda group: -int(self.continuous[:, group[0]].sum()))


@dataclass(frozen=True)
class AdditiveMap:
    """The map: `base` + options @ `effects` + variables @ `directions`."""

    base: Float[np.ndarray, " r"]
    effects: Float[np.ndarray, "options r"]
    directions: Float[np.ndarray, "continuous r"]

    def means(self, items: Items) -> Float[np.ndarray, "paths r"]:
        """Where the variables are 0, on each path."""
        return self.base + items.options @ self.effects

    def rescaled(
        self, items: Items, mean: Float[np.ndarray, " continuous"], scale: Float[np.ndarray, " continuous"]
    ) -> AdditiveMap:
        """The same map of variables from which `mean` was subtracted and which were then divided by `scale`."""
        base, effects = self.base.copy(), self.effects.copy()
        for i, opener in enumerate(items.opener):
            (base if opener < 0 else effects[opener])[:] += mean[i] * self.directions[i]
        return AdditiveMap(base, effects, self.directions * scale[:, None])


def spread_of(
    z: Float[np.ndarray, "n continuous"], items: Items, paths: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " continuous"], Float[np.ndarray, " continuous"]]:
    """Mean and standard deviation of each variable over the rows where it is active."""
    on = items.continuous[paths]
    count = np.maximum(on.sum(axis=0), 1)
    mean = np.where(on, z, 0.0).sum(axis=0) / count
    scale = np.sqrt(np.where(on, (z - mean) ** 2, 0.0).sum(axis=0) / count)
    return mean, np.where(scale > 0, scale, 1.0)


def solve_variables(
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    means: Float[np.ndarray, "paths r"],
    directions: Float[np.ndarray, "paths continuous r"] | Float[np.ndarray, "continuous r"],
    items: Items,
) -> Float[np.ndarray, "n continuous"]:
    """The variables of rows by least squares on their path, 0 where not active."""
    out = np.zeros((len(Y), len(items.columns)))
    for path in np.unique(paths):
        active = np.flatnonzero(items.continuous[path])
        if not len(active):
            continue
        rows = np.flatnonzero(paths == path)
        own = directions[active] if directions.ndim == 2 else directions[path][active]
        out[rows[:, None], active] = (Y[rows] - means[path]) @ np.linalg.pinv(own, rcond=1e-9)
    return out


def fit_additive(
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    items: Items,
    variables: Float[np.ndarray, "n continuous"] | None = None,
) -> AdditiveMap:
    """Alternating least squares, from variables to begin with (0 where not active) or from principal directions of
    the groups. Every row has a path."""
    total = float(np.square(Y - Y.mean(axis=0)).sum())
    found = _principal_start(Y, paths, items) if variables is None else regress(Y, paths, items, variables)
    before = np.inf
    for _ in range(ROUNDS):
        z = solve_variables(Y, paths, found.means(items), found.directions, items)
        error = float(np.square(Y - found.means(items)[paths] - z @ found.directions).sum())
        if error <= EXACT * total or error > (1 - SETTLED) * before:
            break
        before = error
        found = regress(Y, paths, items, z)
    return found


def regress(
    Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"], items: Items, variables: Float[np.ndarray, "n k"]
) -> AdditiveMap:
    """The map that gives Y from the variables with the least squared error."""
    known = np.concatenate([np.ones((len(Y), 1)), items.options[paths], variables], axis=1)
    center = Y.mean(axis=0)
    gram = known.T @ known
    ridge = RIDGE * np.maximum(np.diag(gram), 1e-12 * len(Y))
    ridge[0] = 0.0
    solved = np.linalg.solve(gram + np.diag(ridge), known.T @ (Y - center))
    n = 1 + items.options.shape[1]
    return AdditiveMap(solved[0] + center, solved[1:n], solved[n:])


def _principal_start(Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"], items: Items) -> AdditiveMap:
    """Principal directions of each group, in what those above it leave of the rows of its simplest paths."""
    n_continuous, r = len(items.columns), Y.shape[1]
    found = regress(Y, paths, items, np.zeros((len(Y), n_continuous)))
    residual = Y - found.means(items)[paths]
    directions = np.zeros((n_continuous, r))
    dimensions = items.continuous.sum(axis=1)
    for group in items.groups():
        below = items.continuous[:, group[0]]
        rows = np.flatnonzero(below[paths])
        if not len(rows):
            continue
        rows = rows[np.argsort(dimensions[paths[rows]], kind="stable")]
        enough = max(
            ROWS_PER_DIMENSION * len(group), int((dimensions[paths[rows]] == dimensions[paths[rows[0]]]).sum())
        )
        left = np.zeros((r, r))
        for path in np.unique(paths[rows[:enough]]):
            own = residual[paths == path]
            above = directions[items.continuous[path] & directions.any(axis=1)]
            if len(above):
                basis = np.linalg.svd(above, full_matrices=False)[2]
                own = own - own @ basis.T @ basis
            left += own.T @ own
        values, vectors = np.linalg.eigh(left)
        kept = min(len(group), r)
        spread = np.sqrt(np.maximum(values[::-1][:kept], 0.0) / enough)
        directions[group[:kept]] = (vectors[:, ::-1][:, :kept] * spread).T
    return AdditiveMap(found.base, found.effects, directions)


def made_independent(
    found: AdditiveMap,
    items: Items,
    z: Float[np.ndarray, "n continuous"],
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> AdditiveMap:
    """The same map with the variables of each group turned to be independent, where rows are enough to tell."""
    directions = found.directions.copy()
    for group in items.groups():
        rows = np.flatnonzero(items.continuous[paths, group[0]])
        if len(group) == 1 or len(rows) < ROWS_PER_DIMENSION * len(group):
            continue
        some = rows if len(rows) <= ICA_ROWS else rng.choice(rows, ICA_ROWS, replace=False)
        own = z[np.ix_(some, group)]
        values, vectors = np.linalg.eigh(np.cov(own.T))
        if values[0] <= 1e-9 * values[-1]:
            continue
        to_white = vectors / np.sqrt(values)
        turn = to_white @ fast_ica((own - own.mean(axis=0)) @ to_white, rng)
        directions[group] = np.linalg.solve(turn, found.directions[group])  # z @ turn are the new variables
    return AdditiveMap(found.base, found.effects, directions)
