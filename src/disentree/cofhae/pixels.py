"""The convolutional decoder from codes to pixels, which `fitting/sharpening.py` trains."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from disentree.cofhae.inputs import channels_first
from disentree.training.networks import sharp_decoder


class PixelDecoder(nn.Module):
    """From options and continuous variables to the pixels of an image.

    `config` has "shape" and "dtype" of rows of X, "pixel_scale", "likelihood" ("bernoulli" or "gaussian"), "low",
    the least pixel over `pixel_scale` or 0, "n_items", how many numbers it is given for a row, and "loss_of_mean",
    that of the mean image.
    """

    shift: Tensor  # (items): subtracted first
    scale: Tensor  # (items): then multiplied
    mean: Tensor  # (c, h, w): of the pixels, or its logit; the network learns the difference from it

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.config = config
        self.shape: tuple[int, ...] = tuple(config["shape"])
        self.pixel_scale: float = config["pixel_scale"]
        self.likelihood: str = config["likelihood"]
        self.low: float = config.get("low", 0.0)
        image, n_items = cast(tuple[int, int, int], channels_first(self.shape)[0]), config["n_items"]
        self.network = sharp_decoder(image, n_items)
        self.register_buffer("shift", torch.zeros(n_items))
        self.register_buffer("scale", torch.ones(n_items))
        self.register_buffer("mean", torch.zeros(image))

    @classmethod
    def from_weights(cls, config: dict[str, Any], weights: dict[str, Tensor]) -> PixelDecoder:
        """The decoder whose `state_dict` this is."""
        with torch.random.fork_rng(devices=[]):
            decoder = cls(config)
        decoder.load_state_dict(weights)
        return decoder.eval()

    def forward(self, items: Float[Tensor, "batch items"]) -> Float[Tensor, "batch c h w"]:
        """Logits, or means."""
        return self.network((items - self.shift) * self.scale) + self.mean

    @torch.no_grad()
    def decode(self, items: Float[Tensor, "batch items"]) -> Float[np.ndarray, "batch ..."]:
        """Images in the shape and units of X."""
        out = self(items)
        out = out.sigmoid() if self.likelihood == "bernoulli" else out.clamp(self.low, 1)
        image = out.cpu().numpy().transpose(0, *channels_first(self.shape)[1]).reshape(len(items), *self.shape)
        dtype = np.float64 if self.config["dtype"] == "float64" else np.float32
        return image.astype(dtype) * self.pixel_scale

    def loss(self, items: Float[Tensor, "batch items"], x: Float[Tensor, "batch c h w"]) -> Tensor:
        """Mean over rows of the negative log likelihood, up to a constant; of variance 1 if it is Gaussian."""
        if self.likelihood == "bernoulli":
            return nn.functional.binary_cross_entropy_with_logits(self(items), x, reduction="sum") / len(x)
        return (self(items) - x).square().sum() / len(x)
