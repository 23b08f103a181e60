"""Figures, one function each. Each draws on what it is given, or makes its own, and returns it."""

from disentree.plots.datasets import draw_dataset
from disentree.plots.hierarchy import draw_hierarchy
from disentree.plots.pairwise import draw_pairwise
from disentree.plots.reconstructions import draw_reconstructions
from disentree.plots.training import draw_training
from disentree.plots.traversals import draw_traversals, traversal_codes

__all__ = [
    "draw_dataset",
    "draw_hierarchy",
    "draw_pairwise",
    "draw_reconstructions",
    "draw_training",
    "draw_traversals",
    "traversal_codes",
]
