"""Names for branches and variables, from the reasons for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.column_names import shortened, unique
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import share_text
from disentree.mimosa.explain.rules import Rule

GENERIC = re.compile(r"(branch\d+|stop|\d+)( or (branch\d+|stop|\d+))*")  # options that only have a number
_AND_MORE = re.compile(r" and \d+ more$")
GENERIC_VARIABLE = re.compile(r"[czx]\d+")


def name_options(
    categorical: str, options: Sequence[str], rules: Sequence[Rule | None], shares: Sequence[float]
) -> list[str]:
    """Names for the options of a categorical of a table, all different; those that mean something already are
    kept. Others are called by their rule, or have a number with their share of the rows."""
    out: list[str] = []
    for k, (option, rule, share) in enumerate(zip(options, rules, shares, strict=True)):
        name = option
        if option in ("no", "yes") and rule is not None and rule.is_value and rule.is_name and rule.is_exact:
            name = rule.text  # a column tells what the empty cells are about
        elif option in ("no", "yes") and not GENERIC_VARIABLE.fullmatch(categorical):
            several = _AND_MORE.search(categorical) is not None
            word = "with" if option == "yes" else "without" if several else "no"
            name = f"{word} {categorical if several else shortened(categorical, 2 * EXPLAIN.longest_name - 5)}"
        elif GENERIC.fullmatch(option) or (option in ("off", "on") and _is_unnamed(categorical)):
            group = f"group {k + 1} ({share_text(share)})"
            name = rule.text if rule is not None and rule.is_name and rule.text not in out else group
        out.append(name if name not in out else f"{name} ({k + 1})")
    return out


def _is_unnamed(categorical: str) -> bool:
    """Whether nobody has given it a name: it has a number, or the columns that `name_categorical` tells."""
    return GENERIC_VARIABLE.fullmatch(categorical) is not None or categorical.startswith("by ")


def name_categorical(name: str, columns: Sequence[Sequence[str]]) -> str:
    """A name for a categorical of a table that has none: the columns that its options are told by."""
    if not GENERIC_VARIABLE.fullmatch(name):
        return name
    counts = Counter(column for own in columns for column in own)
    most = [column for column, _ in counts.most_common()]
    return f"by {together(most, EXPLAIN.longest_name - 3)}" if most else "groups"


def name_variables(
    hierarchy: Hierarchy,
    codes: Float[np.ndarray, "n v"],
    columns: Columns,
    weight: Float[np.ndarray, " n"],
    taken: set[str],
) -> dict[str, str]:
    """Names for the continuous variables of a table, by name: the columns that each moves most, in their
    deviations, where it is active; if some of these vary only there, those. Each row stands for `weight` rows. No
    name is one of `taken`, those of categoricals."""
    names, used, paths = {}, set(taken), hierarchy.path_of(codes)
    for v in sorted(hierarchy.variables, key=lambda v: v.depth):  # those of all rows have the plain names
        if v.kind != "continuous":
            continue
        active = np.isfinite(codes[:, v.index])
        elsewhere = _varying(columns.take(np.flatnonzero(~active)))
        own = columns, codes[:, v.index], np.where(active, paths, -1), weight
        moved = (
            _moved_on_leaves(*own) or _moved_on_leaves(*own, least=0.0)[:1]
        )  # a name, be it of what it hardly moves
        if v.parent is not None:
            least = FIT.half * moved[0][0] if moved else 0.0
            moved = [(size, one) for size, one in moved if one not in elsewhere and size >= least] or moved
        # Those that it moves about as far as the first, with more of them if that name is used.
        ends = [sum(size >= part * moved[0][0] for size, _ in moved) for part in (1 - EXPLAIN.contrast, FIT.half)]
        tried = [
            together([column for _, column in moved[:n]], 2 * EXPLAIN.longest_name)
            for n in range(ends[0], ends[1] + 1)
            if n
        ]
        tried = [f"value of {name}" if name in taken else name for name in tried] or ["other"]
        names[v.name] = unique(next((name for name in tried if name not in used), tried[0]), used)
    return names


def _moved_on_leaves(
    columns: Columns,
    z: Float[np.ndarray, " n"],
    paths: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    least: float | None = None,
) -> list[tuple[float, str]]:
    """How far a variable moves each column on its leaves, on average over their rows: few rows of one leaf do not
    name what all others have. Moves of less than `least` do not count."""
    least = EXPLAIN.small_share if least is None else least
    sizes: Counter[str] = Counter()
    for path in np.unique(paths[paths >= 0]):
        rows = np.flatnonzero(paths == path)
        share = weight[rows].sum() / weight[paths >= 0].sum()
        for size, name in _moved(columns.take(rows), columns, z[rows]):
            if size >= least:
                sizes[name] += share * size
    return sorted(
        ((size, name) for name, size in sizes.items() if size), key=lambda one: (-round(one[0], 6), one[1])
    )


def _moved(here: Columns, table: Columns, z: Float[np.ndarray, " n"]) -> list[tuple[float, str]]:
    """How far a variable moves each column for a deviation of its own: of numbers in deviations of the table's, of
    categories the correlation ratio, by how much of the table's variety there is."""
    if len(z) < EXPLAIN.fewest_rows or not np.ptp(z):
        return []
    z = (z - z.mean()) / z.std()
    out = []
    for j, name in enumerate(table.number_names):
        x, known = here.numbers[:, j], ~np.isnan(here.numbers[:, j])
        spread = float(np.nanstd(table.numbers[:, j])) if known.any() else 0.0
        if spread > 0:
            out.append((abs(float((z[known] * (x[known] - x[known].mean())).sum())) / len(z) / spread, name))
    for j, name in enumerate(table.category_names):
        values = here.categories[:, j]
        counts, sums = (np.bincount(values + 1, weights=w, minlength=2) for w in (np.ones(len(z)), z))
        k, variety = int((counts > 0).sum()), _variety(np.bincount(table.categories[:, j] + 1))
        if 1 < k < len(z):  # the part of the variance that is left, as it would be by chance
            left = (1 - (sums**2 / np.maximum(counts, 1)).sum() / len(z)) * (len(z) - 1) / (len(z) - k)
            out.append((float(np.sqrt(max(0.0, 1 - left) * _variety(counts) / variety)), name))
    return out


def _varying(columns: Columns) -> set[str]:
    """Columns with more than one value."""
    numbers = [len(np.unique(x[~np.isnan(x)])) > 1 for x in columns.numbers.T]
    categories = [len(np.unique(x[x >= 0])) > 1 for x in columns.categories.T]
    return {name for name, varies in zip(columns.names, [*numbers, *categories], strict=True) if varies}


def _variety(counts: np.ndarray) -> float:
    """How probable it is that two rows differ in a category (Gini)."""
    return 1 - float(np.square(counts / counts.sum()).sum())


def together(columns: Sequence[str], room: int | None = None) -> str:
    """As many of some names as there is room for; at least one, shortened if need be."""
    room = EXPLAIN.longest_name if room is None else room
    for n in range(len(columns), 1, -1):
        if len(text := ", ".join(columns[:n])) <= room:
            return text
    return shortened(columns[0], room)


def leaf_name(hierarchy: Hierarchy, path: int, choices: Sequence[tuple[int, int]] | None = None) -> str:
    """The name of a leaf: its options, or some of its `choices`, each with its categorical if one beside that has
    an option of this name.

    Examples
    --------
    >>> leaf_name(Hierarchy.flat(1, (2, 2)), 1), leaf_name(Hierarchy.flat(1), 0)
    ('c1 = 0, c2 = 1', 'all rows')
    """
    told = []
    for column, option in hierarchy.paths[path].choices if choices is None else choices:
        v = hierarchy.variables[column]
        name = v.options[option]
        beside = (w for w in hierarchy.variables if w is not v and (w.parent, w.option) == (v.parent, v.option))
        told.append(f"{v.name} = {name}" if any(name in w.options for w in beside) else name)
    return ("; " if any("," in name for name in told) else ", ").join(told) or "all rows"


def no_names() -> dict[str, Any]:
    """Names that change nothing."""
    return {"variables": {}, "options": {}}
