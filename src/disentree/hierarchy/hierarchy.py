"""The dimension hierarchy: which variables exist, and on which branch of the tree each is active.

A `Hierarchy` is a tree of groups. A group holds continuous variables and categoricals; each option of a
categorical opens a child group, possibly empty. In the paper's picture a continuous variable is a slider,
a categorical is a set of radio buttons, and choosing a button opens the group of controls below it.

*Codes* for a hierarchy are an ``(n, n_variables)`` float array: continuous values as they are, categorical
values as option index, NaN where a variable is not active. Columns follow `Hierarchy.variables`. A *path* is
a leaf of the tree, that is, one choice for every categorical that is active: an index into `Hierarchy.paths`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy.tree import (
    Categorical,
    Continuous,
    Group,
    canonical_form,
    given_names,
    group_from_dict,
    html_list,
    merge_up,
    push_down,
    text_lines,
    unroll,
    variables_to_list,
    walk_paths,
)

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

__all__ = ["Categorical", "Continuous", "Group", "Hierarchy", "Path", "Variable"]


@dataclass(frozen=True)
class Variable:
    """One column of a code array: a variable and its place in the tree.

    Attributes
    ----------
    index : int
        The column.
    name : str
        A label.
    kind : {"continuous", "categorical"}
        Which values it has.
    parent : int or None
        Column of the categorical above it; None at the root.
    option : int or None
        The option of that categorical which opens its group.
    depth : int
        Number of categoricals above it.
    options : tuple of str
        Names of the options of a categorical.
    """

    index: int
    name: str
    kind: Literal["continuous", "categorical"]
    parent: int | None  # column of the categorical above it, None at the root
    option: int | None  # the option of that categorical which opens its group
    depth: int  # number of categoricals above it
    options: tuple[str, ...] = ()

    @property
    def n_options(self) -> int:
        """Number of options; 0 for a continuous variable."""
        return len(self.options)


@dataclass(frozen=True)
class Path:
    """One leaf of the tree.

    Attributes
    ----------
    index : int
        Its position in `Hierarchy.paths`.
    name : str
        The choices that lead to it, as in ``"shape=moon/jet=yes"``; ``"all"`` if there are none.
    choices : tuple of (int, int)
        Column of a categorical and the option chosen, for every categorical on the path.
    active : tuple of int
        Columns that are active on the path, ascending.
    continuous : tuple of int
        The continuous ones among them, each group before the groups that it opens.
    """

    index: int
    name: str
    choices: tuple[tuple[int, int], ...]  # (categorical's column, option)
    active: tuple[int, ...]  # columns, ascending
    continuous: tuple[int, ...]  # the continuous ones among them, each group before the groups it opens

    @property
    def dimension(self) -> int:
        """Number of continuous variables on the path."""
        return len(self.continuous)


@dataclass(frozen=True)
class Hierarchy:
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
        return cls._from_tree(tree)

    @classmethod
    def _from_tree(cls, tree: Any) -> Hierarchy:
        taken = set(given_names(tree))
        counters = {"continuous": itertools.count(1), "categorical": itertools.count(1)}

        def fresh(kind: str) -> str:
            names = (f"{'z' if kind == 'continuous' else 'c'}{i}" for i in counters[kind])
            return next(name for name in names if name not in taken)

        return cls(group_from_dict(tree, "hierarchy", "", fresh))

    def to_dict(self) -> dict[str, Any]:
        """The hierarchy as a dict that `from_dict` reads.

        Returns
        -------
        dict
            With all names.
        """
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
        try:
            tree = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"a hierarchy must be JSON: {error.msg} at line {error.lineno}, column {error.colno}"
            ) from None
        return cls._from_tree(tree)

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

    def to_networkx(self) -> networkx.DiGraph:
        """The tree as a graph of group and variable nodes.

        Returns
        -------
        networkx.DiGraph
            Edges go from a group to its variables and from a categorical to the groups that its options open.

        Examples
        --------
        >>> Hierarchy.flat(1, (2,)).to_networkx().number_of_nodes()
        5
        """
        import networkx

        graph = networkx.DiGraph()

        def add(group: Group, column: int, node: str, label: str) -> int:
            graph.add_node(node, kind="group", name=label, label=group.min_dimension)
            for variable in group.variables:
                kind = "continuous" if isinstance(variable, Continuous) else "categorical"
                name = f"variable{column}"
                graph.add_node(name, kind=kind, name=variable.name, column=column)
                graph.add_edge(node, name)
                column += 1
                if isinstance(variable, Categorical):
                    for k, option in enumerate(variable.options):
                        child = f"{name}.option{k}"
                        column = add(option, column, child, option.name)
                        graph.add_edge(name, child, option=k, name=option.name)
            return column

        add(self.root, 0, "root", "root")
        return graph

    def draw(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the tree: boxes for groups, circles for continuous and diamonds for categorical variables.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **style
            Further parameters of `disentree.plots.draw_hierarchy`.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> ax = Hierarchy.flat(2).draw()
        """
        from disentree.hierarchy.drawing import draw_hierarchy

        return draw_hierarchy(self, ax=ax, **style)

    def __str__(self) -> str:
        return "\n".join(text_lines(self.root)) or "∅"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        n_paths = len(self.paths)
        dimensions = sorted({path.dimension for path in self.paths})
        extent = f"{dimensions[0]}" if len(dimensions) == 1 else f"{dimensions[0]} to {dimensions[-1]}"
        about = f"{n_paths} path{'s' * (n_paths != 1)}, {extent} dimension{'s' * (extent != '1')}"
        return f"<div><small>{about}</small>{html_list(self.root)}</div>"

    def __repr__(self) -> str:
        kinds = [v.kind for v in self.variables]
        return (
            f"<Hierarchy: {kinds.count('continuous')} continuous, "
            f"{kinds.count('categorical')} categorical, {self.root.n_paths} paths>"
        )

    # ---------------------------------------------------------------- columns and paths

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of a code array.

        A group's variables come in their listed order, the variables below a categorical's options directly
        after that categorical.
        """
        out: list[Variable] = []

        def visit(group: Group, parent: int | None, option: int | None, depth: int) -> None:
            for variable in group.variables:
                column = len(out)
                if isinstance(variable, Continuous):
                    out.append(Variable(column, variable.name, "continuous", parent, option, depth))
                    continue
                names = tuple(o.name for o in variable.options)
                out.append(Variable(column, variable.name, "categorical", parent, option, depth, names))
                for k, child in enumerate(variable.options):
                    visit(child, column, k, depth + 1)

        visit(self.root, None, None, 0)
        return tuple(out)

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
        names = [v.name for v in self.variables]
        option_names = [v.options for v in self.variables]
        out = []
        for index, (choices, active, continuous) in enumerate(walk_paths(self.root, 0)):
            name = "/".join(f"{names[c]}={option_names[c][k]}" for c, k in choices) or "all"
            out.append(Path(index, name, choices, tuple(sorted(active)), continuous))
        return tuple(out)

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
        codes = self._as_codes(codes)
        on = np.ones(codes.shape, dtype=bool)
        for v in self.variables:
            if v.parent is not None:
                on[:, v.index] = on[:, v.parent] & (codes[:, v.parent] == v.option)
        return on

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
        codes = self._as_codes(codes)
        unassigned = np.zeros(len(codes), dtype=bool)
        index = self._paths_below(self.root, 0, codes, np.arange(len(codes)), unassigned)
        index[unassigned] = -1
        return index

    def _paths_below(
        self,
        group: Group,
        column: int,
        codes: Float[np.ndarray, "n v"],
        rows: Int[np.ndarray, " m"],
        unassigned: Bool[np.ndarray, " n"],
    ) -> Int[np.ndarray, " m"]:
        """The path of each of `rows` among those through `group`, whose first column is `column`; marks rows
        without one in `unassigned`. No closure: one that calls itself would keep the codes alive."""
        index = np.zeros(len(rows), dtype=np.int64)
        for variable in group.variables:
            values, name = codes[rows, column], self.variables[column].name
            column += 1
            if isinstance(variable, Continuous):
                continue
            chosen, start = np.zeros(len(rows), dtype=np.int64), 0
            unknown = np.ones(len(rows), dtype=bool)
            for k, option in enumerate(variable.options):
                here = values == k
                unknown &= ~here
                chosen[here] = start + self._paths_below(option, column, codes, rows[here], unassigned)
                start += option.n_paths
                column += option.n_columns
            missing = np.isnan(values)
            if (unknown & ~missing).any():
                at = int(np.flatnonzero(unknown & ~missing)[0])
                raise ValueError(_not_an_option(int(rows[at]), name, values[at], len(variable.options)))
            unassigned[rows[missing]] = True
            index = index * start + chosen
        return index

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
        codes = self._as_codes(codes)
        on = self.active(codes)
        first, message = len(codes), ""
        for v in self.variables:
            values, active = codes[:, v.index], on[:, v.index]
            bad = np.where(active, ~np.isfinite(values), ~np.isnan(values))
            if v.kind == "categorical":
                option = np.isin(values, np.arange(v.n_options))
                bad |= active & ~option
            if not bad.any() or (row := int(np.argmax(bad))) >= first:
                continue
            first, value = row, values[row]
            if not active[row]:
                message = f"row {row}: variable {v.name!r} is inactive and must be NaN, got {value:g}"
            elif np.isnan(value):
                message = f"row {row}: variable {v.name!r} is active and must have a value, got NaN"
            elif v.kind == "categorical":
                message = _not_an_option(row, v.name, value, v.n_options)
            else:
                message = f"row {row}: variable {v.name!r} must be finite, got {value:g}"
        if message:
            raise ValueError(f"codes do not fit the hierarchy: {message}")
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

        Examples
        --------
        >>> h = Hierarchy.flat(2, (3,))
        >>> h.validate(h.sample(5)).shape
        (5, 3)
        """
        rng = np.random.default_rng(random_state)
        codes = np.full((n_samples, self.n_variables), np.nan)
        for v in self.variables:
            on = slice(None) if v.parent is None else codes[:, v.parent] == v.option
            n_on = len(codes[on])
            codes[on, v.index] = rng.random(n_on) if v.n_options == 0 else rng.integers(v.n_options, size=n_on)
        return codes

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
        its own, unlike a group, so that independent choices never look like nested ones.

        Returns
        -------
        tuple
            Nested tuples ``(label, children)``.

        Examples
        --------
        >>> h = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [
        ...     {"variables": []}, {"variables": [{"kind": "continuous"}]}]}]})
        >>> h.canonical() == h.pushed_down().canonical()
        True
        """
        return canonical_form(self.root, 0)

    def merged_up(self) -> Hierarchy:
        """The equivalent hierarchy with every continuous variable as near to the root as possible.

        Variables that all options of a categorical have are joined into one above it.

        Returns
        -------
        Hierarchy
        """
        return Hierarchy(merge_up(self.root))

    def pushed_down(self) -> Hierarchy:
        """The equivalent hierarchy with every continuous variable repeated as far down as possible.

        Returns
        -------
        Hierarchy
        """
        return Hierarchy(push_down(self.root, ()))

    def unrolled(self) -> Hierarchy:
        """The tree with one categorical in a group, as in the paper: the second is repeated below every option
        of the first.

        It has the same paths in the same order, but a variable of its own on each: what was one choice is many.

        Returns
        -------
        Hierarchy

        Examples
        --------
        >>> Hierarchy.flat(1, (2, 3)).unrolled()
        <Hierarchy: 1 continuous, 3 categorical, 6 paths>
        """
        return Hierarchy(unroll(self.root))

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
        if [p.dimension for p in self.paths] != [p.dimension for p in other.paths]:
            raise ValueError("the other hierarchy must have the same paths with the same dimensions")
        out = np.full((len(codes), other.n_variables), np.nan)
        path = self.path_of(codes)
        for mine, theirs in zip(self.paths, other.paths, strict=True):
            rows = np.flatnonzero(path == mine.index)
            here = np.ix_(rows, np.array(mine.continuous, dtype=np.intp))
            there = np.ix_(rows, np.array(theirs.continuous, dtype=np.intp))
            out[there] = codes[here]
            for column, option in theirs.choices:
                out[rows, column] = option
        return out

    def _as_codes(self, codes: ArrayLike) -> Float[np.ndarray, "n v"]:
        try:
            array = np.asarray(codes, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("codes must be a numeric array of shape (n_rows, n_variables)") from None
        if array.ndim != 2 or array.shape[1] != self.n_variables:
            raise ValueError(
                f"codes must have shape (n_rows, {self.n_variables}), one column for each variable of the "
                f"hierarchy; got {array.shape}"
            )
        return array


def _not_an_option(row: int, name: str, value: float, n_options: int) -> str:
    return f"row {row}: categorical {name!r} must be an option index 0..{n_options - 1}, got {value:g}"
