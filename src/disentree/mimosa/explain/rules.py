"""A rule of at most two questions that tells a branch from its siblings, and how often it is right on rows that it
was not made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.tree import DecisionTreeClassifier

from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.facts import Fact, Side, category_in_name, differ
from disentree.mimosa.explain.formatting import category_text, round_between

NameParts = tuple[str, str, str]  # before the column, the column or formula, and after it


@dataclass(frozen=True)
class Rule:
    """A rule and what it does on held-out rows."""

    text: str
    columns: tuple[str, ...]
    accuracy: float  # mean of the shares of rows that it gets right in the branch and elsewhere
    found: float  # share of the branch's rows that it holds for
    elsewhere: float  # share of the siblings' rows that it holds for
    rows: int  # held-out ones
    names: tuple[NameParts, ...] = ()  # its one or two conditions in short, if all of them must hold

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "text": self.text,
            "accuracy": round(self.accuracy, 4),
            "rows": self.rows,
            "found": round(self.found, 4),
            "elsewhere": round(self.elsewhere, 4),
        }


def find_rule(columns: Columns, side: Side, facts: Sequence[Fact]) -> Rule | None:
    """The rule for a branch; None if none holds on held-out rows.

    A rule is one of the facts that tell the branch from its siblings, the most important first, or it asks for
    their columns.
    """
    if min(len(side.held_here), len(side.held_there)) < EXPLAIN.fewest_rows or not facts:
        return None
    names = dict.fromkeys(name for fact in facts for name in fact.columns)
    exact = [_ask_fact(fact) for fact in facts if fact.is_exact]
    alone = [_ask_fact(fact) for fact in facts if not fact.is_exact]  # not combined with others
    asked = [question for name in sorted(names) for question in _ask_column(columns, name)]
    questions = [*exact, *asked, *alone]
    rows, held = np.concatenate([side.here, side.there]), np.concatenate([side.held_here, side.held_there])
    y, held_y = np.arange(len(rows)) < len(side.here), np.arange(len(held)) < len(side.held_here)
    X = np.stack([question.values[rows] for question in questions], axis=1)
    best, conditions = -1.0, [[(0, True, 0.5)]]
    for i in (*range(len(exact)), *range(len(questions) - len(alone), len(questions))):
        accuracy = _balanced(X[:, i] > 0.5, y)
        if accuracy > best:
            best, conditions = accuracy, [[(i, True, 0.5)]]
    for depth in (1, 2):
        tree = DecisionTreeClassifier(
            max_depth=depth, class_weight="balanced", random_state=0, min_samples_leaf=max(1, len(rows) // 200)
        ).fit(X[:, : X.shape[1] - len(alone)], y)
        found = _positive(tree.tree_)
        accuracy = _balanced(_holds(found, X), y)
        if found and accuracy > best + EXPLAIN.exceptions:
            best, conditions = accuracy, found
    conditions = _simplified(
        [[c if questions[c[0]].number is None else _nice(X, c) for c in leaf] for leaf in conditions]
    )
    conditions = _rounded(conditions, questions, X, y)
    holds = _holds(conditions, np.stack([question.values[held] for question in questions], axis=1))
    if not differ(holds[held_y], holds[~held_y]):
        return None
    texts = [" and ".join(questions[i].text(columns, above, x) for i, above, x in leaf) for leaf in conditions]
    names = dict.fromkeys(name for leaf in conditions for i, _, _ in leaf for name in questions[i].columns)
    short = [questions[i].name(columns, above, x) for i, above, x in conditions[0]] if len(conditions) == 1 else []
    parts = tuple(name for name in short if name is not None)
    shares = float(holds[held_y].mean()), float(holds[~held_y].mean())
    accuracy = 0.5 * (shares[0] + 1 - shares[1])
    return Rule(
        "; or ".join(texts), tuple(names), accuracy, *shares, len(held), parts if len(parts) == len(short) else ()
    )


@dataclass(frozen=True)
class Question:
    """What a rule may ask of a row: whether a value is above a limit. Of 0 and 1, what is said if it is and if
    not."""

    values: Float[np.ndarray, " n"]
    columns: tuple[str, ...]
    said: tuple[str, str] = ("", "")
    named: tuple[NameParts | None, NameParts | None] = (None, None)  # in short; None where that needs more words
    number: int | None = None  # the column of numbers, if it is one

    def text(self, table: Columns, above: bool, limit: float) -> str:
        """A condition as it stands in a sentence."""
        if self.number is None:
            return self.said[0 if above else 1]
        name, has_gaps = self.columns[0], bool(table.empty[:, self.number].any())
        if has_gaps and limit < np.nanmin(table.numbers[:, self.number]):
            return f"{name} has a value" if above else f"{name} is empty"
        shown = f"{name} {table.limit_words(self.number)[0 if above else 1]} {table.show(self.number, limit)}"
        return f"{shown} or empty" if has_gaps and not above else shown

    def name(self, table: Columns, above: bool, limit: float) -> NameParts | None:
        """The same in short, for names."""
        if self.number is None:
            return self.named[0 if above else 1]
        empty = table.empty[:, self.number].any()
        if empty and (not above or limit < np.nanmin(table.numbers[:, self.number])):
            return None
        return "", self.columns[0], f" {'>' if above else '≤'} {table.show(self.number, limit)}"


def _ask_fact(fact: Fact) -> Question:
    return Question(fact.holds.astype(float), fact.columns, (fact.text, fact.denied), (fact.name, None))


def _ask_column(table: Columns, name: str) -> list[Question]:
    """Whether a number is above a limit, empty cells below all others; or whether a category is each of its
    values."""
    if name in table.number_names:
        j = table.number_names.index(name)
        x = table.numbers[:, j]
        low = 0.0 if np.isnan(x).all() else float(np.nanmin(x))
        return [Question(np.where(np.isnan(x), low - max(1.0, abs(low)), x), (name,), number=j)]
    j = table.category_names.index(name)
    values, levels = table.categories[:, j], table.levels[j]
    counts, out = np.bincount(values[values >= 0], minlength=len(levels)), []
    for k in np.argsort(-counts, kind="stable"):
        shown = category_text(levels[k])
        names = ("", name, category_in_name("=", levels[k])), ("", name, category_in_name("≠", levels[k]))
        out.append(
            Question((values == k).astype(float), (name,), (f"{name} is {shown}", f"{name} is not {shown}"), names)
        )
    if (values < 0).any():
        said, names = (f"{name} is empty", f"{name} has a value"), (("no ", name, ""), ("with ", name, ""))
        out.append(Question((values < 0).astype(float), (name,), said, names))
    return out


Condition = tuple[int, bool, float]  # number of the question, whether above, limit


def _simplified(leaves: list[list[Condition]]) -> list[list[Condition]]:
    """Without limits that are further out than nearer ones, and no "not A" after "A, or"."""
    alone = {leaf[0] for leaf in leaves if len(leaf) == 1}
    out = []
    for leaf in leaves:
        kept = [c for c in leaf if len(leaf) == 1 or (c[0], not c[1], c[2]) not in alone]
        nearer = {}
        for question, above, limit in kept:
            before = nearer.get((question, above), limit)
            nearer[question, above] = max(before, limit) if above else min(before, limit)
        out.append([(question, above, limit) for (question, above), limit in nearer.items()])
    return out


def _positive(tree: Any) -> list[list[Condition]]:
    """The leaves in which most of the weight is of the branch, each as its conditions; two leaves of one question
    are that question's node."""

    def visit(node: int) -> list[list[Condition]] | bool:
        if tree.children_left[node] < 0:
            share = tree.value[node][0]
            return bool(share[1] > share[0]) if len(share) > 1 else False
        feature, limit = int(tree.feature[node]), float(tree.threshold[node])
        low, high = visit(int(tree.children_left[node])), visit(int(tree.children_right[node]))
        if low is high is True or low is high is False:
            return low
        out: list[list[Condition]] = []
        for side, above in ((high, True), (low, False)):
            if side is True:
                out.append([(feature, above, limit)])
            elif isinstance(side, list):
                out += [[(feature, above, limit), *rest] for rest in side]
        return out

    found = visit(0)
    return found if isinstance(found, list) else []


def _holds(leaves: Sequence[Sequence[Condition]], X: Float[np.ndarray, "n f"]) -> Bool[np.ndarray, " n"]:
    out = np.zeros(len(X), bool)
    for leaf in leaves:
        out |= np.logical_and.reduce([(X[:, i] > limit) == above for i, above, limit in leaf])
    return out


def _balanced(holds: Bool[np.ndarray, " n"], y: Bool[np.ndarray, " n"]) -> float:
    return 0.5 * float(holds[y].mean() + 1 - holds[~y].mean())


def _nice(X: Float[np.ndarray, "n f"], condition: Condition) -> Condition:
    """The same condition with a round limit between the same values."""
    question, above, limit = condition
    x = X[:, question]
    low, high = x[x <= limit], x[x > limit]
    return question, above, round_between(float(low.max()), float(high.min())) if len(low) and len(high) else limit


def _rounded(
    leaves: list[list[Condition]],
    questions: Sequence[Question],
    X: Float[np.ndarray, "n f"],
    y: Bool[np.ndarray, " n"],
) -> list[list[Condition]]:
    """The same rule with limits of fewer digits, where that makes no difference."""
    least = _balanced(_holds(leaves, X), y) - EXPLAIN.exceptions / 2
    for i, leaf in enumerate(leaves):
        for k, (question, above, limit) in enumerate(leaf):
            if questions[question].number is None:
                continue
            for digits in range(1, 6):
                condition = (question, above, float(f"{limit:.{digits}g}"))
                tried = [*leaves[:i], [*leaf[:k], condition, *leaf[k + 1 :]], *leaves[i + 1 :]]
                if _balanced(_holds(tried, X), y) >= least:
                    leaves = tried
                    leaf = tried[i]
                    break
    return leaves
