"""Figures, one function each. Each draws on what it is given, or makes its own, and returns it."""

from disentree.hierarchy.drawing import draw_hierarchy
from disentree.mimosa.explain.compared.drawing import draw_rows
from disentree.plots.datasets import draw_dataset
from disentree.plots.equivalents import draw_equivalents
from disentree.plots.mimosa import (
    draw_embedding,
    draw_found_hierarchy,
    draw_local_dimensions,
    draw_mimosa,
    draw_spectrum,
)
from disentree.plots.pairwise import draw_pairwise
from disentree.plots.reconstructions import draw_reconstructions
from disentree.plots.training import draw_training
from disentree.plots.traversals import draw_traversals, traversal_codes

__all__ = [
    "draw_dataset",
    "draw_embedding",
    "draw_equivalents",
    "draw_found_hierarchy",
    "draw_hierarchy",
    "draw_local_dimensions",
    "draw_mimosa",
    "draw_pairwise",
    "draw_reconstructions",
    "draw_rows",
    "draw_spectrum",
    "draw_training",
    "draw_traversals",
    "traversal_codes",
]
