"""The dimension hierarchy: which variables exist, and on which branch of the tree each is active."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy.codes import active_columns, as_codes, check_codes, draw_codes, path_indices, transferred
from disentree.hierarchy.columns import Path, Variable, paths_of, variables_of
from disentree.hierarchy.equivalence import canonical_form, merge_up, push_down, unroll
from disentree.hierarchy.moving import Move, moved_up, pushed_down
from disentree.hierarchy.parsing import parse, parse_json
from disentree.hierarchy.tree import Categorical, Continuous, Group
from disentree.hierarchy.writing import Shown, variables_to_list

__all__ = ["Categorical", "Continuous", "Group", "Hierarchy", "Move", "Path", "Variable"]


@dataclass(frozen=True, repr=False)
class Hierarchy(Shown):
    """A tree of groups of continuous and categorical variables. Immutable and hashable.

    Two hierarchies are equal when they have the same structure: the same kinds of variables in the same
    order with the same options. Names are labels and do not count; compare `to_dict()` to include them.

    Parameters
    ----------
    root : Group
        The topmost group. `from_dict`, `from_json` and `flat` are easier ways to build a hierarchy.

    Attributes
    ----------
    variables : tuple of Variable
        The columns of codes.
    paths : tuple of Path
        The leaves.

    Examples
    --------
    >>> h = Hierarchy.from_dict({"variables": [
    ...     {"kind": "continuous", "name": "x"},
    ...     {"kind": "categorical", "name": "shape", "options": [
    ...         {"name": "moon", "variables": [{"kind": "continuous", "name": "phase"}]},
    ...         {"name": "none", "variables": []}]}]})
    >>> print(h)
    ○ x
    ◇ shape
    ├── moon
    │   └── ○ phase
    └── none ∅
    >>> [v.name for v in h.variables], len(h.paths)
    (['x', 'shape', 'phase'], 2)
    >>> h.path_of([[0.5, 0, 0.1], [0.2, 1, float("nan")]]).tolist()
    [0, 1]
    """

    root: Group

    # ---------------------------------------------------------------- building and exporting

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Hierarchy:
        """Build a hierarchy from a dict.

        Parameters
        ----------
        tree : dict
            ``{"variables": [...]}``. A variable is a dict with ``kind`` ("continuous" or "categorical") and,
            for a categorical, ``options``: a list of dicts with ``variables``. Names may be left out and are
            then filled in.

        Returns
        -------
        Hierarchy

        Examples
        --------
        >>> Hierarchy.from_dict({"variables": [{"kind": "continuous"}]}).to_dict()
        {'variables': [{'kind': 'continuous', 'name': 'z1'}]}
        """
        return cls(parse(tree))

    def to_dict(self) -> dict[str, Any]:
        """The hierarchy as a dict that `from_dict` reads, with all names."""
        return {"variables": variables_to_list(self.root)}

    @classmethod
    def from_json(cls, text: str) -> Hierarchy:
        """Build a hierarchy from JSON text.

        Parameters
        ----------
        text : str
            What `to_json` writes, or any JSON of the form that `from_dict` takes.

        Returns
        -------
        Hierarchy
        """
        return cls(parse_json(text))

    def to_json(self, indent: int | None = 2) -> str:
        """The hierarchy as JSON text.

        Parameters
        ----------
        indent : int or None, default=2
            Spaces per level; None puts everything on one line.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    @classmethod
    def flat(cls, n_continuous: int, categories: Sequence[int] = ()) -> Hierarchy:
        """A hierarchy of one group.

        Parameters
        ----------
        n_continuous : int
            Number of continuous variables.
        categories : sequence of int, default=()
            Number of options of each categorical.

        Returns
        -------
        Hierarchy

        Examples
        --------
        >>> Hierarchy.flat(2, (3,))
        <Hierarchy: 2 continuous, 1 categorical, 3 paths>
        """
        if n_continuous < 0:
            raise ValueError(f"n_continuous must be 0 or more, got {n_continuous}")
        variables: list[dict[str, Any]] = [{"kind": "continuous"} for _ in range(n_continuous)]
        variables += [{"kind": "categorical", "options": [{"variables": []}] * k} for k in categories]
        return cls.from_dict({"variables": variables})

    # ---------------------------------------------------------------- columns and paths

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of a code array.

        A group's variables come in their listed order, the variables below a categorical's options directly
        after that categorical.
        """
        return variables_of(self.root)

    @property
    def n_variables(self) -> int:
        """Number of columns of codes."""
        return self.root.n_columns

    @cached_property
    def is_categorical(self) -> Bool[np.ndarray, " v"]:
        """For every column whether it is categorical."""
        return np.array([v.kind == "categorical" for v in self.variables], dtype=bool)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """All leaves. The first categorical of a group varies slowest."""
        return paths_of(self.root, self.variables)

    def active(self, codes: ArrayLike) -> Bool[np.ndarray, "n v"]:
        """Where each variable is active (`on` in the paper).

        Parameters
        ----------
        codes : array-like of shape (n_rows, n_variables)
            Codes; only the categorical columns are read.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_variables)
            True where the categoricals above a variable open its group.

        Examples
        --------
        >>> h = Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": [
        ...     {"variables": [{"kind": "continuous"}]}, {"variables": []}]}]})
        >>> h.active([[0, 0.5], [1, float("nan")]]).tolist()
        [[True, True], [True, False]]
        """
        return active_columns(self.variables, as_codes(codes, self.n_variables))

    def path_of(self, codes: ArrayLike) -> Int[np.ndarray, " n"]:
        """The path of every row.

        Parameters
        ----------
        codes : array-like of shape (n_rows, n_variables)
            Codes; only the categorical columns are read.

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Indices into `paths`; -1 where an active categorical is NaN (the row is not assigned).

        Examples
        --------
        >>> Hierarchy.flat(1, (2,)).path_of([[0.5, 1], [0.2, float("nan")]]).tolist()
        [1, -1]
        """
        return path_indices(self.root, self.variables, as_codes(codes, self.n_variables))

    def validate(self, codes: ArrayLike) -> Float[np.ndarray, "n v"]:
        """Check codes and return them as a float array.

        Active continuous values must be finite, active categorical values option indices, and everything
        inactive NaN.

        Parameters
        ----------
        codes : array-like of shape (n_rows, n_variables)
            Codes.

        Returns
        -------
        ndarray of float, shape (n_rows, n_variables)

        Raises
        ------
        ValueError
            Names the first row and variable that break the rules.
        """
        codes = as_codes(codes, self.n_variables)
        check_codes(self.variables, codes)
        return codes

    def sample(self, n_samples: int, random_state: int | np.random.Generator = 0) -> Float[np.ndarray, "n v"]:
        """Draw codes with every option equally likely and continuous variables uniform on [0, 1].

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int or numpy.random.Generator, default=0
            Seed or generator.

        Returns
        -------
        ndarray of float, shape (n_samples, n_variables)
        """
        return draw_codes(self.variables, n_samples, np.random.default_rng(random_state))

    def description_length(self, codes: ArrayLike, float_bits: float = 32) -> float:
        """Mean number of bits per row (the paper's remark on parsimony).

        Parameters
        ----------
        codes : array-like of shape (n_rows, n_variables)
            Codes.
        float_bits : float, default=32
            Bits of an active continuous variable. An active categorical has the log2 of its number of options.

        Returns
        -------
        float

        Examples
        --------
        >>> Hierarchy.flat(1, (4,)).description_length([[0.5, 0], [0.1, 3]])
        34.0
        """
        on = self.active(self.validate(codes))
        bits = [math.log2(v.n_options) if v.kind == "categorical" else float_bits for v in self.variables]
        if not len(on):
            raise ValueError("codes must have at least one row")
        return float(on.mean(axis=0) @ np.array(bits)) if bits else 0.0

    # ---------------------------------------------------------------- equivalent hierarchies

    def canonical(self) -> tuple:
        """The structure that merging up, pushing down and reordering do not change.

        A group's label is the minimum dimension of the leaves below it, counted from the root; children are
        sorted by the sorted labels below them and then by their own canonical form, so that ties between
        children of different shape cannot depend on the order in which they were written. A group with more
        than one categorical has a node labeled -1 for each of them, above the groups of its options: a choice of
        its own, unlike a group, so that independent choices never look like nested ones. The result is nested
        tuples ``(label, children)``.

        Examples
        --------
        >>> h = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [
        ...     {"variables": []}, {"variables": [{"kind": "continuous"}]}]}]})
        >>> h.canonical() == h.pushed_down().canonical()
        True
        """
        return canonical_form(self.root, 0)

    def merged_up(self) -> Hierarchy:
        """The equivalent hierarchy with every continuous variable as near to the root as possible: those that all
        options of a categorical have are joined into one above it."""
        return Hierarchy(merge_up(self.root))

    def pushed_down(self) -> Hierarchy:
        """The equivalent hierarchy with every continuous variable repeated as far down as possible."""
        return Hierarchy(push_down(self.root, ()))

    def unrolled(self) -> Hierarchy:
        """The tree with one categorical in a group, as in the paper: the second is repeated below every option
        of the first.

        It has the same paths in the same order, but a variable of its own on each: what was one choice is many.

        Examples
        --------
        >>> Hierarchy.flat(1, (2, 3)).unrolled()
        <Hierarchy: 1 continuous, 3 categorical, 6 paths>
        """
        return Hierarchy(unroll(self.root))

    def move_up(self, same: Sequence[Sequence[int]]) -> Move:
        """Variables that are the same on different branches as one, above these.

        Parameters
        ----------
        same : list of list of int
            For each new variable the columns that become it: every path below the lowest group above them has one.

        Returns
        -------
        Move
            The hierarchy `after`, and how `codes` get there and `back`.

        Examples
        --------
        >>> h = Hierarchy.flat(1, (2,))
        >>> down = h.push_down([0]).after
        >>> [v.name for v in down.variables], down.move_up([[1, 2]]).after == h
        (['c1', 'z1', 'z1'], True)
        """
        root, sources = moved_up(self, same)
        return Move(self, Hierarchy(root), sources)

    def push_down(self, columns: Sequence[int]) -> Move:
        """Variables repeated in every option of the first categorical of their group.

        Parameters
        ----------
        columns : list of int
            Of continuous variables that have a categorical beside them.

        Returns
        -------
        Move
            The hierarchy `after`, and how `codes` get there and `back`.
        """
        root, sources = pushed_down(self, columns)
        return Move(self, Hierarchy(root), sources)

    def transfer(self, codes: ArrayLike, other: Hierarchy) -> Float[np.ndarray, "n w"]:
        """Codes for an equivalent hierarchy (`merged_up`, `pushed_down`, `unrolled`).

        Parameters
        ----------
        codes : array-like of shape (n_rows, n_variables)
            Codes for this hierarchy.
        other : Hierarchy
            A hierarchy with the same paths, each with the same dimension.

        Returns
        -------
        ndarray of float, shape (n_rows, other.n_variables)
            The same paths; the continuous variables of each path in their order.
        """
        codes = self.validate(codes)
        return transferred(codes, self.path_of(codes), self.paths, other.paths, other.n_variables)
