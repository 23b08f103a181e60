"""MIMOSA: manifolds, and the tree they form, from data alone.

`estimator` reads as the steps follow each other: `coordinates` (in which components are found), `search` (which
asks the `finders` and lets the `judge` choose by held-out bits), `arrangement` (which encloses which).
`paper` has the paper's version, one file for each of its algorithms.
"""

from disentree.mimosa.estimator import MIMOSA
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA
from disentree.mimosa.search.judge import description_length
from disentree.mimosa.tree.component import Component

__all__ = [
    "MIMOSA",
    "Component",
    "PaperMIMOSA",
    "description_length",
]
