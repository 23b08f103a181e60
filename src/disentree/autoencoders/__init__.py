"""Autoencoders whose code follows a hierarchy of variables, and the flat ones they are compared with."""

from disentree.autoencoders.ablations import ABLATIONS
from disentree.autoencoders.ae import AE
from disentree.autoencoders.cascadevae import CascadeVAE
from disentree.autoencoders.cofhae import COFHAE
from disentree.autoencoders.factorvae import FactorVAE
from disentree.autoencoders.hierarchical import Encoding, HierarchicalAutoencoder, HierarchicalMask
from disentree.autoencoders.jointvae import JointVAE
from disentree.autoencoders.search import COFHAESearch
from disentree.autoencoders.tcvae import BetaTCVAE
from disentree.autoencoders.vae import VAE

__all__ = [
    "ABLATIONS",
    "AE",
    "COFHAE",
    "VAE",
    "BetaTCVAE",
    "COFHAESearch",
    "CascadeVAE",
    "Encoding",
    "FactorVAE",
    "HierarchicalAutoencoder",
    "HierarchicalMask",
    "JointVAE",
]
