"""Whether new rows are spread over the leaves as the training rows are, and described as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from disentree.mimosa.explain.formatting import counted, share_text


@dataclass(frozen=True)
class Told:
    """What is known about some rows: their paths, -1 for none, their bits, and whether they fit nowhere."""

    paths: Int[np.ndarray, " n"]
    bits: Float[np.ndarray, " n"]
    nowhere: Bool[np.ndarray, " n"]

    def counts(self, k: int) -> Int[np.ndarray, " k1"]:
        """Rows of each of k paths that fit there, and last those that fit nowhere."""
        on = (self.paths >= 0) & ~self.nowhere
        return np.append(np.bincount(self.paths[on], minlength=k), self.nowhere.sum())


@dataclass(frozen=True, eq=False)
class Drift:
    """What changed beyond chance; `print` tells it in words.

    Attributes
    ----------
    table : DataFrame
        For each leaf, and at last "nowhere" for rows that fit no leaf: `share_before` and `share` of the training
        rows and the new ones, `bits` (how many more a new row takes than training rows on the same leaf, by their
        medians), `p_share` and `p_bits` (how likely chance alone differs so much), and `share_changed` and
        `bits_changed`.
    rows : int
        New rows.
    level : float
        The chance that anything is told to have changed where nothing did, at most.
    """

    table: Any
    rows: int
    level: float

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return bool(self.table["share_changed"].any() or self.table["bits_changed"].any())

    @property
    def sentences(self) -> list[str]:
        """What changed, sentence by sentence."""
        new = counted(self.rows, "new row")
        if not self.changed:
            return [f"Nothing changed beyond chance in {new}."]
        out = [f"Changed beyond chance in {new} (in {self.level:.0%} of all cases without a change something is):"]
        for one in self.table.itertuples():
            now, before = share_text(one.share), share_text(one.share_before)
            if one.share_changed and one.Index == len(self.table) - 1:
                out.append(f"{now} of rows fit nowhere, {before} of training rows did.")
            elif one.share_changed:
                out.append(f"“{one.leaf}” has {now} of rows, and had {before}.")
            if one.bits_changed:
                more = "more" if one.bits > 0 else "fewer"
                kind = "stranger" if one.bits > 0 else "more usual"
                what = f"a row takes {abs(one.bits):.1f} bits {more} than training rows do"
                out.append(f"Rows on “{one.leaf}” are {kind}: {what}.")
        return out

    def __str__(self) -> str:
        first, *rest = self.sentences
        return "\n".join([first, *(f"- {sentence}" for sentence in rest)])


def drift_of(before: Told, now: Told, names: Sequence[str], held_out: float, level: float) -> Drift:
    """What changed between training rows and new ones. `held_out` is how many bits more a row takes that a model
    was not fitted to, so that new rows are not strange for being new.

    Shares are compared by Fisher's exact test, bits of the rows of a leaf by ranks (Mann and Whitney); Holm's
    correction is over all of these tests.
    """
    import pandas as pd

    k = len(names)
    counts = [told.counts(k) for told in (before, now)]
    totals = [max(int(own.sum()), 1) for own in counts]
    told = []
    for leaf in range(k + 1):
        a, b = (int(own[leaf]) for own in counts)
        found: Any = stats.fisher_exact([[a, totals[0] - a], [b, totals[1] - b]])
        p_share = float(found[1])
        bits, p_bits = np.nan, 1.0
        if leaf < k and a and b:
            old, new = (t.bits[(t.paths == leaf) & ~t.nowhere] for t in (before, now))
            # a leaf has as many numbers to fit as any other, and those of few rows fit these better
            more = held_out * len(before.paths) / (k * len(old))
            bits = float(np.median(new) - np.median(old) - more)
            p_bits = _stranger(old, new, more)
        name = names[leaf] if leaf < k else "nowhere"
        told.append((name, a / totals[0], b / totals[1], bits, p_share, p_bits))
    columns = ("leaf", "share_before", "share", "bits", "p_share", "p_bits")
    table = pd.DataFrame([dict(zip(columns, one, strict=True)) for one in told])
    p = np.concatenate([table["p_share"], table["p_bits"]])
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    changed = np.zeros(len(p), bool)
    changed[order] = steps <= level
    table["share_changed"], table["bits_changed"] = changed[: k + 1], changed[k + 1 :]
    return Drift(table, len(now.paths), level)


def _stranger(old: Float[np.ndarray, " n"], new: Float[np.ndarray, " m"], more: float) -> float:
    """How likely chance alone makes the bits of new rows differ so much from those of old ones, which take so many
    fewer for having been fitted: as many as that are in doubt, too."""
    order = np.sort(old)

    def rank(bits: Float[np.ndarray, " m"]) -> float:
        below = np.searchsorted(order, bits, "left") + np.searchsorted(order, bits, "right")
        return float(below.mean() / (2 * len(order)))

    middle = rank(new - more)
    error = np.sqrt((1 / len(old) + 1 / len(new)) / 12 + (rank(new) - middle) ** 2)
    return float(2 * stats.norm.sf(abs(middle - 0.5) / error))
