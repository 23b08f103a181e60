"""The first and the last layer, fixed before training: from the units of X to features, and back.

Vectors are standardized and whitened onto their numerical rank, so that training depends neither on the units of
X nor on redundant columns. Images are scaled to [0, 1], and convolutional networks are given their pixels, other
networks their leading principal components.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.geometry.pca import EXACT_COLUMNS, principal_axes
from disentree.training.data import Source, sample_rows

Kind = Literal["whiten", "standardize", "raw", "pca", "image"]
Likelihood = Literal["gaussian", "bernoulli"]

KINDS = ("auto", "whiten", "standardize", "raw", "pca", "image")
LIKELIHOODS = ("auto", "gaussian", "bernoulli")


_RENAMED = {"flat_centres": "subspace_centers", "flat_bases": "subspace_bases"}  # in models of version 0.1


class InputLayer(nn.Module):
    """Turns rows of X into the encoder's input, measures reconstructions, and turns those back into X.

    With a Gaussian likelihood of anything but image tensors, encoder and decoder both work in `features`
    (`n_features` of them). Otherwise the decoder works in pixels.
    """

    mean: Tensor
    mean_rest: Tensor  # what float32 leaves of it, so that a large offset costs no digits
    components: Tensor  # (columns, features): X - mean to features
    expansion: Tensor  # (features, columns): features to X - mean
    weights: Tensor  # of each feature in the reconstruction loss
    subspace_centers: Tensor  # (subspaces, features): a point on each subspace that a leaf lies on
    subspace_bases: Tensor  # (subspaces, features, dimensions): orthonormal, padded with zeros

    def __init__(self, config: dict[str, Any], arrays: dict[str, Float[np.ndarray, "..."]]):
        super().__init__()
        self.config = config
        self.kind: Kind = config["kind"]
        self.likelihood: Likelihood = config["likelihood"]
        self.centered: bool = config.get("centered", True)  # whether a decoder of pixels starts at their mean
        self.shape: tuple[int, ...] = tuple(config["shape"])
        self.pixel_scale: float = config["pixel_scale"]  # X / pixel_scale is in [0, 1] for images
        self.variance: float = config["variance"]  # total, of X / pixel_scale
        self.is_image = len(self.shape) > 1
        self.in_pixels = self.kind == "image" or self.likelihood == "bernoulli"
        low, high = config.get("range", (0.0, 1.0))  # of pixels over pixel_scale; not in older models
        self.range: tuple[float, float] = (low, high)
        arrays = {_RENAMED.get(name, name): array for name, array in arrays.items()}
        none = {"subspace_centers": np.zeros((0, 0)), "subspace_bases": np.zeros((0, 0, 0))}
        for name, array in (none | arrays).items():
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)))

    @property
    def n_features(self) -> int:
        return self.components.shape[1]

    @property
    def n_inputs(self) -> int:
        """Numbers that a perceptron is given for a row."""
        return self.n_features + len(self.subspace_centers)

    def add_subspaces(self, subspaces: Sequence[tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r _"]]]) -> None:
        """Give the encoder the distance of a point from each of some subspaces (center, basis).

        On which of several nested leaves a point lies depends on whether it is exactly on a subspace or next to
        it, at distances of many orders of magnitude. The logarithm of the distance shows all of them.
        """
        dimensions = max((basis.shape[1] for _, basis in subspaces), default=0)
        centers = np.zeros((len(subspaces), self.n_features), dtype=np.float32)
        bases = np.zeros((len(subspaces), self.n_features, dimensions), dtype=np.float32)
        for i, (center, basis) in enumerate(subspaces):
            centers[i], bases[i, :, : basis.shape[1]] = center, basis
        device = self.mean.device
        self.subspace_centers = torch.from_numpy(centers).to(device)
        self.subspace_bases = torch.from_numpy(bases).to(device)

    def weigh(self, squares: Float[np.ndarray, " r"]) -> None:
        """Let features count in the reconstruction loss in these proportions."""
        self.weights.copy_(torch.from_numpy(squares / squares.sum()))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width)"""
        return cast(tuple[int, int, int], channels_first(self.shape)[0])

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of what the encoder is given for a row."""
        return self.image_shape if self.kind == "image" else (self.n_inputs,)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """What the decoder must give for a row."""
        if self.kind == "image":
            return self.image_shape
        return (math.prod(self.shape),) if self.in_pixels else (self.n_features,)

    def prepare(self, X: Shaped[np.ndarray, "n ..."]) -> Shaped[Tensor, "n ..."]:
        """Rows of X as the tensor that training keeps: features, or pixels where those are modeled; bytes stay
        bytes for convolutional networks."""
        device = self.mean.device
        if self.kind == "image" and X.dtype == np.uint8:
            return self.as_image(torch.from_numpy(np.array(X.reshape(len(X), -1))).to(device))
        flat = torch.from_numpy(np.array(X.reshape(len(X), -1), dtype=np.float64))
        if self.in_pixels:
            pixels = (flat / self.pixel_scale).to(torch.float32).to(device)
            return self.as_image(pixels) if self.kind == "image" else pixels
        return (flat / self.pixel_scale - self._exact_mean()).to(torch.float32).to(device) @ self.components

    def geometry(self, X: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, "n r"]:
        """Rows of X as the encoder is given them."""
        return self.to_input(self.prepare(X)).cpu().numpy().astype(np.float64)

    def to_input(self, prepared: Shaped[Tensor, "n ..."]) -> Float[Tensor, "n ..."]:
        """The encoder's input."""
        if self.kind == "image":
            return self._from_bytes(prepared)
        features = (prepared - self.mean) @ self.components if self.in_pixels else prepared
        if not len(self.subspace_centers):
            return features
        off = features[:, None, :] - self.subspace_centers
        off = off - torch.einsum("nfr,frd,fsd->nfs", off, self.subspace_bases, self.subspace_bases)
        nearness = (off.square().mean(2) + constants.NEAREST**2).log() / math.log(constants.NEAREST**2)
        return torch.cat([features, 4 * nearness - 2], dim=1)

    def _from_bytes(self, prepared: Shaped[Tensor, "n ..."]) -> Float[Tensor, "n ..."]:
        return prepared.float() / self.pixel_scale if prepared.dtype == torch.uint8 else prepared

    def restore(self, output: Float[Tensor, "n ..."]) -> Float[np.ndarray, "n ..."]:
        """The decoder's output in the shape and units of X."""
        if self.in_pixels:
            output = output + self.start
            output = output.sigmoid() if self.likelihood == "bernoulli" else output
            flat = output.cpu().numpy().astype(np.float64)
        else:
            flat = (output @ self.expansion).cpu().numpy().astype(np.float64) + self._exact_mean().numpy()
        if self.kind == "image":
            flat = flat.transpose(0, *channels_first(self.shape)[1])
        if self.is_image:
            flat = flat.clip(*self.range)
        X = flat.reshape(len(flat), *self.shape) * self.pixel_scale
        return X.astype(np.float64 if self.config["dtype"] == "float64" else np.float32)

    def _exact_mean(self) -> Float[Tensor, " columns"]:
        return self.mean.cpu().double() + self.mean_rest.cpu().double()

    @property
    def start(self) -> Float[Tensor, "..."]:
        """What a decoder of pixels starts from, of the shape of its output: the mean, or its logit, so that it
        need not learn that images are mostly empty; 0 for raw pixels."""
        mean, least = self.mean, constants.PIXEL_PROBABILITY
        if not self.centered:
            mean = torch.zeros_like(mean)
        elif self.likelihood == "bernoulli":
            mean = mean.clamp(least, 1 - least).logit()
        return self.as_image(mean[None])[0] if self.kind == "image" else mean

    def as_image(self, pixels: Shaped[Tensor, "n columns"]) -> Shaped[Tensor, "n c h w"]:
        if len(self.shape) == 2:
            return pixels.view(-1, 1, *self.shape)
        image = pixels.view(-1, *self.shape)
        return image if channels_first(self.shape)[1] == (1, 2, 3) else image.permute(0, 3, 1, 2)

    def loss(self, sigma: float | None) -> Callable[[Tensor, Tensor], Tensor]:
        """The mean of `row_losses` over a batch."""
        losses = self.row_losses(sigma)
        return lambda output, x: losses(output, x).mean()

    def row_losses(self, sigma: float | None) -> Callable[[Tensor, Tensor], Tensor]:
        """Reconstruction loss of each row of (output, prepared).

        With `sigma` it is the negative log likelihood in the units of X (of pixels in [0, 1] for images) up to
        a constant. With None it is measured against the variance of the data: 1 for a Gaussian model that
        always answers with the mean.
        """
        start, pixels = self.start if self.in_pixels else torch.zeros(()), self._from_bytes
        if self.likelihood == "bernoulli":
            scale = 1.0 if sigma is not None else 1 / self.variance
            entropy = nn.functional.binary_cross_entropy_with_logits
            return lambda output, x: entropy(output + start, pixels(x), reduction="none").flatten(1).sum(1) * scale
        if self.in_pixels:
            scale = 1 / self.variance if sigma is None else 0.5 / sigma**2
            return lambda output, x: (output + start - pixels(x)).square().flatten(1).sum(1) * scale
        if sigma is None:  # relative to its variance
            return lambda output, x: (output - x).square() @ self.weights
        to_units = self.expansion * (0.5**0.5 / sigma)
        return lambda output, x: ((output - x) @ to_units).square().sum(1)


def fit_input_layer(
    source: Source, kind: str, likelihood: str, rng: np.random.Generator, *, centered: bool = True
) -> InputLayer:
    """Measure X once (means, spreads, principal components) and fix the layer. `centered`: whether a decoder of
    pixels starts at the mean image."""
    is_image = len(source.shape) > 1
    if kind == "auto":
        kind = "pca" if is_image else "whiten"
    if kind == "image" and (len(source.shape) not in (2, 3)):
        raise ValueError(
            f"convolutional networks take images (n, h, w) or (n, h, w, c), got rows of {source.shape}"
        )
    low, high, total, mean = np.inf, -np.inf, 0, np.zeros(math.prod(source.shape))
    binary = True
    for block in source.blocks():
        flat = block.reshape(len(block), -1)
        low, high = min(low, float(flat.min())), max(high, float(flat.max()))
        binary = binary and _is_binary(flat[:1]) and _is_binary(flat)
        total += len(flat)
        mean += (flat.mean(axis=0, dtype=np.float64) - mean) * (len(flat) / total)
    if low == high:
        raise ValueError(f"X is constant (every value is {low:g}): there is nothing to learn from it")
    pixel_scale = 255.0 if has_bytes(source) else max(high, 1.0) if is_image else 1.0
    if likelihood == "auto":
        likelihood = "bernoulli" if (binary or kind == "image") and low >= 0 else "gaussian"
    if likelihood == "bernoulli" and (low < 0 or high / pixel_scale > 1):
        raise ValueError(f"likelihood='bernoulli' takes values in [0, 1], and X reaches from {low:g} to {high:g}")

    mean /= pixel_scale
    variance = np.zeros_like(mean)
    for block in source.blocks():
        variance += ((block.reshape(len(block), -1) / pixel_scale - mean) ** 2).sum(axis=0) / total
    constant = variance <= (1e-12 * np.maximum(np.abs(mean), 1e-300)) ** 2
    if constant.all():
        raise ValueError("every row of X is the same: there is nothing to learn from it")
    # Pixels are commensurable, columns of a table need not be.
    by_column = kind in ("whiten", "standardize")
    if kind == "raw":  # X as it is: no mean, all columns
        mean, constant, centered = np.zeros_like(mean), np.zeros_like(constant), False
    spread = np.where(constant, 1.0, np.sqrt(variance)) if by_column else np.ones_like(mean)

    if kind in ("whiten", "pca"):
        values, vectors = _principal(source, mean, spread * pixel_scale, pixel_scale, rng)
        rank = _rank(values, total)
        values, vectors = values[:rank], vectors[:, :rank]
        # Full whitening for vectors; half for images, whose weak components are fine detail and noise.
        scale = np.sqrt(values) if kind == "whiten" else values**0.25 * values[0] ** 0.25
        weights = np.full(rank, 1 / rank) if kind == "whiten" else scale**2 / values.sum()
        components = vectors / spread[:, None] / scale
        expansion = (vectors * scale).T * spread
    elif kind == "image":  # pixels in, pixels out: only the mean is of use
        components, expansion, weights = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)
    else:
        keep = np.flatnonzero(~constant)
        components = np.eye(len(mean))[:, keep] / spread[:, None]
        expansion = np.eye(len(mean))[keep] * spread
        weights = np.full(len(keep), 1 / (len(keep) if by_column else variance.sum()))
    config = {
        "kind": kind,
        "likelihood": likelihood,
        "shape": list(source.shape),
        "dtype": str(source.dtype),
        "pixel_scale": pixel_scale,
        "variance": float(variance.sum()),
        "range": [min(low / pixel_scale, 0.0), 1.0],
        "centered": centered,
    }
    rest = mean - mean.astype(np.float32)
    arrays = {"mean": mean, "mean_rest": rest, "components": components, "expansion": expansion}
    return InputLayer(config, {**arrays, "weights": weights})


def _principal(
    source: Source,
    mean: Float[np.ndarray, " d"],
    spread: Float[np.ndarray, " d"],
    pixel_scale: float,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "d r"]]:
    """Variances along the principal directions of (X - mean) / spread, largest first, and the directions."""

    def centered(block: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, "n d"]:
        return (block.reshape(len(block), -1) - mean * pixel_scale) / spread

    if len(mean) <= EXACT_COLUMNS:
        found = principal_axes(map(centered, source.blocks()), constants.MAX_COMPONENTS, solver="covariance")
    else:
        some = centered(sample_rows(source, constants.PCA_ROWS, rng)).astype(np.float32)
        found = principal_axes(some, constants.MAX_COMPONENTS, solver="randomized", random_state=rng)
    return found.variances.astype(np.float64), found.axes.astype(np.float64)


def _rank(values: Float[np.ndarray, " r"], n_rows: int) -> int:
    """How many principal components to keep: all that are not numerically 0, unless the spectrum falls by a
    step onto a long and even tail with next to none of the variance: noise that whitening would blow up."""
    rank = int((values > constants.RANK_TOLERANCE * values[0]).sum())
    rank = max(1, min(rank, n_rows - 1))
    if rank < constants.NOISE_COLUMNS:
        return rank
    steps = values[: rank // 2] / values[1 : rank // 2 + 1]
    cut = int(np.argmax(steps)) + 1
    tail = values[cut:rank]
    is_even = tail[0] <= constants.NOISE_EVENNESS * tail[-1]
    is_small = tail.sum() <= constants.NOISE_SHARE * values.sum()
    is_noise = steps[cut - 1] >= constants.NOISE_STEP and is_even and is_small
    return cut if is_noise else rank


def has_bytes(source: Source) -> bool:
    """Whether X holds images of bytes, of which 255 is white. Numbers of a table stay as they are, whatever their
    type."""
    return len(source.shape) in (2, 3) and source.dtype == np.uint8


def takes_convolutions(shape: tuple[int, ...]) -> bool:
    """Whether rows are images of up to four channels that are not too small to have edges."""
    if len(shape) not in (2, 3):
        return False
    channels, *sides = channels_first(shape)[0]
    return channels <= 4 and min(sides) >= constants.SMALLEST_IMAGE


def _is_binary(flat: Shaped[np.ndarray, "n d"]) -> bool:
    return bool(((flat == 0) | (flat == 1)).all())


def channels_first(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(c, h, w), and the axes that bring (n, c, h, w) back to the shape of X.

    Channels are last, unless only the first axis is as short as a number of channels, 4 at most.
    """
    if len(shape) == 2:
        return (1, *shape), (1, 2, 3)
    if len(shape) == 3 and not shape[0] <= 4 < shape[2]:
        return (shape[2], *shape[:2]), (2, 3, 1)
    return shape, (1, 2, 3)
