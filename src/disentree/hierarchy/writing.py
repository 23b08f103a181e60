"""A hierarchy in other forms: dict, text, HTML and graph."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from disentree.hierarchy.tree import Categorical, Continuous, Group

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

MOST_LISTED = 20  # continuous variables of a group that have a line each in its text form


class Shown:
    """How a hierarchy looks: as text, in a notebook, drawn, as a graph."""

    root: Group
    variables: Any  # tuples that are made when they are first asked for
    paths: Any

    def to_networkx(self) -> networkx.DiGraph:
        """The tree as a graph of group and variable nodes.

        Edges go from a group to its variables and from a categorical to the groups that its options open.

        Examples
        --------
        >>> from disentree import Hierarchy
        >>> Hierarchy.flat(1, (2,)).to_networkx().number_of_nodes()
        5
        """
        return graph_of(self.root)

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
        >>> from disentree import Hierarchy
        >>> ax = Hierarchy.flat(2).draw()
        """
        from disentree.hierarchy.drawing import draw_hierarchy

        own: Any = self
        return draw_hierarchy(own, ax=ax, **style)

    def __str__(self) -> str:
        return "\n".join(text_lines(self.root)) or "∅"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_page(self.root, {path.dimension for path in self.paths})

    def __repr__(self) -> str:
        kinds = [v.kind for v in self.variables]
        return (
            f"<Hierarchy: {kinds.count('continuous')} continuous, "
            f"{kinds.count('categorical')} categorical, {self.root.n_paths} paths>"
        )


def variables_to_list(group: Group) -> list[dict[str, Any]]:
    """The variables of a group in dict form."""
    out: list[dict[str, Any]] = []
    for variable in group.variables:
        if isinstance(variable, Continuous):
            out.append({"kind": "continuous", "name": variable.name})
        else:
            options = [{"name": o.name, "variables": variables_to_list(o)} for o in variable.options]
            out.append({"kind": "categorical", "name": variable.name, "options": options})
    return out


def text_lines(group: Group) -> Iterator[str]:
    """The lines of a group's text form; continuous variables that are many are on one line."""
    for variables in _on_lines(group):
        first, last = variables[0], variables[-1]
        if isinstance(first, Categorical):
            yield f"◇ {first.name}"
            yield from _branches((o.name + ("" if o.variables else " ∅"), o) for o in first.options)
        elif len(variables) > 1:
            yield f"○ {first.name}, {variables[1].name}, …, {last.name}: {len(variables)} variables"
        else:
            yield f"○ {first.name}"


def _on_lines(group: Group) -> list[list[Continuous | Categorical]]:
    """The variables of a group that are on each line of its text form."""
    out: list[list[Continuous | Categorical]] = []
    for kind, run in groupby(group.variables, key=lambda variable: isinstance(variable, Continuous)):
        variables = list(run)
        out += [variables] if kind and len(variables) > MOST_LISTED else [[variable] for variable in variables]
    return out


def html_page(root: Group, dimensions: set[int]) -> str:
    """A hierarchy as a notebook shows it, with the number of its paths and their dimensions."""
    low, high = min(dimensions), max(dimensions)
    extent = f"{low}" if low == high else f"{low} to {high}"
    about = f"{root.n_paths} path{'s' * (root.n_paths != 1)}, {extent} dimension{'s' * (extent != '1')}"
    return f"<div><small>{about}</small>{html_list(root)}</div>"


def html_list(group: Group) -> str:
    """The variables of a group as a nested list, without any style sheet."""
    if not group.variables:
        return ""
    items = []
    for variable in group.variables:
        name = escape(variable.name)
        if isinstance(variable, Continuous):
            items.append(f"<li>○ {name}</li>")
            continue
        options = "".join(f"<li><b>{escape(o.name)}</b>{html_list(o) or ' ∅'}</li>" for o in variable.options)
        items.append(f"<li>◇ {name}<ul>{options}</ul></li>")
    return f'<ul style="list-style:none;margin:0;padding-left:1.2em">{"".join(items)}</ul>'


def _branches(items: Any) -> Iterator[str]:
    items = list(items)
    for k, (title, group) in enumerate(items):
        last = k == len(items) - 1
        yield ("└── " if last else "├── ") + title
        indent = "    " if last else "│   "
        for line, inner in _mark_last(text_lines(group), group):
            yield indent + inner + line


def _mark_last(lines: Iterator[str], group: Group) -> Iterator[tuple[str, str]]:
    """Prefix a group's own lines with branch marks, and those of the groups below with a rail."""
    left = len(_on_lines(group))
    for line in lines:
        if line[0] in "○◇":
            left -= 1
            yield line, "├── " if left else "└── "
        else:
            yield line, "│   " if left else "    "


def graph_of(root: Group) -> networkx.DiGraph:
    """A node for each group and each variable."""
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

    add(root, 0, "root", "root")
    return graph
