"""Numerical geometry on plain arrays: neighbors, subspaces, charts, hulls. No torch."""
