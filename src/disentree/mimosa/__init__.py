"""MIMOSA: manifolds, and the tree they form, from data alone.

The modules follow the data: `reduce` (initial representation), `neighbors`, `tangents`, `components`, `merge`,
`enclosure`, `assign`; `decompose` ties the default's middle steps together, `paper` has the paper's,
`saving` keeps what was found.
"""

from disentree.mimosa.estimator import MIMOSA, Component, compare_by_description_length

__all__ = ["MIMOSA", "Component", "compare_by_description_length"]
