"""Additive maps as modules: for trees with so many paths that a map for each would be too many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.inputs import InputLayer
from disentree.geometry.maps.additive_maps import AdditiveMaps, fit_additive_maps
from disentree.hierarchy import Hierarchy
from disentree.training.data import Source


class AdditiveEncoder(nn.Module):
    """Options by linear logits; variables from what their effects leave."""

    forward_map: Tensor  # (features, continuous)
    effects: Tensor  # (options, continuous): of the options, on the variables
    offset: Tensor  # (continuous)
    weights: Tensor  # (features, options)
    bias: Tensor  # (options)

    def __init__(self, hierarchy: Hierarchy, tensors: Mapping[str, Any]):
        super().__init__()
        for name in ("forward_map", "effects", "offset", "weights", "bias"):
            self.register_buffer(name, torch.as_tensor(np.asarray(tensors[name]), dtype=torch.float32))
        self.mask = HierarchicalMask(hierarchy)

    def forward(self, x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch items"]:
        logits = x @ self.weights + self.bias
        blank = x.new_zeros(len(x), self.forward_map.shape[1])
        a, _ = self.mask.harden(torch.cat([blank, logits], dim=1))
        z = x @ self.forward_map - a @ self.effects + self.offset
        return torch.cat([z, logits], dim=1)


@dataclass(frozen=True)
class AdditiveForm:
    """Additive maps for the features of an input layer."""

    maps: AdditiveMaps
    layer: InputLayer
    hierarchy: Hierarchy

    def autoencoder(self) -> HierarchicalAutoencoder:
        """As a module."""
        maps, layer = self.maps, self.layer
        expansion = layer.expansion.cpu().numpy().astype(np.float64)
        components = layer.components.cpu().numpy().astype(np.float64)
        mean = layer.mean.cpu().numpy().astype(np.float64)
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
        return additive_autoencoder(self.hierarchy, tensors)


def additive_autoencoder(hierarchy: Hierarchy, tensors: Mapping[str, Any]) -> HierarchicalAutoencoder:
    """The autoencoder of these tensors, named as in its `state_dict`."""
    encoder = AdditiveEncoder(hierarchy, {n[8:]: t for n, t in tensors.items() if n.startswith("encoder.")})
    weight, bias = (
        torch.as_tensor(np.asarray(tensors[f"decoder.{n}"]), dtype=torch.float32) for n in ("weight", "bias")
    )
    decoder = nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0])
    decoder.load_state_dict({"weight": weight, "bias": bias})
    return HierarchicalAutoencoder(hierarchy, encoder, decoder)


def fit_additive_form(
    layer: InputLayer, source: Source, hierarchy: Hierarchy, paths: Int[np.ndarray, " n"], rng: np.random.Generator
) -> AdditiveForm:
    """Additive maps of the rows of a source that have a path."""
    X = np.concatenate([np.asarray(block, np.float64) for block in source.blocks()])
    known = paths >= 0
    return AdditiveForm(fit_additive_maps(X[known], hierarchy, paths[known], rng), layer, hierarchy)
