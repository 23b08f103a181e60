"""What a COFHAE does where its parameters leave it open: it depends on the data and on the other parameters."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.cofhae import constants
from disentree.cofhae.fitting.algorithm2 import Settings
from disentree.cofhae.inputs import InputLayer
from disentree.geometry.maps.choosing import choose_map
from disentree.training.batches import TensorBatches
from disentree.training.data import Source


def has_length(model: Any) -> bool:
    """Whether the length of the training is given."""
    return model.steps is not None or model.epochs is not None


def most_steps(model: Any, per_epoch: int, longer: int) -> int:
    """Minibatches of a training whose length is not given, at most: whole epochs."""
    return per_epoch * min(math.ceil(longer * model.max_steps / per_epoch), constants.MOST_EPOCHS)


def held_out_rows(model: Any, n_rows: int, rng: np.random.Generator) -> Int[np.ndarray, " m"]:
    """Rows that are left out of a training whose length is not given: a tenth, within limits."""
    if (has_length(model) and model.patience is None) or getattr(model, "maps", "") == "linear":
        return np.zeros(0, dtype=np.int64)
    most = constants.MOST_HELD_OUT
    n = min(most, max(n_rows // 10, min(constants.FEWEST_HELD_OUT, n_rows // 5)))
    return np.sort(rng.choice(n_rows, n, replace=False))


def check_patience(model: Any, batches: Any) -> None:
    """Rows are held out for `patience` if all are in memory."""
    if model.patience is not None and not isinstance(batches, TensorBatches):
        raise ValueError("patience needs the rows in memory: these are too many, so give steps or epochs instead")


def adds_up(model: Any, source: Source) -> bool:
    """Whether the paths are too many for a map each, or cells tell the options, and nothing asks for networks."""
    table = model.preprocessor_.table
    branches = table is not None and bool(table.branches)
    kind = choose_map(model.hierarchy_, model.input_.n_features, has_presence=branches)
    return _linear_is_fine(model) and kind == "additive" and len(source.shape) == 1


def wants_closed_form(model: Any, layer: InputLayer) -> bool:
    """Whether there may be an affine map for each path: for vectors, or images as principal components, and the
    default losses."""
    if layer.in_pixels or (layer.is_image and layer.kind != "pca"):
        if model.maps == "linear":
            raise ValueError("maps='linear' is for vectors with a Gaussian likelihood, or images with input='pca'")
        return False
    return _linear_is_fine(model)


def _linear_is_fine(model: Any) -> bool:
    """Whether no setting asks for networks of some kind."""
    named = model.encoder in ("auto", "mlp") and model.decoder in ("auto", "mlp")
    own = model.targets == "ica" and model.penalty == "auto" and model.masks == "given"
    return model.maps == "linear" or (model.maps == "auto" and named and own and not has_length(model))


def settings_of(model: Any, guided: bool = False) -> Settings:
    """Parameters of the loss, with "auto" resolved."""
    penalty = model.penalty
    if penalty == "auto":
        deep = np.array([path.dimension for path in model.hierarchy_.paths]) > 1
        penalty = "adversarial" if (deep & (model.trust_ < 0.5)).any() else "none"
    given = {field.name: getattr(model, field.name) for field in fields(Settings)}
    return Settings(**{**given, "penalty": penalty, "guided": model.guided if guided else 0.0})
