"""Closed-form encoder and decoder as modules, and when they are enough.

`disentree.geometry.maps` fits an affine map for every path, or one that adds up. Here they become an autoencoder
like any other: its encoder gives variables and logits, its decoder takes options and variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.inputs import InputLayer
from disentree.geometry.maps.additive_maps import AdditiveMaps, fit_additive_maps
from disentree.geometry.maps.given import additive_with_codes, with_codes
from disentree.geometry.maps.linear_maps import HeldOut, LinearMaps, fit_linear_maps
from disentree.geometry.maps.matched import aligned
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.choosing import in_same_unit
from disentree.training.checkpoints import below
from disentree.training.data import Source, rows_of


class PathEncoder(nn.Module):
    """The likeliest path of a row, and its variables by least squares.

    The logit of an option is the log probability of the likeliest path that has it, so that the likeliest options
    are those of the likeliest path.
    """

    means: Tensor  # (paths, features)
    roots: Tensor  # (covariances, features, features): rows times a root are white
    root_of: Tensor  # (paths): which of them is a path's
    log_weights: Tensor  # (paths)
    inverses: Tensor  # (paths, features, continuous): from a row to the variables of a path, 0 where not active
    offsets: Tensor  # (paths, continuous)
    options: Tensor  # (paths, options): 1 for every option on the way to a path

    def __init__(self, arrays: Mapping[str, Any]):
        super().__init__()
        for name in ("means", "roots", "root_of", "log_weights", "inverses", "offsets", "options"):
            self.register_buffer(name, _tensor(arrays[name]))

    def log_joint(self, x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch paths"]:
        out = [
            weight - 0.5 * ((x - mean) @ self.roots[root]).square().sum(1)
            for mean, root, weight in zip(self.means, self.root_of.tolist(), self.log_weights, strict=True)
        ]
        return torch.stack(out, dim=1)

    def forward(self, x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch items"]:
        joint = self.log_joint(x)
        best, path = joint.max(dim=1)
        below = joint - best[:, None]
        logits = [below[:, has == 1].amax(dim=1) for has in self.options.T]
        return torch.cat([self._values(x, path), *(logit[:, None] for logit in logits)], dim=1)

    def values_on(
        self, x: Float[Tensor, "batch features"], a: Float[Tensor, "batch options"]
    ) -> Float[Tensor, "batch continuous"]:
        """The variables of the path with these options."""
        return self._values(x, _path_with(self.options, a))

    def _values(self, x: Float[Tensor, "batch features"], path: Int[Tensor, " batch"]) -> Tensor:
        z = x.new_zeros(len(x), self.offsets.shape[1])
        for p in path.unique().tolist():
            rows = path == p
            z[rows] = x[rows] @ self.inverses[p] + self.offsets[p]
        return z


def _path_with(
    options: Float[Tensor, "paths options"], a: Float[Tensor, "batch options"]
) -> Int[Tensor, " batch"]:
    """The path of which no option is missing."""
    return (a @ options.T - options.sum(1)).argmax(dim=1)


class PathDecoder(nn.Module):
    """An affine map for each path."""

    options: Tensor  # (paths, options)
    means: Tensor  # (paths, features)
    directions: Tensor  # (paths, continuous, features)

    def __init__(self, arrays: Mapping[str, Any]):
        super().__init__()
        for name in ("options", "means", "directions"):
            self.register_buffer(name, _tensor(arrays[name]))

    def forward(self, items: Float[Tensor, "batch items"]) -> Float[Tensor, "batch features"]:
        n_options = self.options.shape[1]
        path = _path_with(self.options, items[:, :n_options])
        out = self.means[path]
        for p in path.unique().tolist():
            rows = path == p
            out[rows] = out[rows] + items[rows, n_options:] @ self.directions[p]
        return out


class AdditiveEncoder(nn.Module):
    """For trees with so many paths that a map for each would be too many: options by linear logits, variables from
    what their effects leave."""

    forward_map: Tensor  # (features, continuous)
    effects: Tensor  # (options, continuous): of the options, on the variables
    offset: Tensor  # (continuous)
    weights: Tensor  # (features, options)
    bias: Tensor  # (options)

    def __init__(self, hierarchy: Hierarchy, arrays: Mapping[str, Any]):
        super().__init__()
        for name in ("forward_map", "effects", "offset", "weights", "bias"):
            self.register_buffer(name, _tensor(arrays[name]))
        self.mask = HierarchicalMask(hierarchy)

    def forward(self, x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch items"]:
        logits = x @ self.weights + self.bias
        blank = x.new_zeros(len(x), self.forward_map.shape[1])
        a, _ = self.mask.harden(torch.cat([blank, logits], dim=1))
        return torch.cat([self.values_on(x, a), logits], dim=1)

    def values_on(
        self, x: Float[Tensor, "batch features"], a: Float[Tensor, "batch options"]
    ) -> Float[Tensor, "batch continuous"]:
        """The variables, given the options."""
        return x @ self.forward_map - a @ self.effects + self.offset


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.clone()
    array = np.ascontiguousarray(values)
    return torch.from_numpy(array.astype(np.int64 if array.dtype.kind in "iu" else np.float32))


def linear_autoencoder(hierarchy: Hierarchy, tensors: Mapping[str, Any]) -> HierarchicalAutoencoder:
    """The autoencoder of these tensors, named as in its `state_dict`."""
    inner, outer = below(tensors, "encoder."), below(tensors, "decoder.")
    encoder = AdditiveEncoder(hierarchy, inner) if "forward_map" in inner else PathEncoder(inner)
    if "weight" not in outer:
        return HierarchicalAutoencoder(hierarchy, encoder, PathDecoder(outer))
    weight, bias = _tensor(outer["weight"]), _tensor(outer["bias"])
    decoder = nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0])
    decoder.load_state_dict({"weight": weight, "bias": bias})
    return HierarchicalAutoencoder(hierarchy, encoder, decoder)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates in which squared distances are errors of the columns of X, each in its own unit if they differ.

    `to` takes features of the input layer there, `back` is its inverse.
    """

    to: Float[np.ndarray, "r r"]
    back: Float[np.ndarray, "r r"]

    @property
    def squares(self) -> Float[np.ndarray, " r"]:
        """The squared error of the columns for a unit of each feature."""
        return np.square(self.to).sum(axis=1)

    @classmethod
    def of(cls, layer: InputLayer, F: Float[np.ndarray, "n r"]) -> Coordinates:
        expansion = layer.expansion.cpu().numpy().astype(np.float64)
        columns = F[:: max(1, len(F) // constants.UNIT_ROWS)] @ expansion
        ranges, deviation = np.ptp(columns, axis=0), columns.std(axis=0)
        varies = ranges > constants.RANK_TOLERANCE * max(float(ranges.max()), 1e-300)
        if not in_same_unit(ranges[varies]):
            expansion = expansion[:, varies] / deviation[varies]
        to = np.asarray(np.linalg.qr(expansion.T, mode="r")).T
        return cls(to, np.linalg.pinv(to))


@dataclass(frozen=True)
class AdditiveForm:
    """Additive maps for the features of an input layer."""

    maps: AdditiveMaps
    layer: InputLayer

    def autoencoder(self) -> HierarchicalAutoencoder:
        """As a module."""
        maps, layer = self.maps, self.layer
        expansion, components, mean = (
            tensor.cpu().numpy().astype(np.float64) for tensor in (layer.expansion, layer.components, layer.mean)
        )
        decoder = np.concatenate([maps.effects, maps.directions]) @ components
        tensors = {
            "encoder.forward_map": expansion @ maps.forward,
            "encoder.effects": maps.effects @ maps.forward,
            "encoder.offset": (mean - maps.base) @ maps.forward,
            "encoder.weights": expansion @ maps.weights,
            "encoder.bias": mean @ maps.weights + maps.bias,
            "decoder.weight": decoder.T,
            "decoder.bias": (maps.base - mean) @ components,
        }
        return linear_autoencoder(maps.hierarchy, tensors)


def fit_additive_form(
    layer: InputLayer,
    source: Source,
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    wanted: Float[np.ndarray, "n v"] | None = None,
) -> AdditiveForm:
    """Additive maps of the rows of a source that have a path, with the variables of some codes of theirs."""
    X = np.concatenate([np.asarray(block, np.float64) for block in source.blocks()])
    known = paths >= 0
    maps = fit_additive_maps(X[known], hierarchy, paths[known], rng)
    if wanted is not None:
        maps = additive_with_codes(maps, X[known], paths[known], wanted[known])
    return AdditiveForm(maps, layer)


@dataclass(frozen=True)
class ClosedForm:
    """A map for each path, for the features of an input layer."""

    maps: LinearMaps
    held_out: HeldOut
    coordinates: Coordinates
    layer: InputLayer

    def autoencoder(self) -> HierarchicalAutoencoder:
        """As a module."""
        maps, to, back = self.maps, self.coordinates.to, self.coordinates.back
        inverses = np.zeros((len(maps.means), len(to), len(maps.items.columns)))
        for path, active in enumerate(maps.items.continuous):
            if active.any():
                inverses[path][:, active] = to @ np.linalg.pinv(maps.directions[path][active], rcond=1e-9)
        centers = maps.means @ back
        tensors: dict[str, Any] = {
            "encoder.means": maps.model.means @ back,
            "encoder.roots": to @ maps.model.roots,
            "encoder.root_of": maps.model.root_of,
            "encoder.log_weights": maps.model.log_weights,
            "encoder.inverses": inverses,
            "encoder.offsets": -np.einsum("pr,prk->pk", centers, inverses),
            "encoder.options": maps.items.options,
        }
        if maps.additive is not None:
            weight = np.concatenate([maps.additive.effects, maps.additive.directions]) @ back
            tensors |= {"decoder.weight": weight.T, "decoder.bias": maps.additive.base @ back}
        else:
            tensors |= {
                "decoder.options": maps.items.options,
                "decoder.means": centers,
                "decoder.directions": maps.directions @ back,
            }
        return linear_autoencoder(maps.hierarchy, tensors)


def fit_closed_form(
    layer: InputLayer,
    source: Source,
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    held: Int[np.ndarray, " m"] | None = None,
    matches: Sequence[Sequence[int]] = (),
    wanted: Float[np.ndarray, "n v"] | None = None,
) -> ClosedForm | None:
    """Maps of the rows of a source, or of a sample of them; None if no row has a path.

    `held`: rows to measure them on. `matches`: columns that are the same variable on different branches. `wanted`:
    codes of the rows whose variables the maps get.
    """
    most = max(constants.FEWEST_MAP_ROWS, int(constants.MAP_NUMBERS / max(1, layer.n_features)))
    chosen = np.arange(source.n_rows)
    if source.n_rows > most:
        chosen = np.sort(rng.choice(source.n_rows, most, replace=False))
        chosen = chosen if held is None else np.union1d(chosen, held)
    if (paths[chosen] >= 0).sum() < 2:
        return None
    features = layer.prepare(rows_of(source, chosen)).cpu().numpy().astype(np.float64)
    coordinates = Coordinates.of(layer, features)
    own = (
        None if held is None else np.intersect1d(np.searchsorted(chosen, held), np.flatnonzero(paths[chosen] >= 0))
    )
    Y, on = features @ coordinates.to, paths[chosen]
    maps, measured = fit_linear_maps(Y, hierarchy, on, rng, own)
    maps = aligned(maps, matches)
    if wanted is not None:
        known = on >= 0
        maps = with_codes(maps, Y[known], on[known], wanted[chosen][known])
    return ClosedForm(maps, measured, coordinates, layer)


def are_enough(found: HeldOut, n_rows: int) -> bool:
    """Whether networks have nothing to gain: the leaves are flat and told apart, or rows are few."""
    is_flat = found.bend < constants.BENT
    return n_rows < constants.NETWORK_ROWS or (is_flat and found.agreement >= constants.TOLD_APART)
