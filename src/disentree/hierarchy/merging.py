"""Coarser and finer trees: leaves merged, and a leaf split in several."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from disentree.hierarchy.columns import Path
from disentree.hierarchy.hierarchy import Hierarchy
from disentree.hierarchy.renaming import relabeled
from disentree.hierarchy.tree import Categorical, Continuous, Group

Chain = tuple[str, ...]  # options by their marks, from a categorical down to a leaf


@dataclass(frozen=True)
class Merging:
    """A tree with fewer leaves.

    Attributes
    ----------
    after : Hierarchy
    paths : tuple of int
        For each path of the tree before, its path in `after`.
    """

    after: Hierarchy
    paths: tuple[int, ...]


def merge_paths(hierarchy: Hierarchy, a: int, b: int) -> Merging:
    """One leaf in place of two, with the variables of the one that has more of them.

    It is an option of the choice at which their paths part. Paths that differ in one of several independent
    choices have their options of it merged, whatever the other choices are.

    Parameters
    ----------
    hierarchy : Hierarchy
    a, b : int
        Indices into `hierarchy.paths`.

    Returns
    -------
    Merging

    Examples
    --------
    >>> three = Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": [{"variables": []}] * 3}]})
    >>> found = merge_paths(three, 0, 2)
    >>> print(found.after)
    ◇ c1
    ├── 0 or 2 ∅
    └── 1 ∅
    >>> found.paths
    (0, 1, 0)
    """
    marked = _Marked(hierarchy)
    above, first, second = marked.parting(a, b)
    return marked.merged(above, first, second)


def mergers(hierarchy: Hierarchy) -> list[list[tuple[int, int]]]:
    """What can be merged in one step along the tree: for each two options of a choice below which there is no
    other choice, the pairs of paths that become one.

    Examples
    --------
    >>> mergers(Hierarchy.flat(1, (2, 2)))
    [[(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    """
    marked = _Marked(hierarchy)
    chains = [(frozenset(marked.chain(path)), path.index) for path in hierarchy.paths]
    path_of = dict(chains)
    out: list[list[tuple[int, int]]] = []
    todo = [marked.root]
    while todo:
        group = todo.pop()
        for choice in group.categoricals:
            ends = [option.name for option in choice.options if not option.categoricals]
            for a, b in itertools.combinations(ends, 2):
                out.append([(path_of[c], path_of[c - {a} | {b}]) for c, _ in chains if a in c])
            todo += choice.options
    return out


def split_path(hierarchy: Hierarchy, path: int, names: Sequence[str], dimensions: Sequence[int]) -> Merging:
    """Several leaves in place of one, as the options of a new choice below it: a tree and, for each of its paths,
    the path before.

    Parameters
    ----------
    hierarchy : Hierarchy
    path : int
        Index into `hierarchy.paths`. No independent choices may stand beside those that lead to it.
    names : list of str
        Of the new leaves.
    dimensions : list of int
        Of the new leaves; none has fewer than what stands above it.

    Returns
    -------
    Merging
        From `after` the other way: `paths` has the path of `hierarchy` for each path of `after`.

    Examples
    --------
    >>> found = split_path(Hierarchy.flat(1, (2,)), 1, ["left", "right"], [1, 2])
    >>> print(found.after)
    ○ z1
    ◇ c1
    ├── 0 ∅
    └── 1
        └── ◇ kind
            ├── left ∅
            └── right
                └── ○ z2
    >>> found.paths
    (0, 1, 1)
    """
    marked = _Marked(hierarchy)
    chain = marked.chain(hierarchy.paths[path])
    if len(_through(marked, chain)) > 1 or any(len(g.categoricals) > 1 for g in _groups(marked.root, chain)):
        raise ValueError(
            "the leaf is a combination of independent choices: split one of these in a tree of leaves"
        )
    group = _groups(marked.root, chain)[-1]
    above = hierarchy.paths[path].dimension - len(group.continuous)
    shared = min(len(group.continuous), max(min(dimensions) - above, 0))
    fresh = _Fresh({v.name for v in hierarchy.variables})
    options = []
    for k, dimension in enumerate(dimensions):
        more = tuple(Continuous(fresh("z")) for _ in range(max(dimension - above - shared, 0)))
        options.append(Group(more, marked.mark(names[k])))
    kinds = Categorical(fresh.unless_free("kind"), tuple(options))
    new = replace(group, variables=(*group.continuous[:shared], kinds))
    after = Hierarchy(_replaced(marked.root, chain, new))
    marks = {option.name for option in options}
    before = {frozenset(marked.chain(p)): p.index for p in hierarchy.paths}
    paths = [before[frozenset(set(_chain(after, p)) - marks)] for p in after.paths]
    return Merging(marked.unmarked(after), tuple(paths))


class _Fresh:
    """Names that a tree does not have yet."""

    def __init__(self, taken: set[str]):
        self.taken = set(taken)

    def __call__(self, stem: str) -> str:
        number = 1
        while f"{stem}{number}" in self.taken:
            number += 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def unless_free(self, name: str) -> str:
        if name in self.taken:
            return self(f"{name} ")
        self.taken.add(name)
        return name


class _Marked:
    """A tree whose options are called by marks of their own, with the names that these stand for."""

    def __init__(self, hierarchy: Hierarchy):
        self.before = hierarchy
        self.names: dict[str, str] = {}
        marks = [[self.mark(name) for name in v.options] for v in hierarchy.variables]
        self.hierarchy = relabeled(hierarchy, [v.name for v in hierarchy.variables], marks)
        self.root = self.hierarchy.root

    def mark(self, name: str) -> str:
        self.names[str(len(self.names))] = name
        return str(len(self.names) - 1)

    def unmarked(self, after: Hierarchy) -> Hierarchy:
        names = [v.name for v in after.variables]
        return relabeled(after, names, [[self.names[mark] for mark in v.options] for v in after.variables])

    def chain(self, path: Path) -> Chain:
        """The options of a path."""
        return _chain(self.hierarchy, path)

    def parting(self, a: int, b: int) -> tuple[Chain, Chain, Chain]:
        """What two paths share above the choice at which they part, and what each has from there on."""
        paths = [self.hierarchy.paths[i] for i in (a, b)]
        own, other = (dict(path.choices) for path in paths)
        apart = [column for column in own if column in other and own[column] != other[column]]
        if len(apart) != 1:
            what = "the same leaf" if not apart else "apart in several independent choices"
            raise ValueError(f"paths {a} and {b} are {what}: merge paths that differ in one choice")
        below = []
        for path in paths:
            start = next(k for k, (column, _) in enumerate(path.choices) if column == apart[0])
            option = self.hierarchy.variables[apart[0]].options[path.choices[start][1]]
            chain = self._down(option, self.chain(path))
            if chain is None:
                raise ValueError(
                    f"one of the paths {a} and {b} has independent choices below the choice at which they part: "
                    "merge these first"
                )
            below.append(chain)
        return tuple(m for m in self.chain(paths[0]) if m not in below[0]), below[0], below[1]

    def _down(self, option: str, marks: Chain) -> Chain | None:
        """The options of a path from one on; None if choices below it are independent of each other."""
        group, out = self._groups[option], [option]
        while group.categoricals:
            choice, *others = group.categoricals
            if others:
                return None
            group = next(o for o in choice.options if o.name in marks)
            out.append(group.name)
        return tuple(out)

    @property
    def _groups(self) -> dict[str, Group]:
        if not hasattr(self, "_by_mark"):
            self._by_mark: dict[str, Group] = {}
            todo = [self.root]
            while todo:
                group = todo.pop()
                self._by_mark[group.name] = group
                todo += [option for c in group.categoricals for option in c.options]
        return self._by_mark

    def merged(self, above: Chain, first: Chain, second: Chain) -> Merging:
        """With one option in place of two leaves."""
        variables = max((self._variables(chain) for chain in (first, second)), key=len)
        fresh = _Fresh({v.name for v in self.before.variables})
        gone = {v for chain in (first, second) for v in self._groups[chain[-1]].continuous}
        free = {v.name for v in gone}
        own = tuple(v if v.name in free else Continuous(fresh("z")) for v in variables)
        names = [self.names[chain[-1]] for chain in (first, second)]
        new = Group(own, self.mark(" or ".join(names)))
        dropped: set[str] = set()

        def without(group: Group, chain: Chain) -> Group | None:
            """A group without the leaf that a chain leads to."""
            if len(chain) == 1:
                return None
            # it has other rows now
            self.names[group.name] = f"rest of {self.names[group.name].removeprefix('rest of ')}"
            choice = group.categoricals[0]
            options = [without(o, chain[1:]) if o.name == chain[1] else o for o in choice.options]
            return self._with_options(group, choice, [o for o in options if o is not None], dropped)

        def visit(group: Group) -> Group:
            for choice in group.categoricals:
                marks = [option.name for option in choice.options]
                if first[0] not in marks:
                    below = [visit(option) for option in choice.options]
                    group = self._with_options(group, choice, below, dropped)
                    continue
                options: list[Group] = []
                for option in choice.options:
                    left: Group | None = option
                    for chain in (first, second):
                        if option.name == chain[0] and left is not None:
                            left = without(left, chain)
                    if option.name == first[0]:
                        options += [new] if left is None else [left, new]
                    elif left is not None:
                        options.append(left)
                group = self._with_options(group, choice, options, dropped)
            return group

        after = Hierarchy(visit(self.root))
        found = {frozenset(_chain(after, path)): path.index for path in after.paths}
        paths = []
        for path in self.hierarchy.paths:
            own_marks = set(self.chain(path))
            for chain in (first, second):
                if set(chain) <= own_marks:
                    own_marks = (own_marks - set(chain)) | {new.name}
            paths.append(found[frozenset(own_marks - dropped)])
        return Merging(self.unmarked(after), tuple(paths))

    def _variables(self, chain: Chain) -> list[Continuous]:
        return [v for mark in chain for v in self._groups[mark].continuous]

    def _with_options(self, group: Group, choice: Categorical, options: list[Group], dropped: set[str]) -> Group:
        """A group whose choice has other options; the variables of a single one are those of the group."""
        new: tuple[Continuous | Categorical, ...] = (Categorical(choice.name, tuple(options)),)
        if len(options) == 1:
            dropped.add(options[0].name)
            new = options[0].variables
        place = next(k for k, v in enumerate(group.variables) if v is choice or v.name == choice.name)
        return replace(group, variables=(*group.variables[:place], *new, *group.variables[place + 1 :]))


def _chain(hierarchy: Hierarchy, path: Path) -> Chain:
    return tuple(hierarchy.variables[column].options[k] for column, k in path.choices)


def _groups(root: Group, chain: Chain) -> list[Group]:
    """The root and the groups that the options of a path open, to its leaf."""
    out, marks = [root], set(chain)
    while (inner := [o for c in out[-1].categoricals for o in c.options if o.name in marks]) != []:
        out.append(inner[0])
    return out


def _through(marked: _Marked, chain: Chain) -> list[Path]:
    """The paths that lead through the last option of a chain."""
    return [p for p in marked.hierarchy.paths if not chain or chain[-1] in marked.chain(p)]


def _replaced(group: Group, chain: Chain, new: Group) -> Group:
    """A tree with another group at the end of a chain of options."""
    if not chain:
        return new
    variables: list[Continuous | Categorical] = []
    for variable in group.variables:
        if isinstance(variable, Categorical):
            options = tuple(_replaced(o, chain[1:], new) if o.name == chain[0] else o for o in variable.options)
            variable = Categorical(variable.name, options)
        variables.append(variable)
    return replace(group, variables=tuple(variables))
