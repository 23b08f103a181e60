"""What the categories of a row say about the leaf that it is on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.mixed.constants import MIXED
from disentree.tables import Codec


def fit_evidence(
    categories: Int[np.ndarray, "n q"],
    consulted: Sequence[int],
    log_joint: Float[np.ndarray, "n leaves"],
    codec: Codec,
    rng: np.random.Generator,
) -> list[Float[np.ndarray, "_ _"]]:
    """What each value says about the leaf, as far as it can be trusted: with the power of the likelihood that
    describes held-out rows best."""
    if not consulted or log_joint.shape[1] < 2:
        return []
    n_levels = [len(codec.schema.categorical[j].levels) for j in consulted]
    half = rng.permutation(len(categories)) % 2 == 0

    def tables(rows: Bool[np.ndarray, " n"], power: float) -> list[np.ndarray]:
        joint = log_joint[rows]
        R = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        out = []
        for j, k in zip(consulted, n_levels, strict=True):
            values = categories[rows, j]
            counts = np.stack([R[values == v].sum(axis=0) for v in range(k)]) + 0.0
            overall = (counts.sum(axis=1) + 0.5) / (counts.sum() + 0.5 * k)
            share = (counts + overall[:, None]) / (counts.sum(axis=0) + 1.0)
            mixed = share**power * overall[:, None] ** (1 - power)
            table = np.log(mixed / mixed.sum(axis=0)) - np.log(overall)[:, None]
            out.append(np.concatenate([table, np.zeros((1, R.shape[1]))]))  # the last is for empty cells
        return out

    def gain(power: float) -> float:
        made = tables(half, power)
        joint = log_joint[~half] + sum(t[categories[~half, j]] for j, t in zip(consulted, made, strict=True))
        return float(np.logaddexp.reduce(joint, axis=1).mean())

    best = max(MIXED.powers, key=gain)
    return tables(np.ones(len(categories), bool), best) if best else []
