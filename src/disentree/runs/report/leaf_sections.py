"""A report's sections about each leaf of a table: its columns against all rows, typical rows, its variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from disentree.mimosa.summary.contents import came_back
from disentree.runs.report.columns import Shown
from disentree.runs.report.findings import Findings
from disentree.runs.report.profiles import FEW_VALUES

SHOWN_LEAVES = 24  # sections, of the largest leaves
OPEN_LEAVES = 4  # that are open when there are more
SHOWN_COLUMNS = 8  # before "the rest"
SHOWN_MOVES = 5
SHOWN_LEVELS = 4  # of a category
WIDTH, HEIGHT = 120, 34  # of a histogram
FEW_EMPTY = 0.01  # share of empty cells below which none is said
LITTLE = 0.03  # part of a column's range below which a variable hardly moves it


def leaf_sections(profiles: dict[str, Any], findings: Findings, n_rows: int) -> list[dict[str, Any]]:
    """What the template needs about each leaf of ``leaves.json``, in the order of the tree; shares are of
    `n_rows`."""
    columns = [Shown(c["name"], c["kind"], tuple(c["levels"]), c["empty"]) for c in profiles["columns"]]
    found = [leaf for leaf in profiles["leaves"] if _is_known(leaf, findings)]
    largest = sorted(range(len(found)), key=lambda i: -found[i]["n_rows"])[:SHOWN_LEAVES]
    opened = largest
    if len(largest) > OPEN_LEAVES:  # a branch of nearly all rows says little
        opened = sorted(largest, key=lambda i: abs(found[i]["n_rows"] / max(1, n_rows) - 0.5))[: OPEN_LEAVES // 2]
    out = []
    for i in sorted(largest):
        leaf, path = found[i], found[i]["path"]
        rows = [_column(columns[c["column"]], c, profiles["columns"][c["column"]], leaf) for c in leaf["columns"]]
        support = findings.option_support(*leaf["choice"]) if path is None else findings.support.get(path)
        explained = _explained(leaf, findings)
        out.append(
            {
                "name": _name(leaf, findings),
                "share": leaf["n_rows"] / max(1, n_rows),
                "n_rows": leaf["n_rows"],
                "support": support,
                "weak": support is not None and not came_back(support),
                "open": i in opened,
                "text": "" if path is None else findings.leaves.get(path, ""),
                "columns": rows[:SHOWN_COLUMNS],
                "more_columns": rows[SHOWN_COLUMNS:],
                "typical": leaf["typical"],
                "variables": [
                    _variable(v, findings, profiles, path) for v in explained if not findings.is_still(v, path)
                ],
                "still": [findings.variable_name(v) for v in explained if findings.is_still(v, path)],
            }
        )
    return out


def shared_variables(profiles: dict[str, Any], findings: Findings) -> list[dict[str, Any]]:
    """The explained variables that all rows have, if branches are described: leaves have them among theirs. Those
    that move no column are left out."""
    if not any(leaf["choice"] for leaf in profiles["leaves"]):
        return []
    root = [v.name for v in findings.hierarchy.variables if v.parent is None and v.name in findings.moves]
    return [_variable(name, findings, profiles) for name in root if not findings.is_still(name)]


def _is_known(leaf: dict[str, Any], findings: Findings) -> bool:
    """Whether the tree has this leaf or branch; a file may be of another."""
    if leaf["choice"] is not None:
        v, k = leaf["choice"]
        variables = findings.hierarchy.variables
        return v < len(variables) and k < len(variables[v].options)
    return leaf["path"] is not None and leaf["path"] < len(findings.hierarchy.paths)


def _name(leaf: dict[str, Any], findings: Findings) -> str:
    if leaf["choice"] is None:
        return findings.path_name(leaf["path"])
    variable = findings.hierarchy.variables[leaf["choice"][0]]
    return findings.option_name(variable.name, variable.options[leaf["choice"][1]])


def _explained(leaf: dict[str, Any], findings: Findings) -> list[str]:
    """Names of the explained variables of a leaf, or of those that a branch opens."""
    variables = findings.hierarchy.variables
    if leaf["choice"] is None:
        own = [variables[i] for i in findings.hierarchy.paths[leaf["path"]].continuous]
    else:
        own = [v for v in variables if (v.parent, v.option) == tuple(leaf["choice"]) and v.kind == "continuous"]
    return [v.name for v in own if v.name in findings.moves]


def _variable(name: str, findings: Findings, profiles: dict[str, Any], path: int | None = None) -> dict[str, Any]:
    """What a variable moves on a path, or where most rows are that have it; the largest movers first."""
    known = {c["name"]: c for c in profiles["columns"]}
    about = findings.moves[name]
    about = next((there for there in about.get("on", ()) if there["path"] == path), about)
    moves = [_move(m, known.get(m["column"])) for m in about["moves"]]
    moves = [m for m in moves if m["from"] != m["to"]]  # as they are written
    return {
        "name": findings.variable_name(name),
        "code": name,
        "text": about["text"],
        "moves": moves[:SHOWN_MOVES],
        "more_moves": moves[SHOWN_MOVES:],
    }


def _move(move: dict[str, Any], column: dict[str, Any] | None) -> dict[str, Any]:
    """From one value of a column to another, as text and as a bar in the range that all rows have."""
    start, end = move["from"], move["to"]
    shown = None if column is None else Shown(column["name"], column["kind"], (), column["empty"])
    texts = [v if isinstance(v, str) else (shown or Shown("", "number")).text(v) for v in (start, end)]
    out: dict[str, Any] = {
        "column": move["column"],
        "from": texts[0],
        "to": texts[1],
        "bar": None,
        "little": False,
    }
    if column is not None and column["bins"] and all(isinstance(v, float) for v in (start, end)):
        low, high = column["bins"][0], column["bins"][-1]
        ends = np.clip((np.array([start, end]) - low) / ((high - low) or 1.0), 0, 1)
        left, right = float(ends.min()), float(ends.max())
        out["bar"] = {"left": f"{100 * left:.1f}", "width": f"{100 * (right - left):.1f}", "up": end >= start}
        out["little"] = right - left < LITTLE
    return out


def _column(
    shown: Shown, mine: dict[str, Any], everywhere: dict[str, Any], leaf: dict[str, Any]
) -> dict[str, Any]:
    """A row of the table of a leaf's columns."""
    out: dict[str, Any] = {
        "name": shown.name,
        "difference": mine["difference"],
        "typical": [shown.text(value) for value in mine["typical"]],
        "picture": None,
        "levels": None,
        "other_levels": 0,
        "empty": "",
    }
    n_mine, n_all = leaf["n_rows"], sum(everywhere["counts"]) + everywhere["n_empty"]
    if shown.kind == "category":
        out["levels"], out["other_levels"] = _levels(shown, mine, everywhere, n_mine, n_all)
        out["here"], out["everywhere"] = (
            _most_common(shown, c, n) for c, n in ((mine, n_mine), (everywhere, n_all))
        )
    else:
        out["picture"] = _histogram(shown, mine, everywhere)
        out["here"], out["everywhere"] = shown.text(mine["median"]), shown.text(everywhere["median"])
    shares = mine["n_empty"] / max(1, n_mine), everywhere["n_empty"] / max(1, n_all)
    if max(shares) >= FEW_EMPTY:
        out["empty"] = f"{shown.empty}: {shares[0]:.0%} here, {shares[1]:.0%} of all"
    return out


def _most_common(shown: Shown, counted: dict[str, Any], n: int) -> str:
    counts = counted["counts"]
    if not any(counts):
        return shown.empty
    top = int(np.argmax(counts))
    return f"{shown.levels[top]} ({counts[top] / max(1, n):.0%})"


def _levels(
    shown: Shown, mine: dict[str, Any], everywhere: dict[str, Any], n_mine: int, n_all: int
) -> tuple[list[dict[str, Any]], int]:
    """The shares of the most common levels, here and in all rows; and how many more there are."""
    a, b = (np.zeros(len(shown.levels)) for _ in range(2))
    a[: len(mine["counts"])], b[: len(everywhere["counts"])] = mine["counts"], everywhere["counts"]
    a, b = a / max(1, n_mine), b / max(1, n_all)
    order = np.argsort(-np.maximum(a, b), kind="stable")[:SHOWN_LEVELS]
    shares = [
        {"name": shown.levels[k], "here": f"{100 * a[k]:.1f}", "all": f"{100 * b[k]:.1f}", "text": f"{a[k]:.0%}"}
        for k in order
    ]
    return shares, int((b > 0).sum()) - len(order)


def _histogram(shown: Shown, mine: dict[str, Any], everywhere: dict[str, Any]) -> dict[str, str] | None:
    """Steps of an SVG: shares of all rows behind those of the leaf, each as part of its rows."""
    bins, a, b = everywhere["bins"], np.array(mine["counts"], float), np.array(everywhere["counts"], float)
    if not bins or not b.sum():
        return None
    a, b = a / max(1.0, a.sum()), b / b.sum()
    top = max(a.max(), b.max())
    last = bins[-2] if len(b) <= FEW_VALUES else bins[-1]  # of few values, each has a bar that begins there
    return {
        "all": _steps(b / top), "here": _steps(a / top), "low": shown.text(bins[0]), "high": shown.text(last),
    }  # fmt: skip


def _steps(heights: Any) -> str:
    width = WIDTH / len(heights)
    parts = [f"M0 {HEIGHT}"]
    for i, h in enumerate(heights):
        parts.append(f"V{HEIGHT - (HEIGHT - 1) * h:.1f}H{(i + 1) * width:.1f}")
    return "".join([*parts, f"V{HEIGHT}Z"])
