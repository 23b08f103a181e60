"""Exact relations between the columns of some rows: constants, equalities, ratios and sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import listed, number_text


@dataclass(frozen=True)
class Relation:
    """Something that holds between columns of numbers."""

    kind: str  # "constant", "equal", "ratio" or "sum"
    columns: tuple[int, ...]  # of a sum the total is first; of a ratio the multiple
    text: str  # as a formula
    denied: str  # what is the case where it does not hold
    holds: Bool[np.ndarray, " n"]  # for every row of the table, those that it was not found in too


def find_relations(columns: Columns, rows: Int[np.ndarray, " m"]) -> list[Relation]:
    """Relations that hold in nearly all of some rows, at the precision of the data.

    Constants are first, those of one value together; then equalities, all columns that are equal together; then
    ratios and sums of what varies.
    """
    if len(rows) < EXPLAIN.fewest_rows or not columns.numbers.shape[1]:
        return []
    constant = _constants(columns, rows)
    varying = _varying(columns, rows, [j for j in range(columns.numbers.shape[1]) if j not in constant])
    equal = _equal(columns, rows, varying)
    left = [j for j in varying if not any(j in group[1:] for group in equal)]
    ratios = _ratios(columns, rows, left)
    follow = {y for y, _, _ in ratios}
    sums = _sums(columns, rows, [j for j in left if j not in follow])
    by_value: dict[float, list[int]] = {}
    for j, value in constant.items():
        by_value.setdefault(value, []).append(j)
    together = sorted(by_value.items(), key=lambda item: item[1])
    return [
        *(constant_relation(columns, tuple(group), value) for value, group in together),
        *(_equality(columns, tuple(group)) for group in equal),
        *(_ratio(columns, *found) for found in ratios),
        *(_sum(columns, *found) for found in sums),
    ]


def _constants(columns: Columns, rows: Int[np.ndarray, " m"]) -> dict[int, float]:
    X = columns.numbers[rows]
    middle = np.nanmedian(np.where(np.isnan(X).all(axis=0), 0.0, X), axis=0)
    out = {}
    for j in np.flatnonzero((np.abs(X - middle) <= 0.5 * columns.steps).mean(axis=0) >= 1 - FIT.least_share):
        values, counts = np.unique(X[:, j], return_counts=True)
        out[int(j)] = float(values[counts.argmax()])
    return out


def constant_holds(columns: Columns, j: int, value: float) -> Bool[np.ndarray, " n"]:
    """Where a column has a value, at its precision."""
    return np.abs(columns.numbers[:, j] - value) <= 0.5 * columns.steps[j]


def constant_relation(columns: Columns, group: tuple[int, ...], value: float) -> Relation:
    """The relation that some columns have one value."""
    names = [columns.number_names[j] for j in group]
    shown = columns.show(group[0], value)
    holds = np.logical_and.reduce([constant_holds(columns, j, value) for j in group])
    denied = f"{names[0]} is not {shown}" if len(names) == 1 else f"{listed(names)} are not all {shown}"
    return Relation("constant", group, f"{_chain(names)} = {shown}", denied, holds)


def _chain(names: list[str]) -> str:
    """Names of columns that are equal; of many only the ends."""
    return " = ".join(names if len(names) <= 6 else [*names[:2], "...", names[-1]])


def _varying(columns: Columns, rows: Int[np.ndarray, " m"], some: list[int]) -> list[int]:
    """Columns whose values are mostly there, and far apart compared with their precision."""
    X = columns.numbers[rows][:, some]
    there = ~np.isnan(X)
    spread = np.where(there.sum(axis=0) > 1, np.nanstd(np.where(there.any(axis=0), X, 0.0), axis=0), 0.0)
    fine = (there.mean(axis=0) >= 1 - FIT.least_share) & (columns.steps[some] <= (1 - FIT.core) * spread)
    return [j for j, ok in zip(some, fine, strict=True) if ok]


def _holds_where_unusual(holds: Bool[np.ndarray, " m"], *values: Float[np.ndarray, " m"]) -> bool:
    """Whether a relation holds in nearly all rows, and where no column has its most frequent value too."""
    if holds.mean() < 1 - FIT.least_share:
        return False
    unusual = np.ones(len(holds), bool)
    for x in values:
        found, counts = np.unique(x[~np.isnan(x)], return_counts=True)
        if counts.max() > 1:
            unusual &= x != found[counts.argmax()]
    return bool(unusual.sum() >= EXPLAIN.fewest_rows and holds[unusual].mean() >= FIT.core)


def _equal(columns: Columns, rows: Int[np.ndarray, " m"], some: list[int]) -> list[list[int]]:
    """Groups of columns that are equal."""
    few = _some(rows)
    X, steps = columns.numbers[few][:, some], columns.steps[some]
    group = {j: {j} for j in some}
    for a, j in enumerate(some[:-1]):
        tolerance = 0.5 * (1 + 1e-6) * np.maximum(steps[a], steps[a + 1 :])
        near = (np.abs(X[:, a + 1 :] - X[:, [a]]) <= tolerance).mean(axis=0) >= FIT.core
        for b in np.flatnonzero(near) + a + 1:
            k = some[b]
            if k in group[j]:
                continue
            x, y = columns.numbers[rows, j], columns.numbers[rows, k]
            if _holds_where_unusual(equality_holds(columns, (j, k))[rows], x, y):
                both = group[j] | group[k]
                for member in both:
                    group[member] = both
    found = {min(members): sorted(members) for members in group.values() if len(members) > 1}
    return [found[first] for first in sorted(found)]


def equality_holds(columns: Columns, group: tuple[int, ...]) -> Bool[np.ndarray, " n"]:
    """Where columns are equal, at their precision."""
    X, steps = columns.numbers[:, group], columns.steps[list(group)]
    tolerance = 0.5 * (1 + 1e-6) * np.maximum(steps[1:], steps[0])
    return np.asarray((np.abs(X[:, 1:] - X[:, [0]]) <= tolerance).all(axis=1))


def _equality(columns: Columns, group: tuple[int, ...]) -> Relation:
    names = [columns.number_names[j] for j in group]
    denied = f"{names[0]} and {names[1]} differ" if len(names) == 2 else f"{listed(names)} are not all equal"
    return Relation("equal", group, _chain(names), denied, equality_holds(columns, group))


def _ratios(columns: Columns, rows: Int[np.ndarray, " m"], some: list[int]) -> list[tuple[int, int, float]]:
    """Multiple, column and factor where a column is another one times a simple number."""
    X = columns.numbers[_some(rows)][:, some]
    filled = np.where(np.isnan(X), 0.0, X)
    sizes = np.maximum(np.linalg.norm(filled, axis=0), 1e-300)
    cosines = np.abs((filled / sizes).T @ (filled / sizes))
    out: list[tuple[int, int, float]] = []
    taken: set[int] = set()
    for a, b in np.argwhere(cosines >= FIT.core):
        j, k = some[a], some[b]
        known = ~np.isnan(X[:, a] + X[:, b]) & (X[:, a] != 0)
        if a == b or j in taken or k in taken or known.sum() < EXPLAIN.fewest_rows:
            continue
        factor = _simple(float(np.median(X[known, b] / X[known, a])))
        if abs(factor) <= 1:  # told the other way round, or not simple
            continue
        holds = ratio_holds(columns, k, j, factor)[rows]
        if _holds_where_unusual(holds, columns.numbers[rows, j], columns.numbers[rows, k]):
            out.append((k, j, factor))
            taken.add(k)
    return out


def _simple(ratio: float) -> float:
    """The simple number that a ratio is: of small whole numbers, or of at most three digits; else 0."""
    if not np.isfinite(ratio) or ratio == 0:
        return 0.0
    near = float(Fraction(ratio).limit_denominator(EXPLAIN.largest_denominator))
    for simple in (near, float(f"{ratio:.3g}")):
        if abs(simple) <= 1e6 and abs(simple - ratio) <= 1e-3 * abs(ratio) and simple not in (0.0, 1.0):
            return simple
    return 0.0


def ratio_holds(columns: Columns, y: int, x: int, factor: float) -> Bool[np.ndarray, " n"]:
    """Where one column is a multiple of another, at their precision."""
    tolerance = 0.5 * (1 + 1e-6) * max(columns.steps[y], abs(factor) * columns.steps[x])
    return np.asarray(np.abs(columns.numbers[:, y] - factor * columns.numbers[:, x]) <= tolerance)


def _ratio(columns: Columns, y: int, x: int, factor: float) -> Relation:
    fraction = Fraction(factor).limit_denominator(EXPLAIN.largest_denominator)
    as_fraction = abs(float(fraction) - factor) < 1e-9 * abs(factor) and fraction.denominator > 1
    shown = f"{fraction.numerator}/{fraction.denominator}" if as_fraction else number_text(factor)
    text = f"{columns.number_names[y]} = {shown} {columns.number_names[x]}"
    return Relation("ratio", (y, x), text, f"not {text}", ratio_holds(columns, y, x, factor))


def _sums(columns: Columns, rows: Int[np.ndarray, " m"], some: list[int]) -> list[tuple[int, int, int]]:
    """Total and two parts, where a column is the sum of two others."""
    some = some[: EXPLAIN.many]
    if len(some) < 3:
        return []
    few = _some(rows)
    X = columns.numbers[few][:, some]
    m = len(some)
    tolerance = 1.5 * (1 + 1e-6) * columns.steps[some].max()
    i, j = np.triu_indices(m, 1)
    hits = np.zeros((len(i), m), np.int32)
    for x in X:
        if np.isnan(x).any():
            x = np.where(np.isnan(x), np.inf, x)
        by_value = np.argsort(x)
        place = np.searchsorted(x[by_value], x[i] + x[j])
        for near in (np.clip(place - 1, 0, m - 1), np.clip(place, 0, m - 1)):
            total = by_value[near]
            with np.errstate(invalid="ignore"):
                ok = np.abs(x[total] - x[i] - x[j]) <= tolerance
            np.add.at(hits, (np.flatnonzero(ok), total[ok]), 1)
    out = []
    for pair, t in np.argwhere(hits >= FIT.core * len(few)):
        a, b, c = some[i[pair]], some[j[pair]], some[t]
        if c in (a, b) or any({a, b, c} == {*found} for found in out):
            continue
        values = (columns.numbers[rows, k] for k in (c, a, b))
        if _holds_where_unusual(sum_holds(columns, c, a, b)[rows], *values):
            out.append((c, a, b))
    return out


def sum_holds(columns: Columns, total: int, a: int, b: int) -> Bool[np.ndarray, " n"]:
    """Where a column is the sum of two others, each of which may have been rounded."""
    X, step = columns.numbers, float(columns.steps[[total, a, b]].max())
    return np.abs(X[:, total] - X[:, a] - X[:, b]) <= 1.5 * (1 + 1e-6) * step


def _sum(columns: Columns, total: int, a: int, b: int) -> Relation:
    names = [columns.number_names[k] for k in (total, a, b)]
    text = f"{names[0]} = {names[1]} + {names[2]}"
    return Relation("sum", (total, a, b), text, f"not {text}", sum_holds(columns, total, a, b))


def _some(rows: Int[np.ndarray, " m"]) -> Int[np.ndarray, " s"]:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), EXPLAIN.many)).astype(int)]
