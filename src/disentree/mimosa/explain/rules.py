"""A rule of at most two questions that tells a branch from its siblings, and how often it is right on rows that it
was not made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.tree import DecisionTreeClassifier

from disentree.mimosa.explain.columns import Columns, level_text, round_between
from disentree.mimosa.explain.facts import DOUBT, ROUNDED, Fact, Side, level_in_short

ASKED = 20  # columns that a rule may ask for: those that differ most
MOST_VALUES = 12  # of a categorical column that are asked for
LEAST_ACCURACY = 0.65  # balanced, on held-out rows; a coin has .5
SIMPLER = 0.01  # accuracy that one question may have less than two
FEWEST_HELD_OUT = 3  # rows on each side


@dataclass(frozen=True)
class Rule:
    """A rule and what it does on held-out rows.

    Attributes
    ----------
    text : str
    columns : tuple of str
    accuracy : float
        Mean of the shares of rows that it gets right in the branch and elsewhere.
    found : float
        Share of the branch's rows that the rule holds for.
    elsewhere : float
        Share of the siblings' rows that it holds for.
    rows : int
        Held-out rows.
    names : tuple of tuple of str, default=()
        Its one or two conditions as those of a `Fact`, if all of them must hold and can be said in short.
    """

    text: str
    columns: tuple[str, ...]
    accuracy: float
    found: float
    elsewhere: float
    rows: int
    names: tuple[tuple[str, str, str], ...] = ()

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

    Parameters
    ----------
    columns : Columns
    side : Side
    facts : sequence of Fact
        What tells the branch from its siblings, the most important first: a rule is one of them, or asks for
        their columns.

    Returns
    -------
    Rule or None
    """
    if min(len(side.held_here), len(side.held_there)) < FEWEST_HELD_OUT or not facts:
        return None
    names = list(dict.fromkeys(name for fact in facts for name in fact.columns))
    exact = [fact for fact in facts if fact.is_exact]
    features: list[Feature] = [
        (fact.holds.astype(float), fact.columns[0], ("fact", i, fact)) for i, fact in enumerate(exact)
    ]
    features += _features(columns, sorted(names[:ASKED]))
    n_facts = len(facts) - len(exact)  # that only are rules by themselves
    features += [
        (f.holds.astype(float), f.columns[0], ("fact", i, f)) for i, f in enumerate(facts) if not f.is_exact
    ]
    rows = np.concatenate([side.here, side.there])
    y = np.arange(len(rows)) < len(side.here)
    X = np.stack([values[rows] for values, _, _ in features], axis=1)
    best: tuple[float, list[list[Condition]]] | None = None
    for i, (_, _, (kind, _, _)) in enumerate(features):
        accuracy = _balanced(X[:, i] > 0.5, y) if kind == "fact" else 0.0
        if best is None or accuracy > best[0]:
            best = (accuracy, [[(i, True, 0.5)]])
    for depth in (1, 2):
        tree = DecisionTreeClassifier(
            max_depth=depth, class_weight="balanced", random_state=0, min_samples_leaf=max(1, len(rows) // 200)
        ).fit(X[:, : X.shape[1] - n_facts], y)
        leaves = _positive(tree.tree_)
        if not leaves:
            continue
        accuracy = _balanced(_holds(leaves, X), y)
        if best is None or accuracy > best[0] + SIMPLER:
            best = (accuracy, leaves)
    assert best is not None
    leaves = _simplified([[c if _is_yes(features[c[0]]) else _nice(X, c) for c in leaf] for leaf in best[1]])
    leaves = _rounded(leaves, features, X, y)
    held = np.concatenate([side.held_here, side.held_there])
    truth = np.arange(len(held)) < len(side.held_here)
    holds = _holds(leaves, np.stack([values[held] for values, _, _ in features], axis=1))
    found, elsewhere = float(holds[truth].mean()), float(holds[~truth].mean())
    accuracy = 0.5 * (found + 1 - elsewhere)
    n, m = int(truth.sum()), int((~truth).sum())
    guarded = (found * n + 1) / (n + 2), (elsewhere * m + 1) / (m + 2)
    doubt = 0.5 * np.sqrt(guarded[0] * (1 - guarded[0]) / (n + 2) + guarded[1] * (1 - guarded[1]) / (m + 2))
    if accuracy < LEAST_ACCURACY or accuracy - DOUBT * doubt <= 0.5:
        return None
    text = "; or ".join(" and ".join(_words(columns, features, c) for c in leaf) for leaf in leaves)
    asked = tuple(dict.fromkeys(name for leaf in leaves for c in leaf for name in _asked(features[c[0]])))
    short = [_short(columns, features, c) for c in leaves[0]] if len(leaves) == 1 else []
    names = tuple(name for name in short if name is not None)
    return Rule(text, asked, accuracy, found, elsewhere, len(held), names if len(names) == len(short) else ())


Feature = tuple[Float[np.ndarray, " rows"], str, Any]  # values, the column, and its number or its level
Condition = tuple[int, bool, float]  # feature, whether above, limit


def _features(columns: Columns, names: Sequence[str]) -> list[Feature]:
    """A feature for each column of numbers, with empty cells below all others, and for each value of a categorical
    one."""
    out: list[Feature] = []
    for name in names:
        if name in columns.number_names:
            j = columns.number_names.index(name)
            x = columns.numbers[:, j]
            low = np.nanmin(x) if (~np.isnan(x)).any() else 0.0
            out.append((np.where(np.isnan(x), low - max(1.0, abs(low)), x), name, ("number", j, low)))
        else:
            j = columns.category_names.index(name)
            values = columns.categories[:, j]
            counts = np.bincount(values[values >= 0], minlength=len(columns.levels[j]))
            for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
                out.append(((values == k).astype(float), name, ("level", j, int(k))))
            if (values < 0).any():
                out.append(((values < 0).astype(float), name, ("level", j, -1)))
    return out


def _asked(feature: Feature) -> tuple[str, ...]:
    """The columns that a feature asks for."""
    _, name, (kind, _, what) = feature
    return what.columns if kind == "fact" else (name,)


def _is_yes(feature: Feature) -> bool:
    """Whether a feature is 0 or 1."""
    return feature[2][0] != "number"


def _simplified(leaves: list[list[Condition]]) -> list[list[Condition]]:
    """The same rule in fewer words: of limits of one column only the nearer ones, and no "not A" after "A, or"."""
    alone = {leaf[0] for leaf in leaves if len(leaf) == 1}
    out = []
    for leaf in leaves:
        kept = [c for c in leaf if len(leaf) == 1 or (c[0], not c[1], c[2]) not in alone]
        nearer = {}
        for feature, above, limit in kept:
            before = nearer.get((feature, above), limit)
            nearer[feature, above] = max(before, limit) if above else min(before, limit)
        out.append([(feature, above, limit) for (feature, above), limit in nearer.items()])
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
        out |= np.logical_and.reduce([(X[:, f] > limit) == above for f, above, limit in leaf])
    return out


def _balanced(holds: Bool[np.ndarray, " n"], y: Bool[np.ndarray, " n"]) -> float:
    return 0.5 * float(holds[y].mean() + 1 - holds[~y].mean())


def _nice(X: Float[np.ndarray, "n f"], condition: Condition) -> Condition:
    """The same condition with a round limit between the same values."""
    feature, above, limit = condition
    x = X[:, feature]
    low, high = x[x <= limit], x[x > limit]
    return feature, above, round_between(float(low.max()), float(high.min())) if len(low) and len(high) else limit


def _rounded(
    leaves: list[list[Condition]],
    features: Sequence[Feature],
    X: Float[np.ndarray, "n f"],
    y: Bool[np.ndarray, " n"],
) -> list[list[Condition]]:
    """The same rule with limits of fewer digits, where that makes no difference."""
    least = _balanced(_holds(leaves, X), y) - ROUNDED / 2
    for i, leaf in enumerate(leaves):
        for k, (feature, above, limit) in enumerate(leaf):
            if _is_yes(features[feature]):
                continue
            for digits in range(1, 6):
                condition = (feature, above, float(f"{limit:.{digits}g}"))
                tried = [*leaves[:i], [*leaf[:k], condition, *leaf[k + 1 :]], *leaves[i + 1 :]]
                if _balanced(_holds(tried, X), y) >= least:
                    leaves = tried
                    leaf = tried[i]
                    break
    return leaves


def _words(columns: Columns, features: Sequence[Feature], condition: Condition) -> str:
    feature, above, limit = condition
    _, name, (kind, j, what) = features[feature]
    if kind == "fact":
        return what.text if above else what.denied
    if kind == "level":
        if what < 0:
            return f"{name} is empty" if above else f"{name} has a value"
        return f"{name} is {'' if above else 'not '}{level_text(columns.levels[j][what])}"
    has_gaps = bool(np.isnan(columns.numbers[:, j]).any())
    if has_gaps and limit < what:
        return f"{name} has a value" if above else f"{name} is empty"
    shown = columns.show(j, limit)
    if j in columns.dates:
        words = f"{name} after {shown}" if above else f"{name} until {shown}"
    else:
        words = f"{name} above {shown}" if above else f"{name} at most {shown}"
    return words if above or not has_gaps else f"{words} or empty"


def _short(columns: Columns, features: Sequence[Feature], condition: Condition) -> tuple[str, str, str] | None:
    """The same as `_words` for a name: before the column, the column, and after it; None where that needs more."""
    feature, above, limit = condition
    _, name, (kind, j, what) = features[feature]
    if kind == "fact":
        return what.name if above else None
    if kind == "level":
        if what < 0:
            return ("no " if above else "with "), name, ""
        return "", name, level_in_short("=" if above else "≠", columns.levels[j][what])
    if np.isnan(columns.numbers[:, j]).any() and (limit < what or not above):
        return None
    return "", name, f" {'>' if above else '≤'} {columns.show(j, limit)}"
