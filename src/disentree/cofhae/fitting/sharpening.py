"""Sharp images: training the convolutional decoder from codes to pixels.

Codes are learned on a few hundred principal components of the images, which is fast but blurs edges. When they are
learned, this decoder is trained on the pixels themselves: first as a regression on the codes, then together with
the encoder and the embedding before it, which learn from pixels what blurred images do not show. Codes are held
close to where they were. It takes a fraction of the time of training a convolutional autoencoder from the start.
"""

from __future__ import annotations

import copy
import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder
from disentree.cofhae.fitting.losses import log_assignment_loss, target_loss
from disentree.cofhae.inputs import InputLayer, channels_first, has_bytes
from disentree.cofhae.pixels import PixelDecoder
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint, resume
from disentree.training.data import Source, rows_of
from disentree.training.loop import Diverged, State
from disentree.training.running import Outcome, run_training
from disentree.training.schedules import one_cycle
from disentree.training.session import generator_of, reporter

log = logging.getLogger("disentree.cofhae")

# from `InputLayer.to_components` to images in the shape and units of X
Restore = Callable[[Float[Tensor, "n ..."]], Float[np.ndarray, "n ..."]]

CHECKPOINT = "pixels.safetensors"  # its file, in the folder of the model's checkpoint


@dataclass(frozen=True)
class Images:
    """Some rows of X: `InputLayer.to_components` of them, and pixels as they are stored."""

    inputs: Float[Tensor, "n ..."]
    stored: Shaped[Tensor, "n c h w"]
    pixel_scale: float

    @classmethod
    def of(cls, X: Shaped[np.ndarray, "n ..."], inputs: Float[Tensor, "n ..."], pixel_scale: float) -> Images:
        axes = np.argsort(channels_first(X.shape[1:])[1]) + 1
        image = X[:, None] if X.ndim == 3 else X.transpose(0, *axes)
        kept = image if X.dtype == np.uint8 else image.astype(np.float32)
        return cls(inputs, torch.from_numpy(np.ascontiguousarray(kept)), pixel_scale)

    def __len__(self) -> int:
        return len(self.stored)

    def pixels(self, rows: Int[Tensor, " batch"] | slice) -> Float[Tensor, "batch c h w"]:
        """From 0 to 1."""
        return self.stored[rows].to(self.inputs.device, torch.float32) / self.pixel_scale

    def only(self, rows: Int[np.ndarray, " m"]) -> Images:
        """Some of them."""
        return Images(self.inputs[rows], self.stored[rows], self.pixel_scale)

    def error(self, restore: Restore) -> float:
        """The squared error per row, in units of `pixel_scale`, of images made from `inputs`."""
        total = 0.0
        for start in range(0, len(self), constants.SHARP_BLOCK):
            some = slice(start, start + constants.SHARP_BLOCK)
            restored = Images.of(restore(self.inputs[some]), self.inputs[some], self.pixel_scale)
            total += float((restored.pixels(slice(None)) - self.pixels(some)).square().sum())
        return total / len(self)


class SharpAutoencoder(nn.Module):
    """The encoder and the hierarchy of another autoencoder, the embedding that its input comes from, if there is
    one, and a decoder to pixels."""

    def __init__(self, layer: InputLayer, hae: HierarchicalAutoencoder, decoder: PixelDecoder):
        super().__init__()
        self.encoder, self.decoder = copy.deepcopy(hae.encoder).requires_grad_(True), decoder
        self.embedding = copy.deepcopy(layer.network)
        if self.embedding is not None:
            self.embedding.encoder.requires_grad_(True)
        self.mask = hae.mask
        self._to_input = partial(layer.from_components, network=self.embedding)

    def refined(self) -> nn.Module:
        """What has been trained before."""
        parts = [self.encoder] if self.embedding is None else [self.encoder, self.embedding.encoder]
        return nn.ModuleList(parts)

    def encode(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch z"]:
        """Numbers of the hierarchy before choices are made, from `InputLayer.to_components`."""
        return self.encoder(self._to_input(x))

    def items(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch items"]:
        """Hard options, and continuous variables."""
        z_pre = self.encode(x)
        a, on = self.mask.harden(z_pre)
        return torch.cat([a, z_pre[:, : self.mask.n_continuous] * on], dim=1)

    @torch.no_grad()
    def restore(self, x: Float[Tensor, "batch ..."]) -> Float[np.ndarray, "batch ..."]:
        """Images in the shape and units of X."""
        return self.decoder.decode(self.items(x))

    def loss(
        self,
        x: Float[Tensor, "batch ..."],
        image: Float[Tensor, "batch c h w"],
        a: Float[Tensor, "batch options"],
        target: Float[Tensor, "batch continuous"],
        unit: Float[Tensor, " continuous"],
        free: bool,
    ) -> dict[str, Tensor]:
        """The loss of pixels, in nats or squared error, with a hold on codes: options as they were, and variables
        within a slack, in a `unit` for each, around their targets (NaN where a variable is not there).

        Codes change only if they are `free`.
        """
        with torch.set_grad_enabled(free):
            code = self.mask(self.encode(x), 1.0)
            own = self.mask.with_choices(code, a)
        pixels = self.decoder.loss(torch.cat([a, own.z], dim=1), image)
        slack = torch.full((len(x),), constants.SHARP_SLACK, device=x.device)
        weight = torch.ones_like(target)
        held = target_loss(code.z_pre[:, : self.mask.n_continuous] / unit, target / unit, weight, slack)
        options = log_assignment_loss(code, a)
        worth = self.decoder.config["loss_of_mean"]
        loss = pixels + worth * (constants.SHARP_HOLD * held + constants.SHARP_OPTIONS * options)
        return {"loss": loss, "pixels": pixels, "held": held}


def can_be_sharp(layer: InputLayer) -> bool:
    """Whether rows are images that the decoder is made for, and are not decoded to pixels already."""
    if not layer.is_image or layer.in_pixels or len(layer.shape) > 3:
        return False
    channels, *sides = channels_first(layer.shape)[0]
    return channels <= 4 and min(sides) >= constants.SHARP_SMALLEST


def make_decoder(
    layer: InputLayer, images: Images, items: Float[Tensor, "n items"], dtype: str, seed: int
) -> PixelDecoder:
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
    variance = square - float(mean.square().sum())
    is_binary = low >= 0 and high <= 1 and variance > constants.BINARY_SHARE * most
    least = constants.PIXEL_PROBABILITY
    p = mean.clamp(least, 1 - least)
    entropy = float(nn.functional.binary_cross_entropy(p, p, reduction="sum"))
    config = {
        "shape": list(layer.shape),
        "dtype": dtype,
        "pixel_scale": images.pixel_scale,
        "likelihood": "bernoulli" if is_binary else "gaussian",
        "low": min(0.0, low / images.pixel_scale),
        "n_items": items.shape[1],
        "loss_of_mean": entropy if is_binary else variance,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        decoder = PixelDecoder(config)
    decoder.mean.copy_(p.logit() if is_binary else mean)
    decoder.shift.copy_(items.mean(0))
    decoder.scale.copy_(1 / items.std(0).clamp_min(1e-3))
    return decoder.to(items.device)


def fit_pixels(
    layer: InputLayer,
    source: Source,
    hae: HierarchicalAutoencoder,
    held: Int[np.ndarray, " m"],
    n_rows: int,
    seed: int,
    usual: Restore | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    identity: Mapping[str, Any] | None = None,
    verbose: bool = False,
) -> tuple[SharpAutoencoder, Images, Outcome]:
    """Train a decoder on `n_rows` rows, drawn again and again from those that are not held out, and refine the
    encoder. Rows of paths that `usual` images blur more are drawn more often. `identity` is what a checkpoint must
    agree in to be continued. Gives the images to measure them on, too: those held out, or else some that they were
    trained on.
    """
    rng = np.random.default_rng(seed)
    left = np.setdiff1d(np.arange(source.n_rows), held)
    row_bytes = math.prod(source.shape) * (1 if source.dtype == np.uint8 else 4)
    most = int(constants.SHARP_BYTES / row_bytes)
    if len(left) > most:
        left = np.sort(rng.choice(left, most, replace=False))
    measured = held if len(held) else np.sort(rng.choice(left, min(len(left), constants.MOST_HELD_OUT), False))
    scale = 255.0 if has_bytes(source) else max(1.0, *(float(block.max()) for block in source.blocks()))
    images, others = (
        Images.of(X, _in_blocks(layer.to_components, X), scale)
        for X in (rows_of(source, left), rows_of(source, measured))
    )
    mask = hae.mask
    with torch.no_grad():
        inputs = map(layer.from_components, images.inputs.split(constants.ROWS_AT_A_TIME))
        a, z = (torch.cat(parts) for parts in zip(*map(hae.encode_hard, inputs), strict=True))
    on = a @ mask.above_continuous == mask.above_continuous.sum(0)
    target = torch.where(on, z, torch.nan)
    unit = z.new_ones(mask.n_continuous)
    for i, rows in enumerate(on.T):
        if rows.sum() > 1:
            unit[i] = z[rows, i].std().clamp_min(1e-6)
    decoder = make_decoder(layer, images, torch.cat([a, z], dim=1), str(source.dtype), seed)
    model = SharpAutoencoder(layer, hae, decoder)
    batch_size = min(constants.SHARP_BATCH, len(images))
    drawn = torch.arange(len(images)) if usual is None else drawn_rows(images, a, usual, rng)

    def labels(places: Int[Tensor, " batch"]) -> tuple[Tensor, ...]:
        rows = drawn[places]
        return images.pixels(rows.cpu()), a[rows], target[rows]

    batches = TensorBatches(images.inputs[drawn], batch_size, labels, drop_last=True)
    steps = max(1, n_rows // batch_size)

    def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
        x, pixels, options, place = batch
        terms = model.loss(x, pixels, options, place, unit, free=progress >= constants.SHARP_FREE)
        state.optimizer.zero_grad(set_to_none=True)
        terms["loss"].backward()
        state.optimizer.step()
        return terms

    # by the images rather than by their codes, which may differ in the last bit from one process to the next
    pictures = fingerprint([images.stored.numpy()])
    about = {"training": "pixels", "images": pictures, "seed": seed, "steps": steps, **(identity or {})}
    state = State.start(
        model,
        learning_rate=constants.SHARP_RATE,
        schedule=partial(one_cycle, rise=constants.SHARP_RISE),
        steps=steps,
        generator=generator_of(seed),
        slower=(model.refined(), constants.SHARP_SLOWER),
    )
    save = (lambda state: None) if checkpoint is None else resume(state, CHECKPOINT, about, checkpoint)
    n_epochs = math.ceil(steps / batches.n_batches)
    with reporter(n_epochs, verbose, what="decoder: epoch") as (report, after_batch):
        outcome = run_training(
            state,
            batches,
            step,
            steps,
            device=images.inputs.device,
            batch_size=batch_size,
            report=report,
            after_batch=after_batch,
            checkpoint=save,
        )
    return model.eval().requires_grad_(False), others, outcome


def drawn_rows(
    images: Images, a: Float[Tensor, "n options"], usual: Restore, rng: np.random.Generator
) -> Int[Tensor, " n"]:
    """As many rows as there are, some of them more than once, and others not at all: each path has the share that
    it has of the squared error of `usual` images, within bounds."""
    if not a.shape[1]:
        return torch.arange(len(images))
    _, path = np.unique(a.cpu().numpy(), axis=0, return_inverse=True)
    members = [np.flatnonzero(path == index) for index in range(path.max() + 1)]
    some = [rng.choice(rows, min(len(rows), constants.SHARP_BLOCK), replace=False) for rows in members]
    errors = np.array([images.only(rows).error(usual) for rows in some])
    sizes = np.array([len(rows) for rows in members])
    often = errors / max(float(errors @ sizes) / len(images), 1e-300)
    shares = np.clip(often, *constants.SHARP_OFTEN) * sizes
    ends = np.rint(np.cumsum(shares) / shares.sum() * len(images)).astype(int)
    counts = np.diff(ends, prepend=0)
    parts = [np.resize(rng.permutation(rows), count) for rows, count in zip(members, counts, strict=True)]
    return torch.from_numpy(np.sort(np.concatenate(parts)))


def sharper(
    fit: Callable[[], tuple[SharpAutoencoder, Images, Outcome]], usual: Restore
) -> tuple[SharpAutoencoder | None, bool]:
    """What was fitted if its images are closer to those measured than the usual ones, and whether Ctrl-C ended
    it."""
    try:
        model, images, outcome = fit()
    except Diverged as error:
        log.info("the decoder to pixels %s; images are decoded from principal components", error)
        return None, False
    ours, blurred = images.error(model.restore), images.error(usual)
    log.info("squared error of an image: %.3g by the decoder to pixels, %.3g without", ours, blurred)
    return (model if ours < blurred else None), outcome.interrupted


def _in_blocks(
    prepare: Callable[[Shaped[np.ndarray, "n ..."]], Float[Tensor, "n ..."]], X: Shaped[np.ndarray, "n ..."]
) -> Float[Tensor, "n ..."]:
    return torch.cat([prepare(X[i : i + constants.SHARP_BLOCK]) for i in range(0, len(X), constants.SHARP_BLOCK)])
