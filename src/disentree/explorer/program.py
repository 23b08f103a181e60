"""A model's networks as a program that the page can run: a list of operations and one buffer of weights.

An operation is a dict with its name under "op"; weights are given by their number in the table of tensors.
`page/runtime.js` runs it in the browser, `run` here in Python: an export is checked against the model before it
is written. Networks may be built from any of the layers below; others are named in the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from torch import nn

from disentree.cofhae.constants import NEAREST
from disentree.cofhae.inputs import InputLayer, channels_first
from disentree.cofhae.linear import PathDecoder, PathEncoder
from disentree.cofhae.placement import Placement
from disentree.errors import UserError
from disentree.training.networks import ImageDecoder, ImageEncoder, SkipMLP

Op = dict[str, Any]

# Layers without weights.
PLAIN_LAYERS: dict[type[nn.Module], Callable[[Any], Op]] = {
    nn.ReLU: lambda layer: {"op": "relu"},
    nn.SiLU: lambda layer: {"op": "silu"},
    nn.Sigmoid: lambda layer: {"op": "sigmoid"},
    nn.Tanh: lambda layer: {"op": "tanh"},
    nn.Softplus: lambda layer: {"op": "softplus", "beta": float(layer.beta), "threshold": float(layer.threshold)},
    nn.LeakyReLU: lambda layer: {"op": "leaky", "slope": float(layer.negative_slope)},
    nn.GELU: lambda layer: {"op": "gelu", "tanh": layer.approximate == "tanh"},
    nn.PixelShuffle: lambda layer: {"op": "shuffle", "r": int(layer.upscale_factor)},
    nn.PixelUnshuffle: lambda layer: {"op": "unshuffle", "r": int(layer.downscale_factor)},
    nn.Flatten: lambda layer: {"op": "reshape", "shape": None},
    nn.Unflatten: lambda layer: {"op": "reshape", "shape": [int(n) for n in layer.unflattened_size]},
}
LARGE = 20_000  # numbers of an array, from which it may be stored in fewer bits


class NotInBrowser(UserError):
    """A network that the page has no arithmetic for."""


class Tensors:
    """The weights of a program, one after the other in a single buffer.

    Large matrices may be stored in fewer bits: in 16 as half-precision floats, or in 8 as whole numbers with a
    scale for each row. `arrays` has the numbers that the page will compute with.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.bits = 32  # of large arrays from now on
        self._stored: list[tuple[str, np.ndarray, int | None]] = []  # type, numbers, the tensor of their scales
        # By id; the object is kept, since ids of freed objects are reused.
        self._numbers: dict[int, tuple[int, Any]] = {}

    def add(self, values: Any) -> int:
        """The number of an array; the same object is stored once."""
        if id(values) in self._numbers:
            return self._numbers[id(values)][0]
        array = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
        number = self._store(np.ascontiguousarray(array, dtype="<f4"))
        self._numbers[id(values)] = (number, values)
        return number

    def _store(self, array: np.ndarray) -> int:
        if self.bits == 32 or array.size < LARGE:
            kind, stored, scales = "f4", array, None
        elif self.bits == 16:
            kind, stored, scales = "f2", array.astype("<f2"), None
            array = stored.astype("<f4")
        else:
            flat = array.reshape(len(array), -1)
            largest = np.abs(flat).max(axis=1, keepdims=True)
            scale = np.where(largest > 0, largest / 127, 1).astype("<f4")
            kind, stored = "i1", np.round(flat / scale).astype("i1")
            array = (stored * scale).astype("<f4").reshape(array.shape)
            self.arrays.append(scale)
            self._stored.append(("f4", scale, None))
            scales = len(self.arrays) - 1
        self.arrays.append(array)
        self._stored.append((kind, stored, scales))
        return len(self.arrays) - 1

    def _order(self) -> list[int]:
        """Those of 4 bytes first, so that each begins at a multiple of its own size."""
        return sorted(range(len(self._stored)), key=lambda i: -self._stored[i][1].itemsize)

    def table(self) -> list[dict[str, Any]]:
        """For each tensor where it begins, in bytes, its shape and type, and the number of its scales if it has
        some."""
        offsets, at = {}, 0
        for i in self._order():
            offsets[i] = at
            at += self._stored[i][1].nbytes
        return [
            {"offset": offsets[i], "shape": list(array.shape), "type": kind, "scales": scales}
            for i, (array, (kind, _, scales)) in enumerate(zip(self.arrays, self._stored, strict=True))
        ]

    def buffer(self) -> bytes:
        return b"".join(self._stored[i][1].tobytes() for i in self._order())


@singledispatch
def ops_of(module: nn.Module, tensors: Tensors) -> list[Op]:
    """The operations of a network."""
    if type(module) in PLAIN_LAYERS:
        return [PLAIN_LAYERS[type(module)](module)]
    raise NotInBrowser(
        f"a page that runs by itself has no arithmetic for layers of type {type(module).__name__}; "
        f"`disentree explore RUN` serves any network"
    )


@ops_of.register(nn.Sequential)
def _(module, tensors):
    return [op for layer in module for op in ops_of(layer, tensors)]


@ops_of.register(nn.Identity)
@ops_of.register(nn.Dropout)  # does nothing once trained
def _(module, tensors):
    return []


@ops_of.register(nn.Linear)
def _(module, tensors):
    return [{"op": "linear", "w": tensors.add(module.weight), "b": _bias(module, tensors)}]


@ops_of.register(nn.Conv2d)
@ops_of.register(nn.ConvTranspose2d)
def _(module, tensors):
    plain = module.groups == 1 and set(module.dilation) == {1} and module.padding_mode == "zeros"
    plain = plain and not isinstance(module.padding, str) and not any(getattr(module, "output_padding", ()))
    if not plain or len(set(module.stride)) > 1 or len(set(module.padding)) > 1:
        raise NotInBrowser(f"a page that runs by itself has no arithmetic for {module}")
    return [
        {
            "op": "convt" if isinstance(module, nn.ConvTranspose2d) else "conv",
            "w": tensors.add(module.weight),
            "b": _bias(module, tensors),
            "stride": int(module.stride[0]),
            "padding": int(module.padding[0]),
        }
    ]


@ops_of.register(SkipMLP)
def _(module, tensors):
    return [{"op": "sum", "parts": [ops_of(module.linear, tensors), ops_of(module.bend, tensors)]}]


@ops_of.register(ImageEncoder)
def _(module, tensors):
    _, right, _, bottom = module.pad
    pad = [{"op": "pad", "right": right, "bottom": bottom}] if right or bottom else []
    return pad + ops_of(module.features, tensors) + ops_of(module.head, tensors)


@ops_of.register(ImageDecoder)
def _(module, tensors):
    _, h, w = module.shape
    grid = {"op": "reshape", "shape": list(module.grid)}
    return [
        *ops_of(module.head, tensors),
        grid,
        *ops_of(module.features, tensors),
        {"op": "crop", "height": h, "width": w},
    ]


@ops_of.register(PathEncoder)
def _(module, tensors):
    numbers = {name: tensors.add(value) for name, value in module.named_buffers() if name != "root_of"}
    return [{"op": "path", **numbers, "root_of": module.root_of.tolist()}]


@ops_of.register(PathDecoder)
def _(module, tensors):
    return [{"op": "leaf", **{name: tensors.add(value) for name, value in module.named_buffers()}}]


@ops_of.register(Placement)
def _(module, tensors):
    numbers = {name: tensors.add(getattr(module, name)) for name in ("own", "shared", "above")}
    return [{"op": "", **numbers, "target": module.target.tolist(), "counts": module.counts.tolist()}]


def _bias(module: Any, tensors: Tensors) -> int | None:
    return None if module.bias is None else tensors.add(module.bias)


def ops_before(layer: InputLayer, tensors: Tensors) -> list[Op]:
    """From a row of X to what the encoder sees."""
    ops: list[Op] = [{"op": "times", "by": 1 / layer.pixel_scale}] if layer.pixel_scale != 1 else []
    if layer.kind == "image":
        return [*ops, {"op": "channels_first", "shape": list(layer.shape)}]
    rest = None if layer.in_pixels else tensors.add(layer.mean_rest)
    ops.append({"op": "minus", "t": tensors.add(layer.mean), "rest": rest})
    ops += _to_features(layer, tensors)
    if len(layer.subspace_centers):
        centers, bases = tensors.add(layer.subspace_centers), tensors.add(layer.subspace_bases)
        ops.append({"op": "nearness", "centers": centers, "bases": bases, "nearest": NEAREST})
    return ops


def ops_after(layer: InputLayer, tensors: Tensors) -> list[Op]:
    """From the decoder's output to a row of X."""
    if layer.in_pixels:
        start = layer.start.detach().cpu().contiguous()
        ops: list[Op] = [{"op": "plus", "t": tensors.add(start), "rest": None}]
        ops += [{"op": "sigmoid"}] if layer.likelihood == "bernoulli" else []
    else:
        mean, rest = tensors.add(layer.mean), tensors.add(layer.mean_rest)
        ops = [
            {"op": "linear", "w": tensors.add(layer.expansion), "b": None, "transposed": True},
            {"op": "plus", "t": mean, "rest": rest},
        ]
    if layer.kind == "image" and channels_first(layer.shape)[1] != (1, 2, 3):
        ops.append({"op": "channels_last"})
    if layer.is_image:
        ops.append({"op": "clip", "low": layer.range[0], "high": layer.range[1]})
    return ops + ([{"op": "times", "by": layer.pixel_scale}] if layer.pixel_scale != 1 else [])


def _to_features(layer: InputLayer, tensors: Tensors) -> list[Op]:
    """Components are principal directions, and so is the way back: for images, whose spread is 1, they differ
    by a factor for each component, and the page need carry only one of the two."""
    components = layer.components.detach().cpu().numpy()
    expansion = layer.expansion.detach().cpu().numpy()
    if components.size and expansion.shape == components.T.shape and not layer.in_pixels:
        factors = (components.T * expansion).sum(axis=1) / np.square(expansion).sum(axis=1)
        error = np.abs(expansion * factors[:, None] - components.T).max()
        if error <= 1e-6 * np.abs(components).max():
            return [
                {"op": "linear", "w": tensors.add(layer.expansion), "b": None},
                {"op": "scale", "t": tensors.add(factors)},
            ]
    return [{"op": "linear", "w": tensors.add(layer.components), "b": None, "transposed": True}]


def program_of(model: Any, *, with_encoder: bool = True, compact: bool = False) -> tuple[dict[str, Any], Tensors]:
    """The program of a model's decoder and encoder: `decode` starts from the options and then the continuous
    variables, 0 where inactive; `encode` ends with the continuous variables and then a logit for every option.

    `compact`: large weights have 16 bits in the decoder and 8 in the encoder.
    """
    layer, networks = getattr(model, "input_", None), getattr(model, "autoencoder_", None)
    if layer is None or networks is None:
        raise NotInBrowser(
            f"a page that runs by itself needs a model with networks, which {type(model).__name__} has not; "
            f"`disentree explore RUN` serves any model"
        )
    tensors = Tensors()
    tensors.bits = 16 if compact else 32
    moves: list[Op] = [] if networks.placement is None else ops_of(networks.placement, tensors)
    down, up = ([{**op, "op": name} for op in moves] for name in ("down", "up"))
    program: dict[str, Any] = {
        "decode": down + ops_of(networks.decoder, tensors) + ops_after(layer, tensors),
        "encode": None,
        "float64": layer.config["dtype"] == "float64",
        "size": math.prod(layer.shape),
    }
    tensors.bits = 8 if compact else 32
    if with_encoder:
        program["encode"] = ops_before(layer, tensors) + ops_of(networks.encoder, tensors) + up
        if getattr(networks, "variances", False):  # of a posterior, between its means and its logits
            first, last = networks.mask.n_continuous, networks.mask.n_options
            program["encode"].append({"op": "ends", "first": first, "last": last})
    return program | {"tensors": tensors.table()}, tensors
