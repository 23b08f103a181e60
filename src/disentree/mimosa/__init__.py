"""MIMOSA: manifolds, and the tree they form, from data alone.

`estimator` reads as the steps follow each other: `representation` (coordinates in which components are found),
`finders` (the components), `tree` (which encloses which), `assign` (rows without a component), `component`
(what is said about each). `paper` has the paper's version, one file for each of its algorithms. `judged` asks
several finders (`search`) and chooses by held-out bits (`judge`), for tables, clusters, and curved or noisy data.
"""

from disentree.mimosa.component import Component
from disentree.mimosa.estimator import MIMOSA, compare_by_description_length
from disentree.mimosa.judge import description_length
from disentree.mimosa.judged import JudgedMIMOSA
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA

__all__ = [
    "MIMOSA",
    "Component",
    "JudgedMIMOSA",
    "PaperMIMOSA",
    "compare_by_description_length",
    "description_length",
]
