"""Autoencoders whose code follows a hierarchy of variables."""

from disentree.autoencoders.cofhae import COFHAE
from disentree.autoencoders.hierarchical import Encoding, HierarchicalAutoencoder, HierarchicalMask
from disentree.autoencoders.search import COFHAESearch

__all__ = ["COFHAE", "COFHAESearch", "Encoding", "HierarchicalAutoencoder", "HierarchicalMask"]
