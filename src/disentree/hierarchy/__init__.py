"""The hierarchy of variables, codes that follow it, and their text, JSON and drawing.

A `Hierarchy` is a tree of groups. A group holds continuous variables and categoricals; each option of a
categorical opens a child group, possibly empty. In the paper's picture a continuous variable is a slider,
a categorical is a set of radio buttons, and choosing a button opens the group of controls below it.

*Codes* for a hierarchy are an ``(n, n_variables)`` float array: continuous values as they are, categorical
values as option index, NaN where a variable is not active. Columns follow `Hierarchy.variables`. A *path* is
a leaf of the tree, that is, one choice for every categorical that is active: an index into `Hierarchy.paths`.
"""

from disentree.hierarchy.hierarchy import Categorical, Continuous, Group, Hierarchy, Move, Path, Variable

__all__ = ["Categorical", "Continuous", "Group", "Hierarchy", "Move", "Path", "Variable"]
