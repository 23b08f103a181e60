"""Products: switches beside and below each other, and the tree of their combinations.

A switch adds variables where it is on. Several of them describe as many combinations as a tree has leaves, with
the variables of each written once. A switch that is on only where another is on is below it; switches that are
never on together are options of one categorical. What is left beside each other is a product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Choice, all_choices
from disentree.mimosa.tree.building import directly_enclosed, named, numbered
from disentree.mimosa.tree.constants import TREE


def arrange(on: Bool[np.ndarray, "n s"]) -> list[Choice]:
    """The choices of switches, from the rows in which each is on."""
    n, share = len(on), on.mean(axis=0)
    fewest = max(TREE.expected, FIT.least_share * n)
    parent = parents_of(on, fewest)
    both, expected = on.T.astype(float) @ on, n * np.outer(share, share)
    never = (expected >= fewest) & (both <= TREE.inside * expected)

    def choices(siblings: Sequence[int]) -> list[Choice]:
        out = []
        for group in alternatives(sorted(siblings, key=lambda i: (-share[i], i)), lambda i, j: bool(never[i, j])):
            rows = on[:, parent[group[0]]] if parent[group[0]] >= 0 else np.ones(n, bool)
            none = (rows & ~on[:, group].any(axis=1)).sum()
            options = ([-1] if none > TREE.inside * rows.sum() * np.prod(1 - share[group]) else []) + sorted(group)
            below = [choices(np.flatnonzero(parent == i).tolist()) if i >= 0 else [] for i in options]
            out.append(Choice(options, below))
        return sorted(out, key=lambda choice: max(choice.switches))

    return choices(np.flatnonzero(parent < 0).tolist())


def parents_of(on: Bool[np.ndarray, "n s"], fewest: float) -> Int[np.ndarray, " s"]:
    """For each switch the rarest one that it needs: without which it is hardly ever on, though chance would give
    at least so many such rows; -1 for none."""
    share = on.mean(axis=0)
    both = on.T.astype(float) @ on
    without = both.diagonal()[:, None] - both  # row: on, column: off
    chance = len(on) * np.outer(share, 1 - share)
    needs = (chance >= fewest) & (without <= TREE.inside * chance)
    parent = np.full(on.shape[1], -1)
    for i in range(on.shape[1]):
        above = [j for j in np.flatnonzero(needs[i]) if j != i and (share[j] > share[i] or not needs[j, i])]
        if above:
            parent[i] = min(above, key=lambda j: (share[j], j))
    return parent


def alternatives(switches: Sequence[int], never: Callable[[int, int], bool]) -> list[list[int]]:
    """Switches that are options of one choice, since any two of them are never on together; those that go with
    others are alone. The first choice that a switch fits in is its own."""
    groups: list[list[int]] = []
    for i in switches:
        own = next((group for group in groups if all(never(i, j) for j in group)), None)
        if own is None:
            groups.append([i])
        else:
            own.append(i)
    return groups


def is_product(choices: Sequence[Choice]) -> bool:
    """Whether there are choices beside each other, and each of them can be off.

    Where one option is always taken, a choice is a split and not a switch: what is beside it is below each of its
    options, which makes a tree of all.
    """
    groups = [choices, *(inner for choice in all_choices(choices) for inner in choice.below)]
    beside = [group for group in groups if len(group) > 1]
    return bool(beside) and all(-1 in choice.switches for group in beside for choice in group)


def are_independent(choices: Sequence[Choice], on: Bool[np.ndarray, "n s"]) -> bool:
    """Whether choices beside each other say little about each other, in the rows in which they are open."""

    def taken(choice: Choice, rows: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        out = np.full(int(rows.sum()), -1)
        for i in choice.switches:
            if i >= 0:
                out[on[rows, i]] = i
        return out

    def check(group: Sequence[Choice], rows: Bool[np.ndarray, " n"]) -> bool:
        values = [taken(choice, rows) for choice in group]
        for a, b in itertools.combinations(values, 2):
            alone, other, both = _entropy(a), _entropy(b), _entropy(a * (on.shape[1] + 2) + b)
            if alone + other - both > TREE.dependent * min(alone, other):
                return False
        inner = [
            (below, rows & on[:, i]) for c in group for i, below in zip(c.switches, c.below, strict=True) if i >= 0
        ]
        return all(check(below, there) for below, there in inner if below)

    return check(choices, np.ones(len(on), bool))


def _entropy(values: Int[np.ndarray, " m"]) -> float:
    share = np.unique(values, return_counts=True)[1] / max(len(values), 1)
    return float(-(share * np.log2(share)).sum())


def hierarchy_of(
    choices: Sequence[Choice], base: int, sizes: Sequence[int]
) -> tuple[Hierarchy, Bool[np.ndarray, "p s"]]:
    """The hierarchy of some choices, and for each of its paths the switches that are on; all rows have `base`
    variables, and each switch adds some (`sizes`)."""

    def group(count: int, inner: Sequence[Choice], name: str) -> Group:
        variables: list[Continuous | Categorical] = [Continuous("z")] * count
        for choice in inner:
            several = len([i for i in choice.switches if i >= 0]) > 1
            titles = itertools.count(1)
            options = [
                group(sizes[i], below, f"on {next(titles)}" if several else "on") if i >= 0 else Group((), "off")
                for i, below in zip(choice.switches, choice.below, strict=True)
            ]
            variables.append(Categorical("c", tuple(options)))
        return Group(tuple(variables), name)

    hierarchy = Hierarchy(named(group(base, choices, ""), numbered()))
    columns = [v.index for v in hierarchy.variables if v.kind == "categorical"]
    switches = {column: choice.switches for column, choice in zip(columns, all_choices(choices), strict=True)}
    on = np.zeros((len(hierarchy.paths), len(sizes)), bool)
    for path in hierarchy.paths:
        for column, option in path.choices:
            if switches[column][option] >= 0:
                on[path.index, switches[column][option]] = True
    return hierarchy, on


def cells_of(on: Bool[np.ndarray, "n s"], paths: Bool[np.ndarray, "p s"]) -> Int[np.ndarray, " n"]:
    """The path of rows, by the switches that are on; -1 for combinations that are no path."""
    bits = 1 << np.arange(on.shape[1], dtype=np.int64)
    order = np.argsort(paths @ bits)
    codes, known = on @ bits, (paths @ bits)[order]
    place = np.clip(np.searchsorted(known, codes), 0, len(known) - 1)
    return np.where(known[place] == codes, order[place], -1)


def expected_shares(
    choices: Sequence[Choice], on: Bool[np.ndarray, "n s"], paths: Bool[np.ndarray, "p s"]
) -> Float[np.ndarray, " p"]:
    """The share of each path if choices beside each other were independent."""
    out = np.ones(len(paths))

    def multiply(inner: Sequence[Choice], rows: np.ndarray, at: np.ndarray) -> None:
        for choice in inner:
            switched = [i for i in choice.switches if i >= 0]
            for i, below in zip(choice.switches, choice.below, strict=True):
                here = on[:, i] if i >= 0 else ~on[:, switched].any(axis=1)
                there = paths[:, i] if i >= 0 else ~paths[:, switched].any(axis=1)
                share = ((rows & here).sum() + 0.5) / (rows.sum() + 0.5 * len(choice.switches))
                out[at & there] *= share
                multiply(below, rows & here, at & there)

    multiply(choices, np.ones(len(on), bool), np.ones(len(paths), bool))
    return out / out.sum()


def saved_by_product(
    choices: Sequence[Choice],
    on: Bool[np.ndarray, "n s"],
    paths: Bool[np.ndarray, "p s"],
    base: int,
    sizes: Sequence[int],
    n_dims: int,
) -> float:
    """Bits that a product saves over a tree of the combinations that occur, on all rows together.

    Both describe the same rows by the same leaves. A tree writes a variable for every leaf in which it is new, and
    has a share for every leaf; a product writes it once, and has a share for every option, or, where the choices
    are not independent, for every combination that occurs, with a list of these. Nothing is saved by a product
    most of which does not occur: it would be a tree in disguise.
    """
    cells = cells_of(on, paths)
    counts = np.bincount(cells[cells >= 0], minlength=len(paths))
    n = int(counts.sum())
    chance = expected_shares(choices, on, paths)
    occurs = counts >= np.maximum(TREE.expected, TREE.inside * n * chance)
    there = np.flatnonzero(occurs)
    if n < 2 or len(there) < 2 or chance[~occurs].sum() > TREE.dependent:
        return 0.0
    a_number = 0.5 * np.log2(n)
    entropy = -(counts[there] * np.log2(counts[there] / n)).sum()
    dims = base + paths @ np.asarray(sizes)
    written = 0
    for c in there:
        inside = [dims[o] for o in there if o != c and not (paths[o] & ~paths[c]).any() and dims[o] < dims[c]]
        written += dims[c] - max(inside, default=0)
    variables = (written - base - sum(sizes)) * (n_dims + 1) * a_number
    saturated = entropy + (len(there) - 1) * a_number
    listed = (gammaln(len(paths) + 1) - gammaln(len(there) + 1) - gammaln(len(paths) - len(there) + 1)) / np.log(2)
    factorized = -(counts[there] * np.log2(chance[there])).sum()
    factorized += sum(len(choice.switches) - 1 for choice in all_choices(choices)) * a_number
    return float(variables + saturated - min(factorized, saturated + listed))


def direct_parents(hierarchy: Hierarchy) -> list[tuple[int, ...]]:
    """For each path of a product those that it encloses, without another between: they have some of its variables
    and no others. Those with most of them come first."""
    owns = np.zeros((len(hierarchy.paths), hierarchy.n_variables), bool)
    for path in hierarchy.paths:
        owns[path.index, list(path.continuous)] = True
    sizes = owns.sum(axis=1)
    shared = owns.astype(np.int64) @ owns.T
    inside = (shared == sizes[:, None]) & (sizes[:, None] < sizes)  # column encloses row
    return directly_enclosed(np.broadcast_to(-sizes[:, None].astype(float), inside.shape), inside)


def factored_leaves(
    dimensions: Sequence[int], encloses: Bool[np.ndarray, "k k"], labels: Int[np.ndarray, " n"], n_dims: int
) -> tuple[Hierarchy, Int[np.ndarray, " paths"]] | None:
    """Leaves as a product, if which of them encloses which (entry [low, high]: `high` does `low`) is that of one:
    its hierarchy, and the leaf of each path, -1 for combinations without one. None if not. `labels` are the leaves
    of rows, which have `n_dims` coordinates.

    A leaf that encloses others has the switches on that any of these has on, and one more if it has more
    dimensions than they account for. That needs no straight lines: where leaves are curved, their dimensions and
    what they enclose still tell.
    """
    k = len(dimensions)
    order = sorted(range(k), key=lambda c: dimensions[c])
    bottom = order[0]
    if k < 4 or not all(encloses[bottom, c] for c in order[1:]):
        return None
    sizes: list[int] = []
    on: dict[int, frozenset[int]] = {bottom: frozenset()}
    for c in order[1:]:
        below = frozenset().union(*(on[o] for o in order if o in on and encloses[o, c]))
        missing = dimensions[c] - dimensions[bottom] - sum(sizes[s] for s in below)
        if missing < 0:
            return None
        if missing:
            below |= {len(sizes)}
            sizes.append(missing)
        if below in on.values():
            return None
        on[c] = below
    of_leaf = np.zeros((k, len(sizes)), bool)
    for c, switches in on.items():
        of_leaf[c, list(switches)] = True
    rows = of_leaf[labels]
    choices = arrange(rows)
    if not is_product(choices) or not are_independent(choices, rows):
        return None
    hierarchy, paths = hierarchy_of(choices, dimensions[bottom], sizes)
    path_of = cells_of(of_leaf, paths)
    saved = saved_by_product(choices, rows, paths, dimensions[bottom], sizes, n_dims)
    if (path_of < 0).any() or saved <= 0:
        return None
    leaf_of = np.full(len(paths), -1)
    leaf_of[path_of] = np.arange(k)
    return hierarchy, leaf_of
