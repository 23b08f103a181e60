"""Runs a program in Python, operation by operation as `page/runtime.js` does, to check it against its model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from disentree.cofhae.inputs import channels_first
from disentree.cofhae.linear import PathDecoder, PathEncoder
from disentree.cofhae.placement import Placement
from disentree.explorer.program import NotInBrowser, Op, Tensors, program_of

TOLERANCE = 1e-5  # of the range of the data
LEVEL = 4e-3  # of 256 levels of gray: the same for pages with weights of fewer bits
SAME_CODES, SIMILAR_CODES = 1e-3, 0.02  # of the largest code, without and with weights of fewer bits
_SAME_OPTIONS = 0.9  # of rows: a logit may be a tie


def run(ops: list[Op], x: Tensor, weights: list[Tensor]) -> Tensor:
    for op in ops:
        x = _step(op, x, weights)
    return x


def _step(op: Op, x: Tensor, weights: list[Tensor]) -> Tensor:
    def tensor(key: str) -> Any:
        return None if op.get(key) is None else weights[op[key]]

    match op["op"]:
        case "linear":
            w = tensor("w")
            return F.linear(x, w.T if op.get("transposed") else w, tensor("b"))
        case "sum":
            return torch.stack([run(part, x, weights) for part in op["parts"]]).sum(0)
        case "conv":
            return F.conv2d(x, tensor("w"), tensor("b"), op["stride"], op["padding"])
        case "convt":
            return F.conv_transpose2d(x, tensor("w"), tensor("b"), op["stride"], op["padding"])
        case "shuffle":
            return F.pixel_shuffle(x, op["r"])
        case "unshuffle":
            return F.pixel_unshuffle(x, op["r"])
        case "reshape":
            return x.flatten(1) if op["shape"] is None else x.reshape(len(x), *op["shape"])
        case "pad":
            return F.pad(x, (0, op["right"], 0, op["bottom"]))
        case "crop":
            return x[:, :, : op["height"], : op["width"]]
        case "channels_first":
            shape = tuple(op["shape"])
            if channels_first(shape)[1] == (1, 2, 3):
                return x.reshape(len(x), *channels_first(shape)[0])
            return x.reshape(len(x), *shape).permute(0, 3, 1, 2)
        case "channels_last":
            return x.permute(0, 2, 3, 1)
        case "plus" | "minus":
            shift = tensor("t") + (0 if op["rest"] is None else tensor("rest"))
            return x + shift if op["op"] == "plus" else x - shift
        case "times":
            return x * op["by"]
        case "scale":
            return x * tensor("t")
        case "clip":
            return x.clamp(op["low"], op["high"])
        case "ends":
            return torch.cat([x[:, : op["first"]], x[:, x.shape[1] - op["last"] :]], dim=1)
        case "nearness":
            centers, bases = tensor("centers"), tensor("bases")
            off = x[:, None, :] - centers
            off = off - torch.einsum("nfr,frd,fsd->nfs", off, bases, bases)
            near = (off.square().mean(2) + op["nearest"] ** 2).log() / math.log(op["nearest"] ** 2)
            return torch.cat([x, 4 * near - 2], dim=1)
        case "path":
            names = ("means", "roots", "log_weights", "inverses", "offsets", "options")
            return PathEncoder({**{key: tensor(key) for key in names}, "root_of": op["root_of"]})(x)
        case "leaf":
            return PathDecoder({key: tensor(key) for key in ("options", "means", "directions")})(x)
        case "up" | "down" as way:
            numbers = {key: tensor(key) for key in ("own", "shared", "above")}
            given = {key: torch.tensor(op[key], dtype=torch.int64) for key in ("target", "counts")}
            placement = Placement({**numbers, **given})
            return placement.up(x) if way == "up" else placement.down(x)
        case "softplus":
            return F.softplus(x, op["beta"], op["threshold"])
        case "leaky":
            return F.leaky_relu(x, op["slope"])
        case "gelu":
            return F.gelu(x, approximate="tanh" if op["tanh"] else "none")
        case name:
            return {"relu": F.relu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[name](x)


def checked_program(model: Any, codes: Float[np.ndarray, "n v"]) -> tuple[dict[str, Any], Tensors]:
    """The program of a model, after it has given what the model gives for some codes.

    A decoder that the page cannot run is an error; without its encoder a page still works, but takes no rows
    of the user's.
    """
    X = np.asarray(model.inverse_transform(codes), dtype=np.float64)
    layer = getattr(model, "input_", None)
    if layer is not None and layer.kind == "image":  # they have 256 levels
        small = agreeing_program(model, codes, X, compact=True)
        if small is not None and small[0]["encode"] is not None:
            return small
    found = agreeing_program(model, codes, X, compact=False)
    if found is None:
        raise NotInBrowser(
            f"the decoder of this {type(model).__name__} is more than its networks, and a page that runs by "
            f"itself would draw something else; `disentree explore RUN` serves any model"
        )
    return found


def agreeing_program(
    model: Any, codes: Float[np.ndarray, "n v"], X: np.ndarray, compact: bool
) -> tuple[dict[str, Any], Tensors] | None:
    """A program that gives X for the codes, with the encoder if that agrees too; None if it does not."""
    try:
        program, tensors = program_of(model, compact=compact)
    except NotInBrowser:
        program, tensors = program_of(model, compact=compact, with_encoder=False)
    # a shape of its own for every tensor, in the precision of the browser
    weights = [torch.from_numpy(array).double() for array in tensors.arrays]
    start = torch.cat(model.autoencoder_.mask.from_codes(codes), dim=1).cpu().double()
    decoded = run(program["decode"], start, weights).reshape(X.shape).numpy()
    spread = max(float(np.ptp(X)), 1e-9 * float(np.abs(X).max()), 1e-300)
    if not np.abs(decoded - X).max(initial=0) <= (LEVEL if compact else TOLERANCE) * spread:
        return None
    same_codes = SIMILAR_CODES if compact else SAME_CODES
    if program["encode"] is not None and not _encodes_the_same(model, program, weights, X, same_codes):
        program, tensors = program_of(model, compact=compact, with_encoder=False)
    return program, tensors


def _encodes_the_same(
    model: Any, program: dict[str, Any], weights: list[Tensor], X: np.ndarray, tolerance: float
) -> bool:
    codes = model.transform(X)
    flat = torch.from_numpy(X.reshape(len(X), -1))
    items, mask = run(program["encode"], flat, weights).float().to(model.device_), model.autoencoder_.mask
    ours = mask.to_codes(mask.harden(items)[0], items[:, : mask.n_continuous])
    same = (np.isnan(ours) == np.isnan(codes)).all(axis=1)
    spread = np.nanmax(np.abs(codes), initial=1e-3)
    close = np.nanmax(np.abs(ours[same] - codes[same]), initial=0) <= tolerance * spread
    return bool(close and same.mean() >= _SAME_OPTIONS)
