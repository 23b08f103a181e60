"""Reading a saved representation, with or without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from disentree.mimosa.coordinates.representation import Representation
from disentree.utils.extras import needing


def load_representation(path: str | os.PathLike[str]) -> Representation:
    """Read a representation that `Representation.save` wrote."""
    return Representation.load(path, _autoencoder)


def _autoencoder(weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Any:
    with needing("MIMOSA's autoencoder"):
        from disentree.mimosa.coordinates.autoencoder import Autoencoder

    return Autoencoder.from_weights(weights)
