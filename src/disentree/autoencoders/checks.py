"""What COFHAE is given, checked before any long work starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike
from torch import nn

from disentree.autoencoders.inputs import KINDS, LIKELIHOODS
from disentree.autoencoders.losses import ASSIGNMENT_LOSSES
from disentree.autoencoders.networks import ACTIVATIONS, CONVOLUTIONAL, NETWORKS
from disentree.hierarchy import Hierarchy

if TYPE_CHECKING:
    from disentree.autoencoders.cofhae import COFHAE

PENALTIES = ("auto", "none", "adversarial", "hsic")
SCHEDULES = ("one-cycle", "steps", "constant")
TARGETS = ("ica", "none")


def check_parameters(model: COFHAE) -> None:
    for name in ("epochs", "steps", "batch_size"):
        value = getattr(model, name)
        if name == "epochs" and value is None:
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number, 1 or more; got {value!r}")
    for name, least in (("learning_rate", True), ("tau", True), *((f"lambda{i}", False) for i in (1, 2, 3))):
        value = getattr(model, name)
        if not _is_number(value) or value < 0 or (least and value == 0):
            raise ValueError(f"{name} must be a number {'above' if least else 'of at least'} 0; got {value!r}")
    if not _is_number(model.warm_up) or not 0 <= model.warm_up <= 1:
        raise ValueError(f"warm_up must be a fraction from 0 to 1; got {model.warm_up!r}")
    if model.sigma is not None and not (_is_number(model.sigma) and model.sigma > 0):
        raise ValueError(f"sigma must be None or a number above 0; got {model.sigma!r}")
    for name, allowed in (
        ("schedule", SCHEDULES),
        ("assignment", tuple(ASSIGNMENT_LOSSES)),
        ("targets", TARGETS),
        ("penalty", PENALTIES),
        ("activation", tuple(ACTIVATIONS)),
        ("input", KINDS),
        ("likelihood", LIKELIHOODS),
    ):
        _one_of(name, getattr(model, name), allowed)
    for name in ("hidden", "discriminator"):
        widths = getattr(model, name)
        if not isinstance(widths, Sequence) or not all(isinstance(w, int) and w > 0 for w in widths):
            raise ValueError(f"{name} must be a sequence of widths above 0; got {widths!r}")
    betas = model.discriminator_betas
    if not isinstance(betas, Sequence) or len(betas) != 2 or not all(_is_number(b) and 0 <= b < 1 for b in betas):
        raise ValueError(f"discriminator_betas must be two numbers from 0 to below 1; got {betas!r}")
    for name in ("encoder", "decoder"):
        network = getattr(model, name)
        if not isinstance(network, nn.Module):
            _one_of(name, network, NETWORKS)
    by_name = isinstance(model.encoder, str) and isinstance(model.decoder, str)
    if by_name and (model.encoder in CONVOLUTIONAL) != (model.decoder in CONVOLUTIONAL):
        raise ValueError(
            f"encoder and decoder must both be convolutional or both not; "
            f"got {model.encoder!r} and {model.decoder!r}"
        )
    for callback in model.callbacks:
        if not callable(callback):
            raise ValueError(f"callbacks must be functions of (record, model); got {callback!r}")


def check_structure(
    hierarchy: Hierarchy | Mapping[str, Any] | None, paths: ArrayLike | None, n_rows: int
) -> tuple[Hierarchy, Int[np.ndarray, " n"]] | None:
    """The structure given to `fit`, or None if it is to be found."""
    if hierarchy is None:
        if paths is not None:
            raise ValueError("paths were given without the hierarchy that they index")
        return None
    if not isinstance(hierarchy, Hierarchy):
        hierarchy = Hierarchy.from_dict(hierarchy)
    if not hierarchy.n_variables:
        raise ValueError("hierarchy must have at least one variable")
    n_paths = len(hierarchy.paths)
    if paths is None:
        if n_paths > 1:
            raise ValueError(
                f"hierarchy has {n_paths} paths, so fit needs paths too: one index per row, -1 where unknown"
            )
        return hierarchy, np.zeros(n_rows, dtype=np.int64)
    array = np.asarray(paths)
    if array.shape != (n_rows,):
        raise ValueError(f"paths must hold one index for each of the {n_rows} rows of X; got shape {array.shape}")
    if array.dtype.kind not in "iuf" or (array.astype(np.int64) != array).any():
        raise ValueError(f"paths must be whole numbers; got {array.dtype} values such as {array.flat[0]!r}")
    array = array.astype(np.int64)
    if array.min() < -1 or array.max() >= n_paths:
        wrong = array.min() if array.min() < -1 else array.max()
        raise ValueError(f"paths must be -1 (none) or 0..{n_paths - 1}, the paths of the hierarchy; got {wrong}")
    return hierarchy, array


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
