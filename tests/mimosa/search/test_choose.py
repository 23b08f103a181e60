"""The rule that chooses, line by line. A case is a table of scores, and the finder that must win.

Bits are those of 400 rows with the same noise for all, so that savings have the standard error that is given.
"""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.search.choose import Score, beyond_doubt, choose, saving

NOISE = np.random.default_rng(0).normal(size=400)
NOISE = (NOISE - NOISE.mean()) / NOISE.std()


def score(finder: str, bits: float, error: float = 0.01, **more) -> Score:
    """Of a candidate with so many bits per row, whose saving over the plain model has this standard error."""
    return Score(finder, bits + error * np.sqrt(400) * NOISE, **more)


PLAIN = score("gaussian", 0.0, error=0.0, is_plain=True, is_cloud=True)
WORSE = score("ppca", 1.0, error=0.0, is_plain=True)  # is no candidate for structure
CASES = {
    # name of the rule and side of its threshold: (other rows, rigor, the winner)
    "nothing was proposed": ([], 1, "gaussian"),
    "the best model without structure": ([score("margins", -1.0, is_plain=True, is_cloud=True)], 1, "margins"),
    "fewest bits": ([score("a", -10.0), score("b", -11.0)], 1, "b"),
    # doubt: 2 standard errors, times the rigor
    "doubt above": ([score("a", -0.21, error=0.1)], 1, "a"),
    "doubt below": ([score("a", -0.19, error=0.1)], 1, "gaussian"),
    "rigor above": ([score("a", -0.41, error=0.1)], 2, "a"),
    "rigor below": ([score("a", -0.39, error=0.1)], 2, "gaussian"),
    "fewest bits may be chance": ([score("a", -11.0, error=10.0), score("b", -10.0)], 1, "b"),
    # one cloud is no structure, however well it does
    "a cloud": ([score("a", -50.0, is_cloud=True)], 1, "gaussian"),
    "a cloud is no rival": ([score("a", -50.0, is_cloud=True), score("b", -10.0)], 1, "b"),
    # a density of all rows is no leaf; where it saves more, leaves are not thin
    "a density": ([score("d", -10.0, is_density=True)], 1, "gaussian"),
    "a density saves more": ([score("a", -10.0), score("d", -10.6, is_density=True)], 1, "gaussian"),
    "a density saves hardly more": ([score("a", -10.0), score("d", -10.4, is_density=True)], 1, "a"),
    "leaves with gaps save hardly more": (
        [score("a", -10.4, has_gaps=True), score("d", -10.0, is_density=True)],
        1,
        "gaussian",
    ),
    "leaves with gaps save more": (
        [score("a", -10.6, has_gaps=True), score("d", -10.0, is_density=True)],
        1,
        "a",
    ),
    "a density saves less": ([score("a", -10.1), score("d", -10.0, is_density=True)], 1, "a"),
    # exact leaves may lose 4 bits, to others and to a density
    "exact": ([score("a", -53.9), score("b", -50.0, is_exact=True)], 1, "b"),
    "exact loses more": ([score("a", -54.1), score("b", -50.0, is_exact=True)], 1, "a"),
    "exact against a density": (
        [score("a", -10.0, is_exact=True), score("d", -13.9, is_density=True)],
        1,
        "a",
    ),
    "exact against a better density": (
        [score("a", -10.0, is_exact=True), score("d", -14.1, is_density=True)],
        1,
        "gaussian",
    ),
    "exact against a product": ([score("p", -50.1, is_product=True), score("b", -50.0, is_exact=True)], 1, "p"),
    "fewer bits of two that are exact": (
        [score("a", -10.0, is_exact=True), score("b", -11.0, is_exact=True)],
        1,
        "b",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_winner(name):
    others, rigor, winner = CASES[name]
    for table in ([PLAIN, *others, WORSE], [WORSE, *others[::-1], PLAIN]):  # the order of rows does not matter
        decision = choose(table, rigor)
        assert decision.chosen.finder == winner
        plain = min((s for s in table if s.is_plain), key=lambda s: s.mean)
        assert decision.plain is plain
        assert decision.saved_bits == pytest.approx(plain.mean - decision.chosen.mean)


@pytest.mark.parametrize(
    ("others", "reasons"),
    [
        ([score("a", -10.0), score("b", -11.0)], {}),  # those of more bits need no reason
        ([score("a", -50.0, is_cloud=True)], {"a": "it is one cloud too"}),
        ([score("a", -0.1, error=0.1)], {"a": "what it saves may be chance"}),
        ([score("a", -53.9), score("b", -50.0, is_exact=True)], {"a": "the chosen leaves hold exactly"}),
        (
            [score("a", -10.0), score("d", -10.6, is_density=True)],
            {"a": "a density saves more", "d": "density is no structure"},
        ),
        # several at once, each by its own
        (
            [
                score("a", -53.9),
                score("b", -50.0, is_exact=True),
                score("c", -60.0, is_cloud=True),
                score("d", -60.0, error=40.0),
            ],
            {
                "a": "the chosen leaves hold exactly",
                "c": "it is one cloud too",
                "d": "what it saves may be chance",
            },
        ),
    ],
)
def test_why_not(others, reasons):
    assert choose([PLAIN, *others]).why_not == reasons


def test_savings_are_of_paired_rows():
    """Differences 1, 3 and 2, whose deviation is sqrt(2 / 3); rows that were not held out do not count."""
    a, b = np.array([1.0, 1.0, 1.0, np.nan]), np.array([2.0, 4.0, 3.0, 9.0])
    mean, error = saving(a, b)
    assert mean == 2
    assert error == pytest.approx(np.sqrt(2 / 3) / np.sqrt(3))
    assert beyond_doubt(a, b, 2.0)
    assert not beyond_doubt(a, b, 5.0)
    assert not beyond_doubt(a, a, 2.0)  # nothing is no saving
