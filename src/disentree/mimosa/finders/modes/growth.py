"""Growing a mixture: one component at first, then splits while BIC rises.

Splits start from directions in which the rows of a component are least like a Gaussian (invariant coordinates:
the eigenvectors of fourth moments after whitening, Tyler et al. 2009). They span the directions that separate
clusters, and those in which a thin leaf lies within a wide one, however many columns of noise there are. There is
no chance in them, so that the same rows give the same mixture.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.gaussians import Mixture, bic, expectation_maximization, log_gaussians
from disentree.mimosa.finders.modes.constants import MODES


def two_means_1d(u, w):
    """Threshold that splits values into two groups with the least variance within."""
    order = np.argsort(u)
    v, c = u[order], np.cumsum(w[order])
    s = np.cumsum((w * u)[order])
    total, sums = c[-1], s[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums * c / total - s) ** 2 / (c * (total - c))
    between[~np.isfinite(between)] = -1
    lo, hi = np.searchsorted(c, [0.03 * total, 0.97 * total])
    if hi <= lo:
        return v[len(v) // 2]
    i = lo + int(np.argmax(between[lo:hi]))
    return v[i]


def starts(U: Float[np.ndarray, "n q"], w: Float[np.ndarray, " n"], leading: Float[np.ndarray, " q"]):
    """Ways to divide whitened rows in two: masks."""
    q = U.shape[1]
    r2 = (U * U).sum(axis=1)
    # Fourth moments grow with the square of outliers: rows beyond the 99th percentile are held there.
    cap = np.quantile(r2, 0.99)
    held = U * np.sqrt(np.minimum(1.0, cap / np.maximum(r2, 1e-12)))[:, None]
    h2 = (held * held).sum(axis=1)
    fourth = (held * (w * h2)[:, None]).T @ held / w.sum() / (q + 2)
    second = (held * w[:, None]).T @ held / w.sum()
    root = np.linalg.inv(np.linalg.cholesky(second + 1e-9 * np.eye(q)))
    _, vectors = np.linalg.eigh(root @ fourth @ root.T)
    directions = root.T @ vectors
    e = min(MODES.directions, (q + 1) // 2)
    columns = sorted(set(range(e)) | set(range(q - e, q)))
    candidates = [U @ directions[:, j] for j in columns] + [U @ leading]
    masks = []
    for u in candidates:
        masks.append(u > two_means_1d(u, w))
        middle = np.median(u)
        a = np.abs(u - middle)
        masks.append(a > two_means_1d(a, w))
        masks.append(a > np.median(a))
    r = np.sqrt(r2)
    masks.append(r > two_means_1d(r, w))
    masks.append(r > np.quantile(r, 0.7))
    return masks


def two_means(y: Float[np.ndarray, "n q"], w: Float[np.ndarray, " n"], along: Float[np.ndarray, " q"]):
    """Two-means from the halves along a direction: a mask."""
    u = y @ along
    mask = u > two_means_1d(u, w)
    for _ in range(10):
        if not w[mask].sum() or not w[~mask].sum():
            break
        a, b = np.average(y[mask], axis=0, weights=w[mask]), np.average(y[~mask], axis=0, weights=w[~mask])
        new = y @ (a - b) > (a + b) @ (a - b) / 2
        if (new == mask).all():
            break
        mask = new
    return mask


def best_split(Y, weights, mixture: Mixture, k: int, n: float, floor, family, fewest):
    """The best division of component k in two: gain in BIC, and the two as (weights on rows, rows)."""
    rows = np.flatnonzero(weights > 0.02)
    if len(rows) > FIT.many:
        rows = rows[:: len(rows) // FIT.many + 1]
    w = weights[rows]
    scale = weights.sum() / w.sum()  # rows that were looked at stand for all of them
    if weights.sum() < 2 * fewest:
        return -np.inf, None
    y = Y[rows]
    covariance, mean = mixture.covariances[k], mixture.means[k]
    root = np.linalg.cholesky(covariance)
    U = (y - mean) @ np.linalg.inv(root).T
    _, vectors = np.linalg.eigh(covariance)
    leading = root.T @ vectors[:, -1]
    leading /= np.linalg.norm(leading)
    others = np.delete(np.arange(len(mixture)), k)
    elsewhere = None
    if family == "pooled":
        elsewhere = np.einsum("k,kij->ij", n * mixture.shares[others], mixture.within[others])
    one, likelihood, _ = expectation_maximization(
        y, np.ones((len(y), 1)), floor, family, w * scale, n, elsewhere, steps=1
    )
    reference = bic(one, likelihood, n)
    seen: list = []
    for mask in [*starts(U, w, leading), *(two_means(y - mean, w, v) for v in vectors[:, -MODES.directions :].T)]:
        if min(w[mask].sum(), w[~mask].sum()) * scale < fewest:
            continue
        if not any(abs((mask == other).mean() - 0.5) > MODES.same - 0.5 for other in seen):
            seen.append(mask)
    followed = [np.where(mask[:, None], [0.9, 0.1], [0.1, 0.9]) for mask in seen]
    mixtures: list[Mixture] = []
    for keep, steps in MODES.rounds:
        tried = []
        for R in followed:
            try:
                two, likelihood, R = expectation_maximization(
                    y, R, floor, family, w * scale, n, elsewhere, steps=steps, fewest=fewest
                )
            except np.linalg.LinAlgError:
                continue
            if len(two) == 2:
                tried.append((bic(two, likelihood, n), two, R))
        tried.sort(key=lambda t: -t[0])
        followed = [R for _, _, R in tried[:keep]]
        mixtures = [two for _, two, _ in tried[:keep]]
    best, chosen = -np.inf, None
    for start in mixtures:
        two, likelihood, _ = expectation_maximization(
            y, start.posteriors(y), floor, family, w * scale, n, elsewhere, steps=MODES.steps, fewest=fewest
        )
        if len(two) == 2 and bic(two, likelihood, n) > best:
            best, chosen = bic(two, likelihood, n), two
    return best - reference, chosen


def inserted(Y, weights, mixture: Mixture, splits: dict, floor, family, fewest):
    """The mixture with some components divided, after a few steps of EM."""
    kept = [k for k in range(len(mixture)) if k not in splits]
    parts = [mixture.joint(Y)[:, kept]]
    for k, (_, two) in splits.items():
        parts.append(log_gaussians(Y, two.means, two.covariances) + np.log(two.shares * mixture.shares[k]))
    joint = np.concatenate(parts, axis=1)
    R = np.exp(joint - joint.max(axis=1, keepdims=True))
    R /= R.sum(axis=1, keepdims=True)
    mixture, likelihood, R = expectation_maximization(
        Y, R, floor, family, weights, steps=MODES.steps, tolerance=1e-3, fewest=fewest
    )
    return mixture, R, bic(mixture, likelihood, weights.sum()), kept


def grow(
    Y: Float[np.ndarray, "n q"],
    floor: Float[np.ndarray, " q"],
    family: str,
    most: int,
    R: Float[np.ndarray, "n k"] | None = None,
    part: float = 1.0,
):
    """A mixture that no split improves, its BIC and its posteriors; `R` are those of a smaller one to go on from.
    Rows that are a part of all stand for all: splits must be worth as much as among these.

    All components whose split promises a good part of the best gain are divided at once, and one alone if that
    fails.
    """
    q, weights = Y.shape[1], np.full(len(Y), 1 / part)
    n = float(weights.sum())
    fewest = float(max(MODES.fewest, (q + 1) if family == "full" else 0))
    start = np.ones((len(Y), 1)) if R is None else R
    mixture, likelihood, R = expectation_maximization(Y, start, floor, family, weights)
    score = bic(mixture, likelihood, n)
    found: list = [None] * len(mixture)
    while len(mixture) < most:
        for k in range(len(mixture)):
            if found[k] is None:
                found[k] = best_split(Y, R[:, k] / part, mixture, k, n, floor, family, fewest)
        gains = np.array([f[0] for f in found])
        if gains.max() <= 0:
            break
        best = int(np.argmax(gains))
        many = [k for k in np.argsort(-gains) if gains[k] > max(0.3 * gains[best], 0.0)][: most - len(mixture)]
        for chosen in [many, [best]] if len(many) > 1 else [[best]]:
            m1, R1, s1, kept = inserted(Y, weights, mixture, {k: found[k] for k in chosen}, floor, family, fewest)
            if len(m1) == len(kept) + 2 * len(chosen) and s1 > score + 0.5 * (
                gains[chosen].sum() if len(chosen) > 1 else 0
            ):
                moved = np.abs(R1[:, : len(kept)] - R[:, kept]).sum(axis=0) / np.maximum(R[:, kept].sum(axis=0), 1)
                found = [found[o] if moved[i] < 0.05 else None for i, o in enumerate(kept)] + [None] * 2 * len(
                    chosen
                )
                mixture, R, score = m1, R1, s1
                break
        else:
            found[best] = (-np.inf, None)
    mixture, likelihood, R = expectation_maximization(
        Y, R, floor, family, weights, steps=100, tolerance=1e-5, fewest=fewest
    )
    return mixture, bic(mixture, likelihood, n), R
