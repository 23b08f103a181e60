"""Figures, one function each. Each draws on the axes it is given, or makes its own, and returns them."""

from disentree.plots.datasets import draw_dataset
from disentree.plots.hierarchy import draw_hierarchy

__all__ = ["draw_dataset", "draw_hierarchy"]
