"""Clusters: mixtures of Gaussians, joined where no valley separates them."""
