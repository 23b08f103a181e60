"""The rule that tells a branch from its siblings best: a statement of at most two conditions, and how much of the
branch, and how little else, it holds for on rows that it was not made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.tree import DecisionTreeClassifier

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.reach import unit_of
from disentree.mimosa.explain.columns import Columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.facts import Fact, Side, differ, shares_of
from disentree.mimosa.explain.formatting import category_text, round_between, rule_shares


@dataclass(frozen=True)
class Rule:
    """A statement about columns, and what it does on held-out rows."""

    text: str
    columns: tuple[str, ...]
    recall: float  # share of the branch's rows that it holds for
    precision: float  # share of the rows that it holds for which are of the branch
    rows: int  # held-out ones
    is_short: bool  # whether all of its conditions must hold: only such a one can be a name
    is_value: bool = False  # whether it says which value a category has

    @property
    def is_exact(self) -> bool:
        """Whether it holds for nearly all of the branch and for nearly nothing else."""
        return min(self.recall, self.precision) >= 1 - FIT.exceptions

    @property
    def is_name(self) -> bool:
        """Whether a branch may be called by it."""
        return self.is_short and min(self.recall, self.precision) >= EXPLAIN.rule

    def to_dict(self) -> dict[str, Any] | None:
        """As JSON; None if so many other rows match that it is no rule."""
        if self.precision < EXPLAIN.rule:
            return None
        recall, precision = round(self.recall, 4), round(self.precision, 4)
        shares = rule_shares(recall, precision)
        return {"text": self.text, "recall": recall, "precision": precision, "rows": self.rows, "shares": shares}


def find_rule(columns: Columns, side: Side, facts: Sequence[Fact]) -> Rule | None:
    """The rule for a branch; None if none holds on held-out rows.

    A rule is one of the facts that tell the branch from its siblings, or it asks for their columns. Of those that
    are exact or nearly so it is the shortest, and rather about a value than about an empty cell; else the one that
    is right about most rows, by the harmonic mean of precision and recall.
    """
    if min(len(side.held_here), len(side.held_there)) < EXPLAIN.fewest_rows or not facts:
        return None
    names = dict.fromkeys(name for fact in facts for name in fact.columns)
    told = [
        Question(fact.holds.astype(float), fact.columns, (fact.text, fact.denied), kind=fact.kind)
        for fact in facts
    ]
    exact = [question for question, fact in zip(told, facts, strict=True) if fact.is_exact]
    asked = [question for name in sorted(names) for question in _ask_column(columns, name)]
    questions = [*exact, *asked, *(question for question in told if question not in exact)]
    n_asked = len(exact) + len(asked)  # the others are not combined
    rows, y, w = side.found_in
    X = np.stack([question.values[rows] for question in questions], axis=1)
    unit = unit_of(X)[:n_asked]  # trees have numbers of single precision
    candidates = [[[(i, True, 0.5)]] for i in (*range(len(exact)), *range(n_asked, len(questions)))]
    for depth in (1, 2):
        for balance in (None, "balanced"):
            tree = DecisionTreeClassifier(
                max_depth=depth, class_weight=balance, random_state=0, min_samples_leaf=max(1, len(rows) // 200)
            ).fit(X[:, :n_asked] * unit, y, w)
            found = [
                [
                    (i, up, at) if questions[i].number is None else _nice(X, (i, up, at / unit[i]))
                    for i, up, at in leaf
                ]
                for leaf in _positive(tree.tree_)
            ]
            for some in [found, *([leaf] for leaf in found)] if found else []:
                candidates.append(_rounded(_simplified(some), questions, X, y, w))
    texts = [_text(columns, questions, one) for one in candidates]
    shares = [shares_of(_holds(one, X), y, w) for one in candidates]
    exactly = [i for i, both in enumerate(shares) if min(both) >= 1 - FIT.exceptions]
    if exactly:
        best = min(
            exactly,
            key=lambda i: (
                len(candidates[i]),
                _on_empty(columns, questions, candidates[i]),
                len(texts[i]),
                texts[i],
            ),
        )
    else:
        # More conditions must be worth it.
        best = max(range(len(texts)), key=lambda i: _f1(*shares[i]) - FIT.exceptions * _size(candidates[i]))
    rows, y, w = side.held_out
    holds = _holds(candidates[best], np.stack([question.values[rows] for question in questions], axis=1))
    if not differ(holds[y], holds[~y]):
        return None
    named = dict.fromkeys(name for leaf in candidates[best] for i, _, _ in leaf for name in questions[i].columns)
    is_value = all(questions[i].kind == "level" for leaf in candidates[best] for i, _, _ in leaf)
    return Rule(
        texts[best], tuple(named), *shares_of(holds, y, w), len(rows), len(candidates[best]) == 1, is_value
    )


# -------------------------------------------------------------------- questions


@dataclass(frozen=True, eq=False)
class Question:
    """What a rule may ask of a row: whether a value is above a limit. Of 0 and 1, what is said if it is and if
    not."""

    values: Float[np.ndarray, " n"]
    columns: tuple[str, ...]
    said: tuple[str, str] = ("", "")
    number: int | None = None  # the column of numbers, if it is one
    kind: str = ""  # of the fact that it asks for; "level" for the value of a category


def _on_empty(table: Columns, questions: Sequence[Question], leaves: Sequence[Sequence[Condition]]) -> int:
    """Whether a rule asks for empty cells (1): of a number, whether it is below all values; or, without saying so,
    for a limit that nearly all values are beyond (2)."""
    out = 0
    for i, above, limit in (condition for leaf in leaves for condition in leaf):
        if questions[i].kind in ("empty", "filled"):
            out = max(out, 1)
        elif (j := questions[i].number) is not None and table.empty[:, j].any():
            x = table.numbers[:, j]
            beyond = float(((x[~np.isnan(x)] > limit) == above).mean()) if (~np.isnan(x)).any() else 1.0
            if limit < np.nanmin(x, initial=np.inf):
                out = max(out, 1)
            elif beyond >= 1 - FIT.least_share:
                out = 2
    return out


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
        said = f"{name} is {shown}", f"{name} is not {shown}"
        out.append(Question((values == k).astype(float), (name,), said, kind="level"))
    if (values < 0).any():
        said = f"{name} is empty", f"{name} has a value"
        out.append(Question((values < 0).astype(float), (name,), said, kind="empty"))
    return out


def _text(table: Columns, questions: Sequence[Question], leaves: Sequence[Sequence[Condition]]) -> str:
    """A rule as it stands in a sentence."""
    told = (_conditions(table, questions, leaf) for leaf in leaves)
    return "; or ".join(
        " and ".join(f"({text})" if " or " in text and len(leaf) > 1 else text for text in leaf) for leaf in told
    )


def _conditions(table: Columns, questions: Sequence[Question], leaf: Sequence[Condition]) -> list[str]:
    limits: dict[int, dict[bool, float]] = {}
    for question, above, limit in leaf:
        limits.setdefault(question, {})[above] = limit
    out = []
    for i, between in limits.items():
        question = questions[i]
        if (j := question.number) is None:
            out += [question.said[0 if above else 1] for above in between]
            continue
        name, low, high = question.columns[0], between.get(True), between.get(False)
        gaps = bool(table.empty[:, j].any())
        least = np.nanmin(table.numbers[:, j], initial=np.inf)
        if low is not None and gaps and low < least:  # any value is above it
            low, gaps = None, False
            if high is None:
                out.append(f"{name} has a value")
        if high is not None and gaps and high < least:
            out.append(f"{name} is empty")
        elif low is not None or high is not None:
            text = table.between(j, low, high)
            out.append(f"{text} or empty" if gaps and low is None else text)
    return out


# -------------------------------------------------------------------- conditions

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


def _f1(recall: float, precision: float) -> float:
    return 2 * recall * precision / max(recall + precision, 1e-300)


def _size(leaves: Sequence[Sequence[Condition]]) -> int:
    return sum(map(len, leaves))


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
    w: Float[np.ndarray, " n"],
) -> list[list[Condition]]:
    """The same rule with limits of fewer digits, where that makes no difference."""
    least = _f1(*shares_of(_holds(leaves, X), y, w)) - FIT.least_share / 2
    for i, leaf in enumerate(leaves):
        for k, (question, above, limit) in enumerate(leaf):
            if questions[question].number is None:
                continue
            for digits in range(1, 6):
                condition = (question, above, float(f"{limit:.{digits}g}"))
                tried = [*leaves[:i], [*leaf[:k], condition, *leaf[k + 1 :]], *leaves[i + 1 :]]
                if _f1(*shares_of(_holds(tried, X), y, w)) >= least:
                    leaves = tried
                    leaf = tried[i]
                    break
    return leaves
