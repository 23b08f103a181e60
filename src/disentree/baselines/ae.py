"""The autoencoder: reconstruction and nothing else."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch


class AE(FlatEstimator):
    """An autoencoder with a flat code.

    loss = reconstruction

    It has no parameters besides those of `FlatEstimator`, and is also the ablation of COFHAE that the paper
    calls "Flat".
    """

    _variances: ClassVar[bool] = False

    def _terms(self, batch: Minibatch) -> dict[str, Tensor]:
        reconstruction = batch.reconstruction(batch.code.mean)
        return {"loss": reconstruction, "reconstruction": reconstruction}
