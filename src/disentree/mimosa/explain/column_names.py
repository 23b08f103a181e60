"""The words in the names of columns: names made of fewer of them, and those that several names have in common."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.constants import EXPLAIN

# Words that mean nothing without others, also those of questions in a code book ("WhatWasYourLastLevel").
SMALL_WORDS = frozenset((
    "a", "am", "an", "and", "any", "are", "at", "been", "by", "can", "did", "do", "does", "ever", "for",
    "from", "had", "has", "have", "how", "if", "in", "is", "it", "its", "many", "much", "no", "not", "of",
    "on", "or", "that", "the", "there", "they", "this", "to", "was", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your",
))  # fmt: skip
_PARTS = re.compile(r"[^ ._\-/]+|[ ._\-/]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")


def pieces(name: str) -> list[str]:
    """The words of a name and what is between them: joined, they are the name.

    Examples
    --------
    >>> pieces("AgeInYears"), pieces("flipper_length")
    (['Age', 'In', 'Years'], ['flipper', '_', 'length'])
    """
    return [hump for part in _PARTS.findall(name) for hump in _HUMPS.findall(part)]


def shortened(name: str, room: int) -> str:
    """A column's name in at most `room` letters: without its last words, or cut."""
    if len(name) <= room:
        return name
    parts = pieces(name)
    while len(parts) > 1 and (len("".join(parts)) > room or _is_small(parts[-1])):
        parts.pop()
    short = _without_marks("".join(parts))
    return short if 0 < len(short) <= room else f"{name[: max(1, room - 1)]}…"


def common_name(names: Sequence[str], others: Sequence[str] = ()) -> str:
    """The words that most of some names have in common; else how most of them begin; else all of them, or the
    first and how many more there are. A word of few letters stands for all of them if none of the `others` has it.

    Examples
    --------
    >>> common_name(["Bsmt.Qual", "BsmtFin.Type", "Total.Bsmt"]), common_name(["bmxwt", "bmxht"])
    ('Bsmt', 'bmxwt, bmxht')
    >>> common_name(["Fireplaces", "Fireplace.Qu"])
    'Fireplace'
    >>> common_name(["ads_amount", "ads_days"]), common_name(["ads_amount", "ads_days"], ["gift"])
    ('ads_amount, ads_days', 'ads')
    >>> common_name(["AgeWhenToldYouHadIt", "WhatWasYourLevel"])
    'AgeWhenToldYouHadIt, WhatWasYourLevel'
    """
    most, together = max(2, math.ceil(FIT.half * len(names))), ", ".join(names)
    fits = len(together) <= 2 * EXPLAIN.longest_name
    for parts_of in (_runs_of_words, _beginnings):
        counts = Counter(part for name in names for part in parts_of(name))
        shared = [part for part, count in counts.items() if count >= most]
        found = max(shared, key=lambda part: (counts[part], len(part), part), default="")
        is_own = bool(others) and all(found in parts_of(name) for name in names)
        is_own = is_own and not any(found in name for name in others)
        if not _is_small(found) and (is_own or not (fits and len(found) <= EXPLAIN.shortest_word)):
            return found
    if len(names) == 1 or fits:
        return together
    return f"{shortened(names[0], EXPLAIN.longest_name)} and {len(names) - 1} more"


def unique(name: str, taken: set[str]) -> str:
    """A name that is not taken yet, which it is afterwards.

    Examples
    --------
    >>> taken = {"garage"}
    >>> unique("garage", taken), unique("garage", taken)
    ('garage (2)', 'garage (3)')
    """
    found = next(n for n in (name, *(f"{name} ({i})" for i in range(2, 10_000))) if n not in taken)
    taken.add(found)
    return found


def _runs_of_words(name: str) -> set[str]:
    """All parts of a name that begin and end with a meaningful word, also without the s of a plural."""
    parts = pieces(name)
    ends = [i for i, part in enumerate(parts) if not _is_small(part)]
    runs = {"".join(parts[i : j + 1]) for i in ends for j in ends if i <= j}
    runs |= {run[:-1] for run in runs if run.endswith("s")}
    return {run for run in runs if len(run) >= EXPLAIN.shortest_word}


def _beginnings(name: str) -> set[str]:
    """The beginnings of a name of one word: codes such as ``bmxwt`` have no words that can be told apart."""
    return {name[:n] for n in range(EXPLAIN.shortest_word, len(name))} if len(pieces(name)) == 1 else set()


def _is_small(part: str) -> bool:
    word = _without_marks(part).lower()
    return not word or word in SMALL_WORDS


def _without_marks(text: str) -> str:
    return text.strip(" ._-/")
