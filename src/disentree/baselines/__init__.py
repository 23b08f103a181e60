"""The models that COFHAE is compared with: baselines with flat codes, and COFHAE's own ablations."""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.baselines.ablations import ABLATIONS
    from disentree.baselines.ae import AE
    from disentree.baselines.cascadevae import CascadeVAE
    from disentree.baselines.dipvae import DIPVAE
    from disentree.baselines.factorvae import FactorVAE
    from disentree.baselines.flat import FlatEstimator
    from disentree.baselines.hfs import HFS
    from disentree.baselines.jointvae import JointVAE
    from disentree.baselines.tcvae import BetaTCVAE
    from disentree.baselines.vae import VAE

__all__ = [
    "ABLATIONS", "AE", "DIPVAE", "HFS", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "FlatEstimator", "JointVAE",
]  # fmt: skip

# Imported when first used: they need torch.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ABLATIONS": "disentree.baselines.ablations",
        "AE": "disentree.baselines.ae",
        "CascadeVAE": "disentree.baselines.cascadevae",
        "DIPVAE": "disentree.baselines.dipvae",
        "FactorVAE": "disentree.baselines.factorvae",
        "FlatEstimator": "disentree.baselines.flat",
        "HFS": "disentree.baselines.hfs",
        "JointVAE": "disentree.baselines.jointvae",
        "BetaTCVAE": "disentree.baselines.tcvae",
        "VAE": "disentree.baselines.vae",
    },
)
