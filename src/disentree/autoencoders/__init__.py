"""Autoencoders whose code follows a hierarchy of variables."""

from disentree.autoencoders.cofhae import COFHAE
from disentree.autoencoders.hierarchical import Encoding, HierarchicalAutoencoder, HierarchicalMask

__all__ = ["COFHAE", "Encoding", "HierarchicalAutoencoder", "HierarchicalMask"]
