"""The first line of the paper's Algorithm 1: choosing the initial representation, and reading a saved one.

Linear data needs no network; all other data goes through a smooth autoencoder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from disentree.mimosa.representation.base import Representation
from disentree.mimosa.representation.linear import MAX_LINEAR, linear_representation

REPRESENTATIONS = ("auto", "linear", "autoencoder")


def represent(
    X: Shaped[np.ndarray, "n ..."],
    choice: str,
    seed: np.random.SeedSequence,
    verbose: bool = False,
) -> Representation:
    """The initial representation of `X`: "linear", "autoencoder", or "auto" to let the spectrum decide."""
    linear = linear_representation(X) if choice != "autoencoder" else None
    if linear is not None:
        return linear
    if choice == "linear":
        raise ValueError(
            f"X is not linear: more than {MAX_LINEAR} principal components stand out; "
            "use representation='auto' or 'autoencoder'"
        )
    from disentree.mimosa.representation.autoencoder import autoencoder_representation

    return autoencoder_representation(X, seed, verbose)


def load_representation(path: str | os.PathLike[str]) -> Representation:
    """Read a representation that `Representation.save` wrote."""
    return Representation.load(path, _autoencoder)


def _autoencoder(weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Any:
    from disentree.mimosa.representation.autoencoder import Autoencoder

    return Autoencoder.from_weights(weights)
