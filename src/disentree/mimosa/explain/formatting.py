"""Numbers, shares, categories and lists as they are written in sentences and names."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from disentree.mimosa.explain.constants import EXPLAIN


def number_text(value: float) -> str:
    """A number with as few digits as it needs, at most six."""
    value = float(f"{value:g}") + 0.0  # no -0
    if value == 0 or 1e-4 <= abs(value) < 1e15:
        return np.format_float_positional(value, trim="-")
    return f"{value:g}"


def category_text(category: str, longest: int | None = None) -> str:
    """A value of a categorical column; a long one is cut, which "…" says."""
    longest = 2 * EXPLAIN.longest_name if longest is None else longest
    return category if len(category) <= longest else f"{category[: longest - 1].rstrip()}…"


def round_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`.

    Examples
    --------
    >>> round_between(205.3, 207.1), round_between(0.0, 0.3), round_between(203.0, 211.0)
    (206.0, 0.0, 210.0)
    """
    if not low < high or low <= 0 < high:
        return low if not low < high or low == 0 else 0.0
    top = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(top, top - 16, -1):
        unit = 10.0**power
        value = float(f"{math.ceil(low / unit - 1e-9) * unit:.15g}")
        if low <= value < high:
            return value
    return low


def percent(share: float) -> str:
    """A share in words of a sentence: all and none only if it is exactly that."""
    if share >= 1:
        return "all"
    if share <= 0:
        return "none"
    percents = 100 * share
    if percents >= 99.95:
        return "nearly all"
    if percents < 0.05:
        return "almost none"
    return f"{percents:.1f} %" if percents > 99 or percents < 1 else f"{percents:.0f} %"


def share_text(share: float) -> str:
    """A share with one decimal, as beside the name of a group."""
    return f"{100 * share:.1f} %"


def shares_text(text: str, here: float, elsewhere: float) -> str:
    """A statement about rows, with the shares of a branch's rows and of its siblings' for which it is true."""
    return f"{text} in {percent(here)} of these, {percent(elsewhere)} elsewhere"


def rule_shares(recall: float, precision: float) -> str:
    """How much of a group a rule holds for, and how much of what it holds for is of the group."""
    others = "no other row" if precision >= 1 else f"{percent(precision)} of the rows that match are in it"
    return f"{percent(recall)} of this group, and {others}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number and its noun: "1 row", "2,000 rows", "3 branches"."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def listed(words: Sequence[str], most: int | None = None, last: str = "and") -> str:
    """A list as it is written, with at most so many items: "a, b and c", "a, b, c and 4 more".

    Examples
    --------
    >>> listed("abc"), listed("abcdefgh", 3), listed("ab", last="or")
    ('a, b and c', 'a, b, c and 5 more', 'a or b')
    >>> listed(["Smith, Jo", "Doe, Al", "Roe, Ed"])
    'Smith, Jo; Doe, Al and Roe, Ed'
    """
    words, most = list(words), EXPLAIN.listed if most is None else most
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} more"]
    between = "; " if any("," in word for word in words) else ", "
    return f" {last} ".join(filter(None, (between.join(words[:-1]), *words[-1:])))


def either(names: Sequence[str]) -> str:
    """Alternatives as the name of the choice between them; the first three are named.

    Examples
    --------
    >>> either(["garage"]), either(["ads", "payment", "gift", "loan", "trial"])
    ('garage', 'ads, payment, gift or 2 others')
    """
    left = len(names) - EXPLAIN.listed_short
    shown = [*names[: EXPLAIN.listed_short], *([counted(left, "other")] if left > 0 else [])]
    return listed(shown, last="or")


def empty_columns(names: Sequence[str]) -> str:
    """That columns are empty."""
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} empty"


def filled_columns(names: Sequence[str]) -> str:
    """That columns have values."""
    return f"{listed(names)} {'has' if len(names) == 1 else 'have'} a value"
