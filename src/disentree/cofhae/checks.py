"""What the estimators are given, checked before any long work starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from disentree.cofhae.fitting.losses import ASSIGNMENT_LOSSES
from disentree.cofhae.inputs import KINDS, LIKELIHOODS
from disentree.errors import FarOut
from disentree.hierarchy import Hierarchy
from disentree.training.networks import ACTIVATIONS, CONVOLUTIONAL, NETWORKS
from disentree.training.schedules import SCHEDULES
from disentree.utils.extras import needing

PENALTIES = ("auto", "none", "adversarial", "marginal")


def check_parameters(model: Any) -> None:
    check_training(model)
    check_positive(model, "tau")
    check_at_least_0(model, "lambda1", "lambda2", "lambda3")
    check_fraction(model, "warm_up", "guided")
    check_one_of(model, "masks", ("given", "soft"))
    check_one_of(model, "assignment", tuple(ASSIGNMENT_LOSSES))
    check_one_of(model, "targets", ("ica", "codes", "none"))
    check_one_of(model, "maps", ("auto", "linear", "network"))
    check_one_of(model, "placement", ("auto", "down"))
    if not callable(model.penalty):
        check_one_of(model, "penalty", PENALTIES)
    check_adversary(model)


def check_training(model: Any) -> None:
    """What all models have in common: training, networks, input and likelihood."""
    if model.tensorboard is not None:
        with needing("tensorboard="):
            import torch.utils.tensorboard  # noqa: F401
    has_most = hasattr(model, "max_steps")
    for name in ("epochs", "batch_size", "patience", "steps", *["max_steps"] * has_most):
        value, or_none = getattr(model, name), name != "max_steps" and (has_most or name != "steps")
        if not (or_none and value is None) and not is_whole(value, least=1):
            raise ValueError(f"{name} must be {'None or ' * or_none}a whole number, 1 or more; got {value!r}")
    for name in ("learning_rate", "sigma"):
        value = getattr(model, name)
        if value is not None and not (_is_number(value) and value > 0):
            raise ValueError(f"{name} must be None or a number above 0; got {value!r}")
    check_one_of(model, "schedule", tuple(SCHEDULES))
    check_one_of(model, "input", KINDS)
    check_one_of(model, "likelihood", LIKELIHOODS)
    names = (model.activation,) if isinstance(model.activation, str) else model.activation
    if not isinstance(names, Sequence) or len(names) > 2 or not all(name in ACTIVATIONS for name in names):
        known = ", ".join(ACTIVATIONS)
        raise ValueError(f"activation must be one of {known}, or two of encoder and decoder; got {names!r}")
    check_widths(model, "hidden")
    for name in ("encoder", "decoder"):
        if not callable(getattr(model, name)):  # a module, or a function that makes one
            check_one_of(model, name, NETWORKS)
    by_name = isinstance(model.encoder, str) and isinstance(model.decoder, str)
    if by_name and (model.encoder in CONVOLUTIONAL) != (model.decoder in CONVOLUTIONAL):
        both = f"{model.encoder!r} and {model.decoder!r}"
        raise ValueError(f"encoder and decoder must both be convolutional or both not; got {both}")
    for one in model.callbacks:
        if not callable(getattr(one, "on_epoch_end", one)):
            raise ValueError(f"callbacks must be functions of (record, model), or have on_epoch_end; got {one!r}")


def check_adversary(model: Any) -> None:
    if not callable(model.discriminator):  # a module, or a function that makes one
        check_widths(model, "discriminator")
    betas = model.discriminator_betas
    if not isinstance(betas, Sequence) or len(betas) != 2 or not all(_is_number(b) and 0 <= b < 1 for b in betas):
        raise ValueError(f"discriminator_betas must be two numbers from 0 to below 1; got {betas!r}")


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
            needed = "so fit needs paths too: one index per row, -1 where unknown"
            raise ValueError(f"hierarchy has {n_paths} paths, {needed}")
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


def check_codes(
    targets: str,
    hierarchy: Hierarchy | Mapping[str, Any] | None,
    paths: ArrayLike | None,
    codes: ArrayLike | None,
    n_rows: int,
) -> tuple[Float[np.ndarray, "n v"] | None, ArrayLike | None]:
    """The codes given to `fit`, and the paths, which follow from them if they are not given."""
    if (codes is not None) != (targets == "codes"):
        raise ValueError("targets='codes' and fit(X, hierarchy=..., codes=...) go together: give both or neither")
    if codes is None:
        return None, paths
    if hierarchy is None:
        raise ValueError("codes were given without the hierarchy that they follow")
    if not isinstance(hierarchy, Hierarchy):
        hierarchy = Hierarchy.from_dict(hierarchy)
    array = hierarchy.validate(codes)
    if len(array) != n_rows:
        raise ValueError(f"codes must have a row for each of the {n_rows} rows of X; got {len(array)}")
    return array, hierarchy.path_of(array) if paths is None else paths


def is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _check_numbers(model: Any, names: Sequence[str], allowed: str, is_allowed: Callable[[Any], bool]) -> None:
    for name in names:
        value = getattr(model, name)
        if not _is_number(value) or not is_allowed(value):
            raise ValueError(f"{name} must be a {allowed}; got {value!r}")


def check_positive(model: Any, *names: str) -> None:
    _check_numbers(model, names, "number above 0", lambda value: value > 0)


def check_at_least_0(model: Any, *names: str) -> None:
    _check_numbers(model, names, "number of at least 0", lambda value: value >= 0)


def check_fraction(model: Any, *names: str) -> None:
    _check_numbers(model, names, "fraction from 0 to 1", lambda value: 0 <= value <= 1)


def check_one_of(model: Any, name: str, allowed: Sequence[str]) -> None:
    value = getattr(model, name)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")


def check_widths(model: Any, name: str) -> None:
    widths = getattr(model, name)
    if not isinstance(widths, Sequence) or not all(isinstance(w, int) and w > 0 for w in widths):
        raise ValueError(f"{name} must be a sequence of widths above 0; got {widths!r}")


def tell_far_out(hierarchy: Hierarchy, codes: Float[np.ndarray, "n v"]) -> None:
    """Warn of rows that have no finite codes where they should have some."""
    far = ~(np.isfinite(codes) | ~hierarchy.active(codes)).all(axis=1)
    if far.any():
        which = f"{far.sum():,} row{'s' if far.sum() > 1 else ''}, the first is row {np.argmax(far)}"
        told = f"too far out to be encoded, their codes are not finite: {which}"
        warnings.warn(told, FarOut, stacklevel=4)
