"""Why a tree branches where it does, in terms of the columns of the data: for every option of every categorical
the facts and the rule that tell its rows from those of its siblings, and what is free in every leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.hierarchy import Variable
from disentree.hierarchy.renaming import with_names
from disentree.mimosa.explain.column_names import unique
from disentree.mimosa.explain.columns import Columns, choose_rows, read_columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.factors import describe_factors
from disentree.mimosa.explain.facts import Measured, Side, find_facts
from disentree.mimosa.explain.leaves import describe_leaf
from disentree.mimosa.explain.names import (
    leaf_name,
    name_categorical,
    name_options,
    name_variables,
    no_names,
)
from disentree.mimosa.explain.relations import find_relations
from disentree.mimosa.explain.rules import Rule, find_rule
from disentree.mimosa.explain.sentences import branch_sentence, lost_sentences, no_reason_sentence
from disentree.tables import Codec


@np.errstate(over="ignore", invalid="ignore")  # numbers of 1e300 have no variance
def explain_tree(
    X: Any,
    hierarchy: Hierarchy,
    labels: Any,
    columns: Sequence[str] | None = None,
    *,
    codec: Codec | None = None,
) -> Explanation:
    """The reasons for a tree in terms of the columns of the data.

    For every option of every categorical: exact relations between columns that hold there and not in its
    siblings, else the columns that differ most, and a rule of at most two questions. Reasons are looked for in two
    thirds of the rows of each path; what is said about them is measured on the rest.

    `X` is a data frame, an array of shape (n, p) or None, for data without columns: then only the sizes of
    branches and leaves are told. `labels` has the path of each row, -1 for none; `columns` names those of an
    array, and `codec` says what those of a data frame are, if that is not to be inferred.

    Examples
    --------
    >>> import numpy as np
    >>> from disentree import Hierarchy
    >>> x = np.random.default_rng(0).uniform(size=(300, 2))
    >>> x[:150, 1] = x[:150, 0]
    >>> found = explain_tree(x, Hierarchy.flat(1, (2,)), [0] * 150 + [1] * 150, ["a", "b"])
    >>> found.splits[0]["text"]
    'a = b: all of this group, and no other row.'
    """
    labels = np.asarray(labels)
    if X is None:
        X = Columns(np.zeros((len(labels), 0)), np.zeros((len(labels), 0), np.int64), ())
    cells = X if isinstance(X, Columns) else read_columns(X, columns, codec)
    if labels.shape != (len(cells),):
        raise ValueError(f"labels must have one path for each of {len(cells)} rows, got shape {labels.shape}")
    if len(labels) and labels.max() >= len(hierarchy.paths):
        raise ValueError(f"labels must be below {len(hierarchy.paths)}, the number of paths, got {labels.max()}")
    return _Explainer(cells, hierarchy, labels).explanation()


@np.errstate(over="ignore", invalid="ignore")
def tree_names(
    X: Any,
    hierarchy: Hierarchy,
    labels: Any,
    codec: Codec | None = None,
    encode: Callable[[Int[np.ndarray, " m"]], Float[np.ndarray, "m v"]] | None = None,
) -> dict[str, Any]:
    """Names for a tree from the reasons for its branches, and for its variables from the columns that they move,
    as `disentree.hierarchy.renaming.with_names` takes them; none for columns without names. `encode` gives codes
    of rows by their numbers."""
    cells = read_columns(X, codec=codec)
    if not cells.are_named:
        return no_names()
    explainer = _Explainer(cells, hierarchy, np.asarray(labels))
    explainer.explain_splits()
    if encode is not None and not hierarchy.is_categorical.all():
        new = explainer.names["variables"]
        taken = {new.get(v.name, v.name) for v in hierarchy.variables if v.kind == "categorical"}
        explainer.names["variables"] |= name_variables(
            hierarchy, encode(explainer.rows), explainer.columns, explainer.weight, taken
        )
    return explainer.names


def with_lost(
    found: Explanation, hierarchy: Hierarchy, lost: Sequence[dict[str, Any]], matches: Sequence[Sequence[int]]
) -> Explanation:
    """An explanation that also tells what the tree does not show."""
    names = {leaf["path"]: leaf["name"] for leaf in found.leaves}

    def name_of(path: int) -> str:
        return f"the leaf {names.get(path, hierarchy.paths[path].name)}"

    return replace(found, lost=lost_sentences(hierarchy, lost, matches, name_of))


class _Explainer:
    """The rows of a tree by option, and what is found about each."""

    def __init__(self, columns: Columns, hierarchy: Hierarchy, labels: Int[np.ndarray, " n"]):
        self.rows, self.held = choose_rows(columns, labels)
        self.columns, self.hierarchy, self.labels = columns.take(self.rows), hierarchy, labels[self.rows]
        self.counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
        self.n_rows = max(1, len(labels))
        kept = np.bincount(self.labels, minlength=len(self.counts))
        self.weight = (self.counts / np.maximum(kept, 1))[self.labels]
        self.choices = np.full((len(hierarchy.paths), hierarchy.n_variables), -1)
        for path in hierarchy.paths:
            for column, option in path.choices:
                self.choices[path.index, column] = option
        self.names = no_names()

    def explain_splits(self) -> dict[tuple[int, int], dict[str, Any]]:
        """What is said about each option, by its variable and number; and `names`."""
        splits: dict[tuple[int, int], dict[str, Any]] = {}
        taken = {v.name for v in self.hierarchy.variables}
        for v in self.hierarchy.variables:
            if v.kind != "categorical":
                continue
            reasons, shares = self._reasons(v), [size / self.n_rows for size in self._sizes(v)]
            names = list(v.options)
            if self.columns.are_named:
                names = name_options(v.name, v.options, [rule for _, rule in reasons], shares)
                used = [
                    rule.columns
                    for name, (_, rule) in zip(names, reasons, strict=True)
                    if rule and rule.text == name
                ]
                known = [m.fact.columns for facts, _ in reasons for m in facts]
                new = name_categorical(v.name, used or known)
                if new != v.name:
                    self.names["variables"][v.name] = unique(new, taken)
            self.names["options"][v.name] = dict(zip(v.options, names, strict=True))
            for k, (name, (facts, rule)) in enumerate(zip(names, reasons, strict=True)):
                splits[v.index, k] = self._split(v, k, name, facts, rule)
        return splits

    def explanation(self) -> Explanation:
        """What is said about the tree."""
        splits, most = self.explain_splits(), EXPLAIN.many
        shown = with_names(self.hierarchy, {"options": self.names["options"]})
        leaves = [self._leaf(int(p), shown) for p in np.argsort(-self.counts, kind="stable")[:most]]
        return Explanation(
            list(self.columns.names),
            [splits[place] for place in self._downwards(None, None)],
            [leaf for leaf in leaves if leaf["rows"] or len(self.hierarchy.paths) <= most],
            names=self.names,
            held_out=int(self.held.sum()),
            factors=describe_factors(self.hierarchy, splits, self._what_varies),
        )

    def _downwards(self, parent: int | None, option: int | None) -> Iterator[tuple[int, int]]:
        """Options of categoricals, each before those below it."""
        for v in self.hierarchy.variables:
            if v.kind == "categorical" and (v.parent, v.option) == (parent, option):
                for k in range(v.n_options):
                    yield v.index, k
                    yield from self._downwards(v.index, k)

    def _reasons(self, v: Variable) -> list[tuple[list[Measured], Rule | None]]:
        """Facts and a rule for each option of a categorical."""
        option = self.choices[self.labels, v.index]
        fit = [np.flatnonzero((option == k) & ~self.held) for k in range(v.n_options)]
        held = [np.flatnonzero((option == k) & self.held) for k in range(v.n_options)]
        relations = [find_relations(self.columns, rows) for rows in fit]
        out: list[tuple[list[Measured], Rule | None]] = []
        for k in range(v.n_options):
            there, held_there = (
                np.concatenate([np.zeros(0, np.int64), *part[:k], *part[k + 1 :]]) for part in (fit, held)
            )
            if not len(fit[k]) or not len(there):
                out.append(([], None))
                continue
            side = Side(fit[k], there, held[k], held_there, self.weight)
            others = [r for i in range(v.n_options) if i != k for r in relations[i]]
            facts = find_facts(self.columns, side, relations[k], others)
            out.append((facts, find_rule(self.columns, side, [m.fact for m in facts])))
        return out

    def _sizes(self, v: Variable) -> list[int]:
        """Rows of each option of a categorical."""
        return [int(self.counts[self.choices[:, v.index] == k].sum()) for k in range(v.n_options)]

    def _split(self, v: Variable, k: int, name: str, facts: list[Measured], rule: Rule | None) -> dict[str, Any]:
        n = self._sizes(v)[k]
        text = branch_sentence(facts, rule if rule is not None and rule.is_name else None)
        if not text and self.columns.names:
            text = no_reason_sentence() if v.n_options > 1 else "All rows that get here."
            text = text if n else "No row is here."
        return {
            "path": self._path(v, k),
            "categorical": v.name,
            "option": v.options[k],
            "name": name,
            "share": n / self.n_rows,
            "rows": n,
            "columns": list(dict.fromkeys(name for m in facts for name in m.fact.columns)),
            "text": text,
            "relations": [m.fact.text for m in facts if m.fact.is_exact],
            "rule": None if rule is None else rule.to_dict(),
        }

    def _path(self, v: Variable, k: int) -> list[str]:
        """The options from the root to this one."""
        above = [] if v.parent is None or v.option is None else [(self.hierarchy.variables[v.parent], v.option)]
        return [*(name for parent, option in above for name in self._path(parent, option)), v.options[k]]

    def _what_varies(self, column: int) -> list[tuple[str, int, float]]:
        """Columns of numbers that vary more for one option of a categorical than for another: name, that option,
        and how many times the least variance; looked for in two thirds of the rows and measured on the rest."""
        option = self.choices[self.labels, column]
        options = np.unique(option[option >= 0])
        ratios, most = [], []
        for part in (~self.held, self.held):
            rows = [self.columns.numbers[part & (option == k)] for k in options]
            if len(rows) < 2 or min(len(one) for one in rows) < 2 or not rows[0].shape[1]:
                return []
            spread = np.stack([np.nan_to_num(_variance(one)) for one in rows])
            ratios.append(spread.max(axis=0) / np.maximum(spread.min(axis=0), 1e-12 * spread.max() + 1e-300))
            most.append(options[spread.argmax(axis=0)])
        return [
            (self.columns.number_names[c], int(most[1][c]), float(ratios[1][c]))
            for c in np.argsort(-ratios[0], kind="stable")[: EXPLAIN.listed_short]
            if most[0][c] == most[1][c] and min(ratios[0][c], ratios[1][c]) >= 1 + EXPLAIN.contrast
        ]

    def _leaf(self, p: int, shown: Hierarchy) -> dict[str, Any]:
        path, n = self.hierarchy.paths[p], int(self.counts[p])
        about = describe_leaf(self.columns, np.flatnonzero(self.labels == p), path.dimension)
        choices = list(path.choices)
        if len(choices) > EXPLAIN.listed:  # of many only the unusual ones
            choices = [(c, k) for c, k in choices if self._share(c, k) < 0.5]
        return {
            "path": p,
            "name": leaf_name(shown, p, choices) if choices or not path.choices else "the usual",
            "options": [self.hierarchy.variables[c].options[k] for c, k in path.choices],
            "share": n / self.n_rows,
            "rows": n,
            "dimension": path.dimension,
            "columns": list(about.columns),
            "relations": list(about.relations),
            "text": (about.text if self.columns.names else "") if n else "No row is here.",
        }

    def _share(self, column: int, option: int) -> float:
        """The share of an option among the rows that may choose it."""
        here = self.choices[:, column]
        return float(self.counts[here == option].sum() / max(1, self.counts[here >= 0].sum()))


def _variance(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """Of each column, without its empty cells; 0 where there are none."""
    known = ~np.isnan(rows)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / n
    return np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0) / n
