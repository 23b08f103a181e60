"""How many dimensions columns of any kind share: parallel analysis (Horn 1965)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.mixed.constants import MIXED
from disentree.tables import Cells, Codec


def weighted_blocks(cells: Cells, codec: Codec, columns: Sequence[int]) -> list[Float[np.ndarray, "n _"]]:
    """Columns with total variance about 1 each (the weights of a factor analysis of mixed data): numbers scaled,
    levels divided by the root of their share."""
    numbers = codec.scaled(cells.numbers)
    p, out = numbers.shape[1], []
    for j in columns:
        if j < p:
            x = np.nan_to_num(numbers[:, [j]])
            deviation = x.std()
            block = (x - x.mean()) / deviation if deviation > 0 else np.zeros((len(cells), 0))
        else:
            levels = np.unique(cells.categories[:, j - p])
            hot = (cells.categories[:, [j - p]] == levels).astype(float)
            share = hot.mean(axis=0)
            block = (hot - share) / np.sqrt(share * max(len(levels) - 1, 1))
            block = block if len(levels) > 1 else block[:, :0]
        if block.shape[1]:
            out.append(block)
    return out


def centered(
    blocks: Sequence[Float[np.ndarray, "n _"]], labels: Int[np.ndarray, " n"]
) -> list[Float[np.ndarray, "n _"]]:
    """Columns without the differences between the means of groups."""
    sizes = np.bincount(labels).clip(1)
    means = [np.stack([np.bincount(labels, x) / sizes for x in block.T], axis=1) for block in blocks]
    return [block - mean[labels] for block, mean in zip(blocks, means, strict=True)]


def shared_dimension(blocks: Sequence[Float[np.ndarray, "n _"]], rng: np.random.Generator, least: int = 1) -> int:
    """Leading principal components with more variance than those of the same columns, each with its rows shuffled;
    at least `least` if there is a column at all."""
    if not blocks:
        return 0
    n = len(blocks[0])
    rows = np.sort(rng.permutation(n)[: FIT.most])
    some = [block[rows] for block in blocks]
    own = _spectrum(np.concatenate(some, axis=1))
    chance = np.max(
        [_spectrum(np.concatenate([rng.permutation(b) for b in some], axis=1)) for _ in range(MIXED.shuffles)],
        axis=0,
    )
    above = own > chance * (1 + 1e-9)
    return max(least, int(np.argmin(above)) if not above.all() else len(above))


def _spectrum(F: Float[np.ndarray, "n f"]) -> Float[np.ndarray, " f"]:
    return np.linalg.eigvalsh(F.T @ F / len(F))[::-1]
