"""disentree: find the tree of manifolds in a data set and learn a representation that follows it."""

from disentree._version import __version__
from disentree.hierarchy import Hierarchy

__all__ = ["Hierarchy", "__version__"]
