"""The autoencoder: reconstruction and nothing else."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch
from disentree.baselines.shared_docs import documented


@documented
class AE(FlatEstimator):
    """An autoencoder with a flat code.

    loss = reconstruction

    It is also the ablation of COFHAE that the paper calls "Flat".

    Parameters
    ----------
    {flat_model}

    Examples
    --------
    >>> from disentree import AE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = AE(n_continuous=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    _variances: ClassVar[bool] = False

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        reconstruction = batch.reconstruction(batch.code.mean)
        return {"loss": reconstruction, "reconstruction": reconstruction}
