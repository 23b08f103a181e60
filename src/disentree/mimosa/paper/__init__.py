"""The MIMOSA of the paper: Algorithms 1 and 3 to 7, with the settings of its appendix."""

from disentree.mimosa.paper.estimator import PaperMIMOSA

__all__ = ["PaperMIMOSA"]
