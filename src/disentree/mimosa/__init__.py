"""MIMOSA: manifolds, and the tree they form, from data alone.

`estimator` reads as the steps follow each other: `coordinates` (in which components are found), `search` (which
asks the `finders` and lets the `judge` choose by held-out bits), `arrangement` (which encloses which).
`paper` has the paper's version, one file for each of its algorithms.
"""

from disentree.mimosa.annotated import annotate
from disentree.mimosa.component import Component
from disentree.mimosa.estimator import MIMOSA
from disentree.mimosa.judge import description_length
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA

__all__ = [
    "MIMOSA",
    "Component",
    "PaperMIMOSA",
    "annotate",
    "description_length",
]
