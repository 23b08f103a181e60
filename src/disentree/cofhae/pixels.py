"""Sharp images: a convolutional decoder from codes to pixels.

Codes are learned on a few hundred principal components of the images, which is fast but blurs edges. When they are
learned, they are fixed, and this decoder is trained on the pixels themselves: a regression on a few numbers, which
takes a fraction of the time of training a convolutional autoencoder.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.inputs import InputLayer, channels_first, has_bytes
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint, resume
from disentree.training.data import Source, rows_of
from disentree.training.loop import Diverged, State
from disentree.training.networks import ImageDecoder
from disentree.training.running import Outcome, run_training
from disentree.training.schedules import one_cycle
from disentree.training.session import generator_of, reporter

log = logging.getLogger("disentree.cofhae")

CHECKPOINT = "pixels.safetensors"  # its file, in the folder of the model's checkpoint


class PixelDecoder(nn.Module):
    """From options and continuous variables to the pixels of an image.

    Parameters
    ----------
    config : dict
        "shape" and "dtype" of rows of X, "pixel_scale", "likelihood" ("bernoulli" or "gaussian"), "low", the least
        pixel over `pixel_scale` or 0, and "n_items", how many numbers it is given for a row.
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
        self.network = ImageDecoder(image, n_items, constants.SHARP_CHANNELS, depth=constants.SHARP_DEPTH)
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


@dataclass(frozen=True)
class Images:
    """Some rows of X as the decoder is trained on them: codes, and pixels as they are stored."""

    items: Float[Tensor, "n items"]
    stored: Shaped[Tensor, "n c h w"]
    pixel_scale: float

    @classmethod
    def of(cls, X: Shaped[np.ndarray, "n ..."], items: Float[Tensor, "n items"], pixel_scale: float) -> Images:
        axes = np.argsort(channels_first(X.shape[1:])[1]) + 1
        image = X[:, None] if X.ndim == 3 else X.transpose(0, *axes)
        kept = image if X.dtype == np.uint8 else image.astype(np.float32)
        return cls(items, torch.from_numpy(np.ascontiguousarray(kept)), pixel_scale)

    def __len__(self) -> int:
        return len(self.items)

    def pixels(self, rows: Int[Tensor, " batch"] | slice) -> Float[Tensor, "batch c h w"]:
        """From 0 to 1."""
        return self.stored[rows].to(self.items.device, torch.float32) / self.pixel_scale

    def error(self, decode: Callable[[Float[Tensor, "n items"]], Float[np.ndarray, "n ..."]]) -> float:
        """The squared error of a decoder, per row, in units of `pixel_scale`."""
        total = 0.0
        for start in range(0, len(self), constants.SHARP_BLOCK):
            some = slice(start, start + constants.SHARP_BLOCK)
            decoded = Images.of(decode(self.items[some]), self.items[some], self.pixel_scale)
            total += float((decoded.pixels(slice(None)) - self.pixels(some)).square().sum())
        return total / len(self)


def can_be_sharp(layer: InputLayer) -> bool:
    """Whether rows are images that the decoder is made for, and are not decoded to pixels already."""
    if not layer.is_image or layer.in_pixels or len(layer.shape) > 3:
        return False
    channels, *sides = channels_first(layer.shape)[0]
    return channels <= 4 and min(sides) >= constants.SHARP_SMALLEST


def make_decoder(layer: InputLayer, images: Images, dtype: str, seed: int) -> PixelDecoder:
    """An untrained decoder, with units, mean and likelihood from some images.

    Pixels are Bernoulli if their variance is most of what pixels of 0 and 1 with the same means would have:
    drawings with soft edges are, photographs are not.
    """
    mean, square = torch.zeros(images.stored.shape[1:]), 0.0
    for start in range(0, len(images), constants.SHARP_BLOCK):
        x = images.pixels(slice(start, start + constants.SHARP_BLOCK))
        mean += x.sum(0).cpu() / len(images)
        square += float(x.square().sum()) / len(images)
    low, high = float(images.stored.min()), float(images.stored.max()) / images.pixel_scale
    most = float((mean * (1 - mean)).sum())
    is_binary = low >= 0 and high <= 1 and square - float(mean.square().sum()) > constants.BINARY_SHARE * most
    config = {
        "shape": list(layer.shape),
        "dtype": dtype,
        "pixel_scale": images.pixel_scale,
        "likelihood": "bernoulli" if is_binary else "gaussian",
        "low": min(0.0, low / images.pixel_scale),
        "n_items": images.items.shape[1],
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        decoder = PixelDecoder(config)
    least = constants.PIXEL_PROBABILITY
    decoder.mean.copy_(mean.clamp(least, 1 - least).logit() if is_binary else mean)
    decoder.shift.copy_(images.items.mean(0))
    decoder.scale.copy_(1 / images.items.std(0).clamp_min(1e-3))
    return decoder.to(images.items.device)


def fit_pixels(
    layer: InputLayer,
    source: Source,
    encode: Callable[[Shaped[np.ndarray, "n ..."]], Float[Tensor, "n items"]],
    held: Int[np.ndarray, " m"],
    n_rows: int,
    seed: int,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> tuple[PixelDecoder, Images, Outcome]:
    """Train a decoder on `n_rows` rows, drawn again and again from those that are not held out.

    Returns the decoder, the images to measure it on (those held out, or else some that it was trained on), and how
    the training ended.
    """
    rng = np.random.default_rng(seed)
    left = np.setdiff1d(np.arange(source.n_rows), held)
    row_bytes = math.prod(source.shape) * (1 if source.dtype == np.uint8 else 4)
    most = int(constants.SHARP_BYTES / row_bytes)
    if len(left) > most:
        left = np.sort(rng.choice(left, most, replace=False))
    measured = held if len(held) else np.sort(rng.choice(left, min(len(left), constants.MOST_HELD_OUT), False))
    scale = _scale_of(source)
    images, others = (
        Images.of(X, _in_blocks(encode, X), scale) for X in (rows_of(source, left), rows_of(source, measured))
    )
    decoder = make_decoder(layer, images, str(source.dtype), seed)
    batch_size = min(constants.SHARP_BATCH, len(images))
    batches = TensorBatches(images.items, batch_size, lambda rows: (images.pixels(rows.cpu()),), drop_last=True)
    steps = max(1, n_rows // batch_size)

    def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
        loss = decoder.loss(*batch)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        state.optimizer.step()
        return {"loss": loss}

    # the same codes of the same number of images are of the same images
    about = {
        "training": "pixels",
        "codes": fingerprint([images.items.cpu().numpy()]),
        "seed": seed,
        "steps": steps,
    }
    state = State.start(
        decoder,
        learning_rate=constants.SHARP_RATE,
        schedule=partial(one_cycle, rise=constants.SHARP_RISE),
        steps=steps,
        generator=generator_of(seed),
    )
    save = (lambda state: None) if checkpoint is None else resume(state, CHECKPOINT, about, checkpoint)
    n_epochs = math.ceil(steps / batches.n_batches)
    with reporter(n_epochs, verbose, what="decoder: epoch") as (report, after_batch):
        outcome = run_training(
            state,
            batches,
            step,
            steps,
            device=images.items.device,
            batch_size=batch_size,
            report=report,
            after_batch=after_batch,
            checkpoint=save,
        )
    return decoder.eval().requires_grad_(False), others, outcome


def sharper(
    fit: Callable[[], tuple[PixelDecoder, Images, Outcome]],
    usual: Callable[[Float[Tensor, "n items"]], Float[np.ndarray, "n ..."]],
) -> tuple[PixelDecoder | None, bool]:
    """A decoder if its images are closer to those measured than the usual ones, and whether Ctrl-C ended it."""
    try:
        decoder, images, outcome = fit()
    except Diverged as error:
        log.info("the decoder to pixels %s; images are decoded from principal components", error)
        return None, False
    ours, blurred = images.error(decoder.decode), images.error(usual)
    log.info("squared error of an image: %.3g by the decoder to pixels, %.3g without", ours, blurred)
    return (decoder if ours < blurred else None), outcome.interrupted


def _in_blocks(
    encode: Callable[[Shaped[np.ndarray, "n ..."]], Float[Tensor, "n items"]], X: Shaped[np.ndarray, "n ..."]
) -> Float[Tensor, "n items"]:
    return torch.cat([encode(X[i : i + constants.SHARP_BLOCK]) for i in range(0, len(X), constants.SHARP_BLOCK)])


def _scale_of(source: Source) -> float:
    if has_bytes(source):
        return 255.0
    return max(1.0, *(float(block.max()) for block in source.blocks()))
