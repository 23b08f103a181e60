"""Trees that describe the same paths: the form that they share, and the ways from one to another."""

from __future__ import annotations

from collections.abc import Iterator

from disentree.hierarchy.tree import Categorical, Continuous, Group

FACTOR = -1  # label of a categorical beside others in both forms; no group has it
GROUP, VARIABLE = 0, 1  # labels of the plain form


def canonical_form(group: Group, above: int) -> tuple:
    """`above`: the least dimension that a leaf below this group gets from the rest of the tree."""
    label = above + group.min_dimension
    nodes = []
    for categorical in group.categoricals:
        least = min(option.min_dimension for option in categorical.options)
        nodes.append([canonical_form(option, label - least) for option in categorical.options])
    children = nodes[0] if len(nodes) == 1 else [(FACTOR, _sorted(n)) for n in nodes]
    return (label, _sorted(children))


def plain_form(group: Group) -> tuple:
    """The tree as it is but for its order: a node for each group, a leaf for each continuous variable."""
    nodes = [[plain_form(option) for option in categorical.options] for categorical in group.categoricals]
    children = nodes[0] if len(nodes) == 1 else [(FACTOR, _sorted(n)) for n in nodes]
    return (GROUP, _sorted([(VARIABLE, ())] * len(group.continuous) + children))


def _sorted(children: list[tuple]) -> tuple:
    return tuple(sorted(children, key=lambda child: (sorted(_labels(child)), child)))


def _labels(node: tuple) -> Iterator[int]:
    yield node[0]
    for child in node[1]:
        yield from _labels(child)


def merge_up(group: Group) -> Group:
    """The group with variables that all options of a categorical share moved above it."""
    continuous, categoricals = list(group.continuous), []
    for categorical in group.categoricals:
        options = [merge_up(option) for option in categorical.options]
        shared = min(len(option.continuous) for option in options)
        for same in zip(*(option.continuous[:shared] for option in options), strict=True):
            continuous.append(Continuous("/".join(dict.fromkeys(v.name for v in same))))
        kept = tuple(Group(o.continuous[shared:] + o.categoricals, o.name) for o in options)
        categoricals.append(Categorical(categorical.name, kept))
    return Group((*continuous, *categoricals), group.name)


def push_down(group: Group, given: tuple[Continuous, ...]) -> Group:
    """The group with its continuous variables, and those `given` from above, moved into its leaves."""
    carried = given + group.continuous
    if not group.categoricals:
        return Group(carried, group.name)
    categoricals = []
    for i, categorical in enumerate(group.categoricals):
        options = tuple(push_down(option, carried if i == 0 else ()) for option in categorical.options)
        categoricals.append(Categorical(categorical.name, options))
    return Group(tuple(categoricals), group.name)


def unroll(group: Group, rest: tuple[Categorical, ...] = ()) -> Group:
    """The group with one categorical at most, and so all groups below: the others, and `rest`, in every option."""
    first, *others = (*group.categoricals, *rest) or (None,)
    if first is None:
        return group
    options = tuple(unroll(option, tuple(others)) for option in first.options)
    return Group((*group.continuous, Categorical(first.name, options)), group.name)
