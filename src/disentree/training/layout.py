"""Where the variables of a hierarchy stand in the flat vector of Algorithm 8, and how codes are written there."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor, nn

from disentree.hierarchy import Hierarchy

LOG_ZERO = -80.0  # the logarithm of a probability that float32 cannot tell from 0 beside 1


class Layout(nn.Module):
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

    def spread(self, logits: Float[Tensor, "batch options"]) -> Float[Tensor, "batch categoricals most"]:
        """Logits on a grid with a row for each categorical, so that all of them are treated at once."""
        blank = logits.new_full((len(logits), 1), -torch.inf)
        return torch.cat([logits, blank], dim=1)[:, self.grid].view(len(logits), -1, self.most_options)

    def log_softmax(self, logits: Float[Tensor, "batch options"]) -> Float[Tensor, "batch options"]:
        """The logarithm of each option's probability within its categorical."""
        if not self.n_options:
            return logits
        return self.spread(logits).log_softmax(dim=2).flatten(1)[:, self.place].clamp(min=LOG_ZERO)

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
