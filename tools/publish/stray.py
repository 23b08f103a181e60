"""Numbers in documents that have no source: everything that reads as a result and is in no marker.

README and the reproduction may have no other number at all but names, sizes and settings (`stray_numbers`). Other
documents define things, with numbers in every second line; there what reads as measured is looked for
(`stray_measurements`): fractions, times, sizes in bytes, percentages, and what follows the name of a score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# What is not read: code, addresses of links, comments, and what markers hold (taken out before).
_NOT_TEXT = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->|<[^>]+>|https?://\S+", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.-])[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:\s?%|(?![\w]))")
# Numbers that are no results: names, versions, sizes of data and of trainings, settings, parts of the paper.
ALLOWED = (
    r"(?:Python|disentree|version|Figures?|Tables?|Algorithm|Equation|ICML|depth|seeds?|level)\s\d[\d.]*",
    r"\b\d[\d,]* (?:samples|rows|values|images|epochs|steps|settings|bits|bytes|seeds|cores|columns|pixels)",
    r"\b[\d,]+ (?:(?:unlabeled|held-out|training) )?(?:series|rows|images)",
    r"\b(?:tau|lambda\d?|n|initial_dim|gamma|γ|beta|β|seed) ?[=-] ?\d[\d./]*",
    r"\d+(?:-D|st|nd|rd|th|x\d+)\b",
    r"\bA\.\d+(?: to A\.\d+)?",
    r"(?<=\n)\s*\d+\. ",
    r"\d+ %(?= of (?:its|the) (?:samples|rows))",
)
_ALLOWED = re.compile("|".join(ALLOWED))
UNITS = ("s", "ms", "seconds?", "minutes?", "min", "hours?", "h", "[kKMG]i?B")
SCORES = (
    "R4c?",
    "R²",
    "H-errors?",
    "ARI",
    "index",
    "purity",
    "coverage",
    "accuracy",
    "agreement",
    "overlap",
    "score",
)
_MEASURED = re.compile(
    r"(?<![\w.,-])[+-]?(?:\d[\d,]*)?\.\d+(?:e-?\d+)?"  # a fraction
    r"|(?<![\w.,-])\d+(?:\.\d+)?e-?\d+\b"
    rf"|(?<![\w.-])\d[\d,.]*\s?(?:%|°|(?:{'|'.join(UNITS)})\b)"
    rf"|\b(?:{'|'.join(SCORES)})(?: (?:is|was|of|about|near|above|below|to))* [+-]?\d[\d,.]*"
)


def stray_numbers(text: str) -> list[str]:
    """The numbers of a document, without what its markers hold, that are not allowed, by line.

    >>> stray_numbers("On 100,000 samples of depth 2 it has R4c .93.")
    ['line 1: On 100,000 samples of depth 2 it has R4c .93.']
    >>> stray_numbers("On 100,000 samples of depth 2 it has `r4c` near one.")
    []
    """
    return _lines(text, _ALLOWED.sub(blank, _NOT_TEXT.sub(blank, text)), _NUMBER)


def stray_measurements(text: str, settings: Sequence[str] = ()) -> list[str]:
    """The numbers of a document, without what its markers hold, that read as measured, by line.

    `settings` are phrases of the document whose numbers are settings, sizes, versions or quotations; those that it
    does not have are listed too.

    >>> stray_measurements("Two trees of 3 leaves; R4c is 1. It took 4 s, at a rate of .1.", ["rate of .1"])
    ['line 1: Two trees of 3 leaves; R4c is 1. It took 4 s, at a rate of .1.']
    >>> stray_measurements("Two trees of 3 leaves.", ["rate of .1"])
    ["'rate of .1', which is not there,"]
    """
    words = [r"\s+".join(map(re.escape, phrase.split())) for phrase in settings]
    missing = [phrase for phrase, pattern in zip(settings, words, strict=True) if not re.search(pattern, text)]
    rest = re.sub("|".join(words), blank, text) if words else text
    found = _lines(text, _ALLOWED.sub(blank, _NOT_TEXT.sub(blank, rest)), _MEASURED)
    return [*found, *(f"{phrase!r}, which is not there," for phrase in missing)]


def _lines(text: str, plain: str, pattern: re.Pattern[str]) -> list[str]:
    """The lines of the text on which the pattern matches what is left of it."""
    lines = text.splitlines()
    at = [plain[: match.start()].count("\n") for match in pattern.finditer(plain)]
    return [f"line {i + 1}: {lines[i].strip()[:100]}" for i in dict.fromkeys(at)]


def blank(match: re.Match[str]) -> str:
    """As many lines as the match has, and nothing on them."""
    return "\n" * match[0].count("\n") or " "
