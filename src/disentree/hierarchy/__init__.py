"""The hierarchy of variables, codes that follow it, and their text, JSON and drawing."""

from disentree.hierarchy.hierarchy import Categorical, Continuous, Group, Hierarchy, Path, Variable

__all__ = ["Categorical", "Continuous", "Group", "Hierarchy", "Path", "Variable"]
