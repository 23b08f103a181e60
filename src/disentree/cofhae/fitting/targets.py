"""Targets for the continuous variables of flat leaves, by independent component analysis.

A penalty on dependence only encourages independent variables. The rows of a leaf that is close to flat are a
linear map of its variables; if these are independent and not Gaussian, ICA finds them up to order, sign and
scale. Factors of nested leaves are then matched by their mixing vectors, since a variable moves a point in the
same direction in every leaf that has it.

Curved leaves get no such targets: `trust` is 0 for them. `unrolling.py` finds guides for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from torch import Tensor

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, choices_of
from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION, LeafFactors, assign_columns, fast_ica
from disentree.geometry.maps.leaf_spans import fit_without_outlying
from disentree.geometry.subspaces import AffineSubspace
from disentree.hierarchy import Hierarchy


class Targets(NamedTuple):
    values: Float[np.ndarray, "n v"]  # as codes: continuous columns standardized, NaN where there is no target
    trust: Float[np.ndarray, " paths"]  # in [0, 1]: where it is 1, independence need not be asked for
    kept: Float[np.ndarray, "paths v"]  # weights of the targets all through training
    guided: Float[np.ndarray, "paths v"]  # weights of those that are there to begin with, not to be kept

    @property
    def has_guides(self) -> bool:
        """Whether some curved path has coordinates to begin with or to keep."""
        return bool(self.guided.any() or self.kept[self.trust == 0].any())

    def with_codes(self, codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy) -> Targets:
        """With the values of some codes, where there are targets."""
        return self._replace(
            values=np.where(np.isnan(self.values), np.nan, given_targets(codes, hierarchy).values)
        )

    @classmethod
    def trusted(cls, values: Float[np.ndarray, "n v"], trust: Float[np.ndarray, " paths"]) -> Targets:
        """Targets that count as much as they are trusted."""
        kept = np.repeat(trust[:, None], values.shape[1], axis=1)
        return cls(values, trust, kept, np.zeros_like(kept))


@dataclass(frozen=True)
class LeafSubspace:
    """The subspace that best fits the rows of a path."""

    path: int
    rows: Int[np.ndarray, " m"]  # those that lie on it
    subspace: AffineSubspace
    trust: float  # 1 for a flat leaf, 0 for one that is too curved


def given_targets(codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy) -> Targets:
    """Codes that are known, each variable to mean 0 and deviation 1 over the rows where it is active; columns of
    categoricals are of no use here. Every path is trusted."""
    values = np.where(hierarchy.is_categorical, np.nan, codes)
    for column in np.flatnonzero(~np.isnan(values).all(axis=0)):
        known = values[:, column]
        values[:, column] = (known - np.nanmean(known)) / max(float(np.nanstd(known)), 1e-12)
    return Targets.trusted(values, np.ones(len(hierarchy.paths)))


def leaf_targets(
    Z: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    random_state: int | np.random.Generator = 0,
    subspaces: list[LeafSubspace] | None = None,
) -> Targets:
    """Independent components of every path's rows of `Z`, laid out as codes for the hierarchy.

    Z is the data in coordinates in which leaves are as flat as can be had (whitened principal components). Rows
    without a path (-1) get no target, nor do rows that lie far off the flat piece of their own path. `subspaces`
    is what `fit_subspaces` gives for the same arguments, if it is known already.
    """
    rng = np.random.default_rng(random_state)
    leaves = {leaf.path: _unmix(Z, leaf, rng) for leaf in subspaces or fit_subspaces(Z, hierarchy, paths)}
    columns = assign_columns(hierarchy, leaves)

    values = np.full((len(Z), hierarchy.n_variables), np.nan)
    trust = np.zeros(len(hierarchy.paths))
    for index, leaf in leaves.items():
        trust[index] = leaf.trust
        if leaf.trust > 0:
            values[leaf.rows[:, None], columns[index]] = leaf.factors
    with_target = ~np.isnan(values).all(axis=0)
    known = values[:, with_target]
    values[:, with_target] = (known - np.nanmean(known, axis=0)) / np.nanstd(known, axis=0)
    return Targets.trusted(values, trust)


def align_targets(
    targets: Targets,
    Z: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    hierarchy: Hierarchy,
    matches: Sequence[Sequence[int]],
) -> Targets:
    """Targets in which variables that are the same on different branches have the same zero, sign and unit.

    The first variable of a match is the reference. Rows that have another one are compared with the nearest rows
    that have the reference and not that: a leaf is next to those that enclose it.
    """
    values = targets.values.copy()
    for reference, *others in matches:
        for column in others:
            lacking = [
                p.index for p in hierarchy.paths if column not in p.continuous and reference in p.continuous
            ]
            known = np.flatnonzero(np.isfinite(values[:, reference]) & np.isin(paths, lacking))
            rows = np.flatnonzero(np.isfinite(values[:, column]))
            if len(known) < 2 or len(rows) < 2:
                continue
            near = known[np.asarray(KDTree(Z[known]).query(Z[rows])[1])]
            x, y = values[rows, column], values[near, reference]
            deviations = float(x.std() * y.std())
            if deviations <= 0 or abs(np.corrcoef(x, y)[0, 1]) < constants.LEAST_CORRELATION:
                continue
            slope, start = np.polyfit(x, y, 1)
            values[:, column] = slope * values[:, column] + start
    return targets._replace(values=values)


def fit_subspaces(
    Z: Float[np.ndarray, "n r"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"]
) -> list[LeafSubspace]:
    """The subspace of every path that has variables, and rows enough to fit one."""
    found = (_fit_subspace(Z, np.flatnonzero(paths == p.index), p.index, p.dimension) for p in hierarchy.paths)
    return [leaf for leaf in found if leaf is not None]


def _fit_subspace(
    Z: Float[np.ndarray, "n r"], rows: Int[np.ndarray, " m"], path: int, d: int
) -> LeafSubspace | None:
    if d == 0 or d > Z.shape[1] or len(rows) < ROWS_PER_DIMENSION * d:
        return None
    on, flat = fit_without_outlying(Z[rows], AffineSubspace.fit(Z[rows], d), ROWS_PER_DIMENSION * d)
    if flat.spread[-1] <= constants.THINNEST * max(flat.spread[0], 1e-300):
        return None  # the rows span fewer dimensions than the path has
    between = (flat.explained - constants.REFUSED) / (constants.TRUSTED - constants.REFUSED)
    return LeafSubspace(path, rows[on], flat, float(np.clip(between, 0, 1)))


def _unmix(Z: Float[np.ndarray, "n r"], flat: LeafSubspace, rng: np.random.Generator) -> LeafFactors:
    subspace = flat.subspace
    scores = subspace.coordinates(Z[flat.rows]) / subspace.spread
    rotation = fast_ica(scores, rng)
    mixing = (subspace.basis.T * subspace.spread) @ rotation
    origin = np.zeros(mixing.shape[1])
    return LeafFactors(flat.path, flat.rows, subspace.center, mixing, scores @ rotation, origin, flat.trust)


class Labels:
    """What training is told of each row: the assignment `a`, and its aims."""

    def __init__(
        self,
        hae: HierarchicalAutoencoder,
        paths: Int[np.ndarray, " n"],
        targets: Targets,
        device: torch.device,
    ):
        self.paths = torch.from_numpy(paths).to(device)
        self.choices = hae.mask.path_options().to(device)
        self.targets = torch.from_numpy(targets.values[:, hae.mask.continuous].astype(np.float32)).to(device)
        # [-1]: no path
        self.trust = torch.from_numpy(np.append(targets.trust, 0.0).astype(np.float32)).to(device)
        self.kept, self.guided = (
            torch.from_numpy(np.pad(weights[:, hae.mask.continuous], ((0, 1), (0, 0))).astype(np.float32)).to(
                device
            )
            for weights in (targets.kept, targets.guided)
        )

    def __call__(self, rows: Int[Tensor, " batch"]) -> tuple[Tensor, ...]:
        paths = self.paths[rows]
        choices = choices_of(paths, self.choices)
        return choices, self.targets[rows], self.trust[paths], self.kept[paths], self.guided[paths]
