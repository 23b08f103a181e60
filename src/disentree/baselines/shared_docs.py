"""Descriptions of the parameters and attributes that the flat baselines share."""

from __future__ import annotations

import textwrap

from disentree.cofhae import shared_docs
from disentree.utils.docstrings import insert_shared

ENTRIES = {
    **shared_docs.ENTRIES,
    "attributes": "\n\nAttributes\n----------",
    "flat_parameters": """
        steps : int, default=4000
            Length of the training in minibatches, rounded up to whole epochs; not used if `epochs` is set.
        n_continuous : int or None, default=None
            Number of continuous variables. None: as many as the hierarchy given to `fit` has, else 10.
        sigma : float or None, default=0.0707
            Standard deviation of the Gaussian likelihood in units of X: how much a reconstruction error weighs
            against the other terms. The default makes it 100 times the squared error. None measures
            reconstructions against the variance of the data.
        """,
    "flat_attributes": """
        hierarchy_ : Hierarchy
            One group with the variables of the model.
        history_ : list of dict
            One per epoch: epoch, loss, reconstruction, the model's own terms, seconds.
        """,
}

# All of a flat model's reference but its own parameters and example
_PARTS = ("flat_parameters", "training_parameters", "attributes", "flat_attributes", "model_attributes")
_FLAT = "\n".join(textwrap.dedent(ENTRIES[part]).rstrip().removeprefix("\n") for part in _PARTS)

documented = insert_shared({"flat_model": _FLAT})
