"""The hierarchical autoencoder (Algorithm 8): a flat code that is masked from the root down.

The encoder returns one flat vector ``z_pre``: a number for every continuous variable, then a logit for every
option of every categorical. A softmax turns the logits of a categorical into probabilities, and everything
below an option is multiplied by the option's probability, level by level. The product over all options above an
item is a sum of logarithms, so one product with a constant 0/1 matrix masks any hierarchy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.hierarchy import Hierarchy


class Encoding(NamedTuple):
    """What `HierarchicalAutoencoder.encode` gives for a batch."""

    a: Float[Tensor, "batch options"]  # masked probability of every option
    z: Float[Tensor, "batch continuous"]  # masked continuous variables
    mask: Float[Tensor, "batch continuous"]  # how active each continuous variable is, in [0, 1]
    z_pre: Float[Tensor, "batch items"]  # the encoder's output: continuous variables, then logits
    log_p: Float[Tensor, "batch options"]  # log of each option's probability within its categorical


class HierarchicalMask(nn.Module):
    """Where the variables of a hierarchy stand in the flat vector, and which options open them.

    Continuous variables come first, then the options of the categoricals, both in the order of the columns of
    a code array.
    """

    above_continuous: Tensor  # (options, continuous): 1 where the option must be chosen for the variable
    above_options: Tensor  # (options, options): likewise for an option, itself included
    grid: Tensor  # (categoricals * most options): the flat option in each place, n_options where there is none
    place: Tensor  # (options): the place of each option in that grid
    first: Tensor  # (categoricals): the first option of each categorical

    def __init__(self, hierarchy: Hierarchy):
        super().__init__()
        variables = hierarchy.variables
        if not variables:
            raise ValueError("hierarchy must have at least one variable")
        self.hierarchy = hierarchy
        self.continuous = [v.index for v in variables if v.kind == "continuous"]
        self.categoricals = [v.index for v in variables if v.kind == "categorical"]
        self.option_of = {}  # (column of the categorical, option) -> place in the flat vector of options
        for c in self.categoricals:
            for k in range(variables[c].n_options):
                self.option_of[c, k] = len(self.option_of)
        n_options = len(self.option_of)

        above_continuous = np.zeros((n_options, len(self.continuous)), dtype=np.float32)
        above_options = np.eye(n_options, dtype=np.float32)
        for i, column in enumerate(self.continuous):
            above_continuous[self.options_above(column), i] = 1
        for (column, _), o in self.option_of.items():
            above_options[self.options_above(column), o] = 1

        most = max((variables[c].n_options for c in self.categoricals), default=0)
        grid = np.full((len(self.categoricals), most), n_options)
        for i, c in enumerate(self.categoricals):
            k = np.arange(variables[c].n_options)
            grid[i, k] = self.option_of[c, 0] + k
        place = np.zeros(n_options, dtype=np.int64)
        place[grid[grid < n_options]] = np.flatnonzero(grid < n_options)

        self.most_options = most
        self.n_continuous, self.n_options = len(self.continuous), n_options
        self.n_items = self.n_continuous + n_options
        for name, array in {
            "above_continuous": above_continuous,
            "above_options": above_options,
            "grid": grid.ravel(),
            "place": place,
            "first": np.array([self.option_of[c, 0] for c in self.categoricals], dtype=np.int64),
        }.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)

    def options_above(self, column: int) -> list[int]:
        """Flat indices of the options that lead to a variable, root first."""
        variable, chain = self.hierarchy.variables[column], []
        while variable.parent is not None and variable.option is not None:
            chain.append(self.option_of[variable.parent, variable.option])
            variable = self.hierarchy.variables[variable.parent]
        return chain[::-1]

    def path_options(self) -> Float[Tensor, "paths options"]:
        """1 for every option on the way to each path: the `a` of a point that is assigned to it."""
        out = torch.zeros(len(self.hierarchy.paths), self.n_options)
        for path in self.hierarchy.paths:
            out[path.index, [self.option_of[choice] for choice in path.choices]] = 1
        return out

    def forward(self, z_pre: Float[Tensor, "batch items"], tau: float) -> Encoding:
        """Soft masks at temperature `tau`."""
        z, logits = z_pre[:, : self.n_continuous], z_pre[:, self.n_continuous :]
        if not self.n_options:
            return Encoding(logits, z, torch.ones_like(z), z_pre, logits)
        log_p = (
            self._spread(logits / tau).log_softmax(dim=2).flatten(1)[:, self.place].clamp(min=constants.LOG_ZERO)
        )
        mask = (log_p @ self.above_continuous).exp()
        a = (log_p @ self.above_options).exp()
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

    def _spread(self, logits: Float[Tensor, "batch options"]) -> Float[Tensor, "batch categoricals most"]:
        """Logits on a grid with a row for each categorical, so that all of them are treated at once."""
        blank = logits.new_full((len(logits), 1), -torch.inf)
        return torch.cat([logits, blank], dim=1)[:, self.grid].view(len(logits), -1, self.most_options)

    def harden(
        self, z_pre: Float[Tensor, "batch items"]
    ) -> tuple[Float[Tensor, "batch options"], Bool[Tensor, "batch continuous"]]:
        """The masks as the temperature goes to 0: the likeliest option of each active categorical, and the
        continuous variables that are `on`."""
        logits = z_pre[:, self.n_continuous :]
        if not self.n_options:
            return logits, torch.ones(len(z_pre), self.n_continuous, dtype=torch.bool, device=z_pre.device)
        chosen = torch.zeros_like(logits).scatter_(1, self._spread(logits).argmax(dim=2) + self.first, 1.0)
        on = chosen @ self.above_continuous == self.above_continuous.sum(0)
        a = chosen @ self.above_options == self.above_options.sum(0)
        return a.to(z_pre.dtype), on

    def to_codes(
        self, a: Float[Tensor, "batch options"], z: Float[Tensor, "batch continuous"]
    ) -> Float[np.ndarray, "batch v"]:
        """Codes, NaN where inactive, from hard options and continuous values."""
        chosen = a.cpu().numpy().astype(np.float64)
        on = chosen @ self.above_continuous.cpu().numpy() == self.above_continuous.sum(0).cpu().numpy()
        codes = np.full((len(chosen), self.hierarchy.n_variables), np.nan)
        codes[:, self.continuous] = np.where(on, z.cpu().numpy(), np.nan)
        for (column, k), o in self.option_of.items():
            codes[chosen[:, o] == 1, column] = k
        return codes

    def from_codes(
        self, codes: ArrayLike
    ) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch continuous"]]:
        """Hard options and continuous values, 0 where inactive, from any valid codes."""
        array = self.hierarchy.validate(codes)
        a = np.zeros((len(array), self.n_options), dtype=np.float32)
        for (column, k), o in self.option_of.items():
            a[:, o] = array[:, column] == k
        z = np.nan_to_num(array[:, self.continuous]).astype(np.float32)
        device = self.above_options.device
        return torch.from_numpy(a).to(device), torch.from_numpy(z).to(device)


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
