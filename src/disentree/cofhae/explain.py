"""What each variable of a code does to the columns of the data, in their units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from disentree.cofhae import constants
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.hierarchy import Variable
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import category_text, listed, number_text


@np.errstate(over="ignore", invalid="ignore")  # numbers of 1e300 have no variance
def explain_variables(
    hierarchy: Hierarchy,
    codes: Float[np.ndarray, "n v"],
    decode: Callable[[Float[np.ndarray, "m v"]], Any],
    columns: Columns | None,
    read: Callable[[Any], Columns],
) -> list[dict[str, Any]]:
    """What each continuous variable does from its 10th to its 90th percentile, the others at their medians.

    `codes` are those of some rows, of which `columns` give the spread of each column (None for images); `decode`
    gives rows for codes, `read` their columns. A variable has `name`, `group` (the options that lead to it),
    `text` and `moves` (`column`, `from`, `to`, the largest first) on the path that most of its rows are on; and
    `on`, if rows of several paths of a table have it: `path`, `text` and `moves` for each of them.
    """
    paths = hierarchy.path_of(codes)
    found = [v for v in hierarchy.variables if v.kind == "continuous"]
    places = [_paths_of(codes, paths, v)[: 1 if columns is None else constants.EXPLAINED_PATHS] for v in found]
    pairs = [_ends(hierarchy, codes, paths, v, path) for v, own in zip(found, places, strict=True) for path in own]
    decoded = decode(np.concatenate(pairs)) if pairs else None
    seen = None if decoded is None or columns is None else read(decoded)
    out, done = [], 0
    for v, own in zip(found, places, strict=True):
        about: dict[str, Any] = {"name": v.name, "group": _group(hierarchy, v), "moves": []}
        if not own:
            about["text"] = f"{v.name}: no row has it"
        elif columns is None or seen is None:
            about["text"] = f"{v.name}: {_pixels(np.asarray(decoded)[2 * done : 2 * done + 2])}"
        else:
            ends = (np.array([2 * i, 2 * i + 1]) for i in range(done, done + len(own)))
            by_path = [_moves(columns, seen.take(pair)) for pair in ends]
            moves = by_path[0]
            about["moves"] = [move for _, move in moves]
            about["text"] = f"{v.name}: {_sentence(moves)}"
            if len(own) > 1:
                about["on"] = [
                    {"path": path, "text": f"{v.name}: {_sentence(there)}", "moves": [move for _, move in there]}
                    for path, there in zip(own, by_path, strict=True)
                ]
        done += len(own)
        out.append(about)
    return out


def _paths_of(codes: Float[np.ndarray, "n v"], paths: np.ndarray, v: Variable) -> list[int]:
    """The paths of the rows that have a variable, those of most rows first."""
    counts = np.bincount(paths[~np.isnan(codes[:, v.index]) & (paths >= 0)])
    return [int(path) for path in np.argsort(-counts, kind="stable") if counts[path]]


def _ends(
    hierarchy: Hierarchy, codes: Float[np.ndarray, "n v"], paths: np.ndarray, v: Variable, index: int
) -> Float[np.ndarray, "2 v"]:
    """Two codes on a path between which only one variable moves."""
    path = hierarchy.paths[index]
    here = codes[paths == path.index]
    out = np.full((2, codes.shape[1]), np.nan)
    for column, option in path.choices:
        out[:, column] = option
    out[:, list(path.continuous)] = np.median(here[:, list(path.continuous)], axis=0)
    out[:, v.index] = np.percentile(here[:, v.index], constants.PERCENTILES)
    return out


def _group(hierarchy: Hierarchy, v: Variable) -> list[str]:
    """The options that lead to a variable, from the root."""
    out: list[str] = []
    while v.parent is not None and v.option is not None:
        parent = hierarchy.variables[v.parent]
        out.append(parent.options[v.option])
        v = parent
    return out[::-1]


def _moves(columns: Columns, ends: Columns) -> list[tuple[float, dict[str, Any]]]:
    """How far each column moves in its deviations, and from where to where; the largest moves first."""
    out = []
    for j, name in enumerate(columns.number_names):
        x, (low, high) = columns.numbers[:, j], ends.numbers[:, j]
        spread = float(np.nanstd(x)) if (~np.isnan(x)).any() else 0.0
        size = abs(high - low) / spread if spread > 0 else 0.0
        if np.isfinite(size) and size >= EXPLAIN.small_share:
            values = [
                columns.show(j, v) if j in columns.dates else float(f"{v:.{constants.SHOWN_DIGITS}g}")
                for v in (low, high)
            ]
            out.append((float(size), {"column": name, "from": values[0], "to": values[1]}))
    for j, name in enumerate(columns.category_names):
        low, high = (int(k) for k in ends.categories[:, j])
        if low != high and min(low, high) >= 0:
            levels = columns.levels[j]
            out.append((constants.OTHER_CATEGORY, {"column": name, "from": levels[low], "to": levels[high]}))
    return sorted(out, key=lambda move: (-round(move[0], 6), move[1]["column"]))


def _sentence(moves: list[tuple[float, dict[str, Any]]]) -> str:
    if not moves:
        return f"moves no column by more than {100 * EXPLAIN.small_share:.0f} % of its standard deviation: noise"
    told = [move for size, move in moves if size >= constants.NAMED_MOVE * moves[0][0]][: constants.NAMED_COLUMNS]
    texts = [f"{move['column']} from {_shown(move['from'])} to {_shown(move['to'])}" for move in told]
    left = len(moves) - len(told)
    more = f"; {left} other column{'s' * (left != 1)} less" if left else ""
    return f"{listed(texts)}{more}"


def _shown(value: Any) -> str:
    return category_text(value) if isinstance(value, str) else number_text(value)


def _pixels(images: Num[np.ndarray, "2 ..."]) -> str:
    images = images.reshape(2, -1).astype(np.float64)
    extent = float(np.ptp(images)) or 1.0
    return f"changes {np.mean(np.abs(images[1] - images[0]) > constants.CHANGED_PIXEL * extent):.0%} of the pixels"
