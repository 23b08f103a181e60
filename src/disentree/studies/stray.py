"""Numbers in documents that have no source: everything that reads as a result and is in no marker."""

from __future__ import annotations

import re

# What is not read: code, addresses of links, comments, and what markers hold (taken out before).
_NOT_TEXT = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->|<[^>]+>|https?://\S+", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.-])[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:\s?%|(?![\w]))")
# Numbers that are no results: names, versions, sizes of data and of trainings, settings, parts of the paper.
ALLOWED = (
    r"(?:Python|disentree|version|Figures?|Tables?|Algorithm|Equation|ICML|depth|seeds?|level) \d[\d.]*",
    r"\b\d[\d,]* (?:samples|rows|values|images|epochs|steps|settings|bits|bytes|seeds|cores|columns|pixels)",
    r"\b[\d,]+ (?:(?:unlabeled|held-out|training) )?(?:series|rows|images)",
    r"\b(?:tau|lambda\d?|n|initial_dim|gamma|γ|beta|β|seed) ?[=-] ?\d[\d./]*",
    r"\d+(?:-D|st|nd|rd|th|x\d+)\b",
    r"\bA\.\d+(?: to A\.\d+)?",
    r"(?<=\n)\s*\d+\. ",
    r"\d+ %(?= of (?:its|the) (?:samples|rows))",
)
_ALLOWED = re.compile("|".join(ALLOWED))


def stray_numbers(text: str) -> list[str]:
    """The numbers of a document, without what its markers hold, that are not allowed, by line.

    Parameters
    ----------
    text : str
        Markdown.

    Returns
    -------
    list of str

    Examples
    --------
    >>> stray_numbers("On 100,000 samples of depth 2 it has R4c .93.")
    ['line 1: On 100,000 samples of depth 2 it has R4c .93.']
    >>> stray_numbers("On 100,000 samples of depth 2 it has `r4c` near one.")
    []
    """
    plain = _ALLOWED.sub(blank, _NOT_TEXT.sub(blank, text))
    lines = text.splitlines()
    at = [plain[: match.start()].count("\n") for match in _NUMBER.finditer(plain)]
    return [f"line {i + 1}: {lines[i].strip()[:100]}" for i in dict.fromkeys(at)]


def blank(match: re.Match[str]) -> str:
    """As many lines as the match has, and nothing on them."""
    return "\n" * match[0].count("\n") or " "
