"""COFHAE: an autoencoder whose code follows a hierarchy of variables, its ablations and its search."""

from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.estimator import COFHAE
from disentree.cofhae.search import COFHAESearch

__all__ = ["COFHAE", "COFHAESearch", "Encoding", "HierarchicalAutoencoder", "HierarchicalMask"]
