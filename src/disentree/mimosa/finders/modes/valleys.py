"""Pieces to leaves: which Gaussians of a mixture are parts of one cloud.

A skewed, uniform or curved cloud takes several Gaussians. They are one leaf if no valley separates them: the
rows of two pieces, projected on the direction that best separates them, are then unimodal (tested by counts on
held-out rows). Thin leaves in wide ones, and those that cross, are for the finders of flats and charts.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.gaussians import Mixture, expectation_maximization
from disentree.mimosa.finders.modes.constants import MODES


class Valleys:
    """Tests for a valley between groups of pieces.

    A direction that was fitted to a row separates it too well, the more so the more columns there are. So the
    rows are divided in folds, the mixture is fitted to the rows outside each, and each row is projected on the
    direction that others gave: 0 is the one group's center, 1 the other's.
    """

    def __init__(self, Y, R, floor, family: str):
        self.Y, self.labels = Y, R.argmax(axis=1)
        self.fold = np.arange(len(Y)) % FIT.folds
        self.fitted = []
        for f in range(FIT.folds):
            rest = self.fold != f
            one, _, _ = expectation_maximization(Y[rest], R[rest], floor, family, steps=MODES.steps)
            self.fitted.append(one)

    def between(self, i: list[int], j: list[int]) -> tuple[float, float]:
        """How deep the valley is in the fitted density of the projections (its lowest part of the lower peak), and
        how many standard deviations of chance it is deep in the counts of rows: the lesser of its two sides."""
        inside = np.isin(self.labels, i + j)
        values, widths, shares = [], [], []
        for f, one in enumerate(self.fitted):
            if len(one) <= max(max(i), max(j)):
                return 1.0, 0.0
            mean_i, cov_i = group_moments(one, i)
            mean_j, cov_j = group_moments(one, j)
            direction = np.linalg.solve(cov_i + cov_j, mean_j - mean_i)
            length = direction @ (mean_j - mean_i)
            if length <= 0:
                return 1.0, 0.0
            here = inside & (self.fold == f)
            values.append((self.Y[here] - mean_i) @ direction / length)
            widths.append([np.sqrt(direction @ c @ direction) / length for c in (cov_i, cov_j)])
            shares.append([one.shares[i].sum(), one.shares[j].sum()])
        width, share = np.mean(widths, axis=0), np.mean(shares, axis=0)
        return depth(width, share), deepest(np.sort(np.concatenate(values)), float(width.min()))


def depth(widths: Float[np.ndarray, " 2"], shares: Float[np.ndarray, " 2"]) -> float:
    """Lowest density between two normal distributions around 0 and 1, as a part of the lower of the two peaks."""
    t = np.linspace(-0.5, 1.5, 201)
    off = (t[:, None] - np.array([0.0, 1.0])) / widths
    height = (shares / widths * np.exp(-0.5 * off**2)).sum(axis=1) + 1e-300
    ground = np.minimum(np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1])
    return float((height / ground).min())


def counts_within(values, centers, half):
    return np.searchsorted(values, centers + half) - np.searchsorted(values, centers - half)


def deepest(values: Float[np.ndarray, " m"], width: float) -> float:
    """The clearest valley between 0 and 1: a window that holds fewer values than one on either side of it.

    Counts differ by chance by the root of their sum. `width` is the standard deviation of the narrower group.
    """
    step = 0.025
    grid = np.arange(-40, 81) * step
    between = (grid > 0) & (grid < 1)
    best = 0.0
    for half in width * np.array([0.5, 0.75, 1.0]):
        counts = counts_within(values, grid, half).astype(float)
        shift = int(np.ceil(2 * half / step))
        if shift >= len(grid) // 2:
            continue
        left = np.maximum.accumulate(counts)[: -2 * shift]
        right = np.maximum.accumulate(counts[::-1])[::-1][2 * shift :]
        middle = counts[shift:-shift]
        side = np.minimum(left, right)
        z = (side - middle) / np.sqrt(side + middle + 1)
        best = max(best, float(z[between[shift:-shift]].max(initial=0.0)))
    return best


def group_moments(mixture: Mixture, pieces: list[int]):
    w = mixture.shares[pieces] / mixture.shares[pieces].sum()
    mean = w @ mixture.means[pieces]
    off = mixture.means[pieces] - mean
    return mean, np.einsum("k,kij->ij", w, mixture.covariances[pieces]) + (off * w[:, None]).T @ off


def is_valley(depth: float, z: float, rigor: float = 1.0) -> bool:
    """Whether the fitted density and the rows agree that there is one: the less the density falls, the clearer it
    must be in the counts. Pieces of a uniform cloud, whose density never falls to a half, exceed 3 deviations once
    in fifty; those of a normal one never. `rigor` times the usual deviations of chance are asked for."""
    return z > rigor * FIT.doubt * (1 + depth)


def merge_pieces(
    Y: Float[np.ndarray, "n q"],
    mixture: Mixture,
    R: Float[np.ndarray, "n k"],
    floor,
    family: str,
    rigor: float = 1.0,
) -> Int[np.ndarray, " k"]:
    """The leaf of each piece.

    Pieces without a valley between them are linked, links of high density first. A link joins two groups if one of
    them has no denser piece than the linked one, or if the density there is not far below both peaks: so a thin
    background touches many clusters and joins none of them to another. The fitted density proposes valleys, the
    rows must confirm them: those of the two pieces or those of the two groups.
    """
    k = len(mixture)
    if k == 1:
        return np.zeros(1, int)
    valleys = Valleys(Y, R, floor, family)
    height = mixture.log_density(mixture.means)
    links = []
    fell = np.ones((k, k))
    for i in range(k):
        for j in range(i + 1, k):
            fall, z = valleys.between([i], [j])
            fell[i, j] = fell[j, i] = fall
            if not is_valley(fall, z, rigor):
                links.append((min(height[i], height[j]), -z, i, j))
    links.sort(key=lambda t: (-t[0], -t[1]))
    group = np.arange(k)
    peak = height.copy()
    for level, _, i, j in links:
        a, b = group[i], group[j]
        if a == b:
            continue
        lower = min(peak[a], peak[b])
        if level < lower + np.log(FIT.half):
            continue
        A, B = np.flatnonzero(group == a).tolist(), np.flatnonzero(group == b).tolist()
        if len(A) + len(B) > 2 and fell[i, j] < FIT.half and is_valley(*valleys.between(A, B), rigor):
            continue
        group[group == b] = a
        peak[a] = max(peak[a], peak[b])
    return np.unique(group, return_inverse=True)[1]
