"""Codes in which a variable stands once above several branches, for networks that have it on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalMask
from disentree.hierarchy import Move

# For each column of codes some of its values, ascending, and those that they have as a shared variable.
Knots = Mapping[int, tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]]


class Placement(nn.Module):
    """Between the flat vector of the networks and that of the tree in which variables were moved up.

    The value of a shared variable follows from that of its branch along straight lines between knots, and the
    other way round.
    """

    target: Tensor  # (own): the variable of the tree that each variable of the networks is
    above: Tensor  # (options, own): 1 where the option must be chosen for a variable of the networks
    counts: Tensor  # (categoricals): their options
    own: Tensor  # (own, knots): values of the networks, ascending
    shared: Tensor  # (own, knots): what these are in the tree, ascending or descending
    rising: Tensor  # (2, own, knots): both, so that the shared ones ascend

    def __init__(self, arrays: Mapping[str, Any], move: Move | None = None):
        super().__init__()
        self.move = move
        for name in ("target", "above", "counts", "own", "shared"):
            self.register_buffer(name, torch.as_tensor(arrays[name]), persistent=name in ("own", "shared"))
        down = self.shared[:, :1] > self.shared[:, -1:]
        ascending = [torch.where(down, knots.flip(1), knots) for knots in (self.shared, self.own)]
        self.register_buffer("rising", torch.stack(ascending), persistent=False)
        self.n_own, self.n_options = self.above.shape[1], self.above.shape[0]
        self.n_placed = 1 + int(self.target.max()) if self.n_own else 0

    @classmethod
    def of(cls, move: Move, knots: Knots) -> Placement:
        """That of a move, with the knots of the columns that get other values."""
        columns = [v.index for v in move.before.variables if v.kind == "continuous"]
        plain = np.linspace(-1.0, 1.0, constants.EFFECT_KNOTS)
        both = np.array([knots.get(column, (plain, plain)) for column in columns], dtype=np.float32)
        return cls.along(move, *(torch.from_numpy(both[:, i].copy()) for i in range(2)))

    @classmethod
    def along(cls, move: Move, own: Float[Tensor, "own knots"], shared: Float[Tensor, "own knots"]) -> Placement:
        """That of a move, with the knots of all variables of the networks."""
        before, after = HierarchicalMask(move.before), HierarchicalMask(move.after)
        n = before.n_continuous
        moves = shared.diff(dim=1)
        way = (moves > 0).all(dim=1) | (moves < 0).all(dim=1)
        if len(own) != n or own.shape != shared.shape or not ((own.diff(dim=1) > 0).all(dim=1) & way).all():
            raise ValueError(f"knots must be of {n} variables, rising or falling")
        arrays = {
            "target": torch.tensor([after.continuous.index(move.columns([c])[0]) for c in before.continuous]),
            "above": before.above_continuous,
            "counts": torch.tensor([move.before.variables[c].n_options for c in before.categoricals]),
            "own": own,
            "shared": shared,
        }
        return cls(arrays, move)

    @property
    def n_items(self) -> int:
        """Of the networks."""
        return self.n_own + self.n_options

    def up(
        self, items: Float[Tensor, "batch own_items"], a: Float[Tensor, "batch options"] | None = None
    ) -> Float[Tensor, "batch items"]:
        """What the encoder gives as it gives it for the tree: variables, then logits. Shared variables have the
        value of the branch that is chosen by the options, or by the logits."""
        z, logits = items[:, : self.n_own], items[:, self.n_own :]
        on = self._on(self._chosen(logits) if a is None else a)
        moved = _bent(z, self.own, self.shared) * on
        placed = z.new_zeros(len(z), self.n_placed).index_add(1, self.target, moved)
        return torch.cat([placed, logits], dim=1)

    def down(self, items: Float[Tensor, "batch items"]) -> Float[Tensor, "batch own_items"]:
        """What the decoder is given for the tree, options and then variables, as it takes it."""
        a, z = items[:, : self.n_options], items[:, self.n_options :]
        own = _bent(z[:, self.target], self.rising[0], self.rising[1]) * self._on(a)
        return torch.cat([a, own], dim=1)

    def _on(self, a: Float[Tensor, "batch options"]) -> Bool[Tensor, "batch own"]:
        return a @ self.above == self.above.sum(0)

    def _chosen(self, logits: Float[Tensor, "batch options"]) -> Float[Tensor, "batch options"]:
        parts = logits.split(self.counts.tolist(), dim=1)
        hot = [nn.functional.one_hot(part.argmax(1), part.shape[1]) for part in parts]
        return torch.cat(hot, dim=1).to(logits.dtype) if hot else logits


def _bent(
    x: Float[Tensor, "batch own"], start: Float[Tensor, "own knots"], end: Float[Tensor, "own knots"]
) -> Float[Tensor, "batch own"]:
    """Along straight lines between knots, of which the first and the last go on."""
    at = (x[:, :, None] >= start[:, 1:-1]).sum(2)
    column = torch.arange(x.shape[1], device=x.device)
    slopes = end.diff(dim=1) / start.diff(dim=1)
    return end[column, at] + slopes[column, at] * (x - start[column, at])


def knots_of(
    codes: Float[np.ndarray, "n v"], same: Sequence[Sequence[int]], signs: Mapping[int, int]
) -> dict[int, tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]]:
    """The knots of columns that are one variable: its values are those of the branch with most rows, and on the
    others those below which the same part of the rows lies."""
    levels = np.linspace(*constants.EFFECT_LEVELS, constants.EFFECT_KNOTS)
    out = {}
    for columns in same:
        known = {c: codes[~np.isnan(codes[:, c]), c] for c in columns}
        reference = max(columns, key=lambda c: (len(known[c]), -c))
        values = _ascending(np.quantile(known[reference], levels))
        for c in columns:
            if c == reference or not len(known[c]):
                out[c] = values, values
            else:
                turned = signs[c] != signs[reference]
                out[c] = _ascending(np.quantile(known[c], levels)), values[::-1] if turned else values
    return out


def _ascending(values: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """Values that never stand still, so that there is a way back."""
    least = constants.RANK_TOLERANCE + 1e-4 * float(np.ptp(values))
    return values + least * np.arange(len(values))
