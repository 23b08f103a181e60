"""The hierarchical autoencoder (Algorithm 8): a flat code that is masked from the root down.

The encoder returns one flat vector ``z_pre``: a number for every continuous variable, then a logit for every
option of every categorical. A softmax turns the logits of a categorical into probabilities, and everything
below an option is multiplied by the option's probability, level by level. The product over all options above an
item is a sum of logarithms, so one product with a constant 0/1 matrix masks any hierarchy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from disentree.hierarchy import Hierarchy
from disentree.training.layout import Layout


class Encoding(NamedTuple):
    """What `HierarchicalAutoencoder.encode` gives for a batch."""

    a: Float[Tensor, "batch options"]  # masked probability of every option
    z: Float[Tensor, "batch continuous"]  # masked continuous variables
    mask: Float[Tensor, "batch continuous"]  # how active each continuous variable is, in [0, 1]
    z_pre: Float[Tensor, "batch items"]  # the encoder's output: continuous variables, then logits
    log_p: Float[Tensor, "batch options"]  # log of each option's probability within its categorical


class HierarchicalMask(Layout):
    """Lines 3 to 5 of Algorithm 8: the softmax of every categorical, and the masks below its options."""

    def forward(self, z_pre: Float[Tensor, "batch items"], tau: float) -> Encoding:
        """Algorithm 8 from its third line on; the first two, `z_pre` and where its variables stand, are given."""
        z, logits = z_pre[:, : self.n_continuous], z_pre[:, self.n_continuous :]
        # 3: the options of every categorical pass through a softmax with temperature tau
        log_p = self.log_softmax(logits / tau)
        # 4: everything below an option is multiplied by its probability, from the root down
        mask = (log_p @ self.above_continuous).exp()
        a = (log_p @ self.above_options).exp()
        # 5: discrete a', continuous z, and the mask
        return Encoding(a, z * mask, mask, z_pre, log_p)

    def with_choices(self, code: Encoding, a: Float[Tensor, "batch options"]) -> Encoding:
        """The code that a row has if its options are those of its path: masks that are 0 or 1. Rows without a
        path (NaN) keep their likeliest options, with the gradient of their soft ones."""
        z = code.z_pre[:, : self.n_continuous]
        if not self.n_options:
            return code
        known = ~a.isnan().any(dim=1, keepdim=True)
        likeliest, _ = self.harden(code.z_pre.detach())
        hard = torch.where(known, a, likeliest + code.a - code.a.detach())
        on = torch.where(known, a, likeliest) @ self.above_continuous == self.above_continuous.sum(0)
        return code._replace(a=hard, z=z * on, mask=on.to(z.dtype))

    def harden(
        self, z_pre: Float[Tensor, "batch items"]
    ) -> tuple[Float[Tensor, "batch options"], Bool[Tensor, "batch continuous"]]:
        """The masks as the temperature goes to 0: the likeliest option of each active categorical, and the
        continuous variables that are `on`."""
        logits = z_pre[:, self.n_continuous :]
        if not self.n_options:
            return logits, torch.ones(len(z_pre), self.n_continuous, dtype=torch.bool, device=z_pre.device)
        chosen = torch.zeros_like(logits).scatter_(1, self.spread(logits).argmax(dim=2) + self.first, 1.0)
        on = chosen @ self.above_continuous == self.above_continuous.sum(0)
        a = chosen @ self.above_options == self.above_options.sum(0)
        return a.to(z_pre.dtype), on


class HierarchicalAutoencoder(nn.Module):
    """Any encoder and decoder with the hierarchy between them.

    The encoder must give ``mask.n_items`` numbers for an input (`HierarchicalMask` says which); the decoder is
    given the masked options and then the masked continuous variables, as many numbers again.
    """

    def __init__(self, hierarchy: Hierarchy, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        self.mask = HierarchicalMask(hierarchy)
        self.encoder, self.decoder = encoder, decoder
        self.placement: Any = None  # between the variables of the networks and those of the tree, if they differ

    def place(self, placement: Any) -> None:
        """Follow a tree in which some variables stand higher from now on, for use and not for training."""
        self.mask = HierarchicalMask(placement.move.after).to(self.mask.above_options.device)
        self.placement = placement

    def encode(self, x: Float[Tensor, "batch ..."], tau: float = 1.0) -> Encoding:
        z_pre, n_items = self.encoder(x), (self.placement or self.mask).n_items
        if z_pre.shape[1:] != (n_items,):
            raise ValueError(
                f"encoder must give (batch, {n_items}) numbers, one for each continuous variable and "
                f"each option of the hierarchy; it gave {tuple(z_pre.shape)}"
            )
        return self.mask(z_pre if self.placement is None else self.placement.up(z_pre), tau)

    def encode_hard(
        self, x: Float[Tensor, "batch ..."]
    ) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch continuous"]]:
        """The code at temperature 0, on the path that the encoder finds."""
        z_pre = self.encode(x).z_pre
        a, on = self.mask.harden(z_pre)
        return a, z_pre[:, : self.mask.n_continuous] * on

    def encode_on(
        self, x: Float[Tensor, "batch ..."], paths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch continuous"]]:
        """The code on given paths; on the one that the encoder finds for rows without (-1)."""
        found = self.encode_hard(x)[0] if (paths < 0).any() else 0.0
        a = torch.where((paths >= 0)[:, None], self.mask.path_options().to(x.device)[paths.clamp(min=0)], found)
        values_on: Any = getattr(self.encoder, "values_on", None)  # of maps that differ from path to path
        values = self.encoder(x) if values_on is None else values_on(x, a)
        values = values if self.placement is None else self.placement.up(values, a)
        on = a @ self.mask.above_continuous == self.mask.above_continuous.sum(0)
        return a, values[:, : self.mask.n_continuous] * on

    def decode(
        self, a: Float[Tensor, "batch options"], z: Float[Tensor, "batch continuous"]
    ) -> Float[Tensor, "batch ..."]:
        return self.decoder(self.to_networks(torch.cat([a, z], dim=1)))

    def to_networks(self, items: Tensor) -> Tensor:
        """Options and variables of the tree as the networks know them."""
        return items if self.placement is None else self.placement.down(items)

    def forward(self, x: Float[Tensor, "batch ..."], tau: float = 1.0) -> Float[Tensor, "batch ..."]:
        code = self.encode(x, tau)
        return self.decode(code.a, code.z)


def choices_of(paths: Int[Tensor, " n"], table: Float[Tensor, "paths options"]) -> Float[Tensor, "n options"]:
    """The assignment `a` of each row; rows without a path (-1) get a row of NaN."""
    a = table[paths.clamp(min=0)]
    return torch.where((paths >= 0)[:, None], a, torch.nan)
