"""The models that COFHAE is compared with: six baselines with flat codes, and COFHAE's own ablations."""

from disentree.baselines.ablations import ABLATIONS
from disentree.baselines.ae import AE
from disentree.baselines.cascadevae import CascadeVAE
from disentree.baselines.factorvae import FactorVAE
from disentree.baselines.jointvae import JointVAE
from disentree.baselines.tcvae import BetaTCVAE
from disentree.baselines.vae import VAE

__all__ = ["ABLATIONS", "AE", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "JointVAE"]
