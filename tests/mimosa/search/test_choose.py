"""The rule that chooses, line by line. A case is a table of scores, and the finder that must win.

Bits are those of 400 rows with the same noise for all, so that savings have the standard error that is given.
"""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.search.choose import Score, beyond_doubt, choose, saving

NOISE = np.random.default_rng(0).normal(size=400)
NOISE = (NOISE - NOISE.mean()) / NOISE.std()


def score(finder: str, bits: float, leaves: int = 2, error: float = 0.01, **more) -> Score:
    """Of a candidate with so many bits per row, whose saving over the plain model has this standard error."""
    known = {"n_leaves": leaves, "n_connected": leaves, "mean_dimension": 2.0}
    return Score(finder, bits + error * np.sqrt(400) * NOISE, **{**known, **more})


PLAIN = score("gaussian", 0.0, leaves=1, error=0.0, is_plain=True, is_cloud=True)
WORSE = score("ppca", 1.0, leaves=1, error=0.0, is_plain=True)  # is no candidate for structure
CASES = {
    # name of the rule and side of its threshold: (other rows, rigor, the winner)
    "nothing was proposed": ([], 1, "gaussian"),
    "the best model without structure": ([score("margins", -1.0, 1, is_plain=True, is_cloud=True)], 1, "margins"),
    "fewest bits": ([score("a", -10.0), score("b", -11.0)], 1, "b"),
    # doubt: 2 standard errors, times the rigor
    "doubt above": ([score("a", -0.21, error=0.1)], 1, "a"),
    "doubt below": ([score("a", -0.19, error=0.1)], 1, "gaussian"),
    "rigor above": ([score("a", -0.41, error=0.1)], 2, "a"),
    "rigor below": ([score("a", -0.39, error=0.1)], 2, "gaussian"),
    # one cloud is no structure, however well it does; one leaf of fewer dimensions is
    "a cloud": ([score("a", -50.0, 1, is_cloud=True)], 1, "gaussian"),
    "one leaf": ([score("a", -50.0, 1)], 1, "a"),
    # fewer leaves that save nearly as much: 1.05 times as much is not enough for more leaves
    "fewer leaves": ([score("a", -10.4, 3), score("b", -10.0, 2)], 1, "b"),
    "fewer leaves save too little": ([score("a", -10.6, 3), score("b", -10.0, 2)], 1, "a"),
    "as many leaves": ([score("a", -10.4, 2), score("b", -10.0, 2)], 1, "a"),
    "fewer leaves that fall apart": ([score("a", -10.4, 3), score("b", -10.0, 2, n_connected=3)], 1, "a"),
    "more leaves that hang together": ([score("a", -10.4, 2, n_connected=3), score("b", -10.0, 2)], 1, "b"),
    # compared with the fewest bits, not with the last one that took its place
    "not step by step": ([score("a", -10.8, 4), score("b", -10.4, 3), score("c", -10.0, 2)], 1, "b"),
    # a higher mean dimension, from 1.15 times on, is not simpler
    "not higher": ([score("a", -10.4, 3), score("b", -10.0, 2, mean_dimension=2.29)], 1, "b"),
    "higher": ([score("a", -10.4, 3), score("b", -10.0, 2, mean_dimension=2.31)], 1, "a"),
    # a density of all rows is no leaf; where it saves more than 1.05 times as much, leaves are not thin
    "a density": ([score("d", -10.0, is_density=True)], 1, "gaussian"),
    "a density saves more": ([score("a", -10.0), score("d", -10.6, is_density=True)], 1, "gaussian"),
    "a density saves hardly more": ([score("a", -10.0), score("d", -10.4, is_density=True)], 1, "a"),
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
    "a density against a product": (
        [score("p", -10.0, 8, n_options=6), score("d", -10.6, is_density=True)],
        1,
        "gaussian",
    ),
    # exact leaves may lose 4 bits, whatever their number
    "exact": ([score("a", -53.9, 2), score("b", -50.0, 3, is_exact=True)], 1, "b"),
    "exact loses more": ([score("a", -54.1, 2), score("b", -50.0, 3, is_exact=True)], 1, "a"),
    # a product instead of leaves: it may lose 4 bits, and a 21st of what they save (1 - 1 / 1.05)
    "product": ([score("a", -50.0, 9), score("p", -47.7, 8, n_options=6)], 1, "p"),
    "product loses a share": ([score("a", -50.0, 9), score("p", -47.5, 8, n_options=6)], 1, "a"),
    "product loses 4 bits": ([score("a", -100.0, 9), score("p", -95.9, 8, n_options=6)], 1, "a"),
    "product loses less": ([score("a", -100.0, 9), score("p", -96.1, 8, n_options=6)], 1, "p"),
    "product instead of the simpler": (
        [score("a", -10.4, 4), score("b", -10.0, 3), score("p", -9.6, 8, n_options=6)],
        1,
        "p",
    ),
    # leaves instead of a product: fewer than its options, and nearly as much saved
    "fewer than options": ([score("p", -10.4, 8, n_options=6), score("b", -10.0, 5)], 1, "b"),
    "as many as options": ([score("p", -10.4, 8, n_options=6), score("b", -10.0, 6)], 1, "p"),
    "fewer save too little": ([score("p", -10.6, 8, n_options=6), score("b", -10.0, 5)], 1, "p"),
    "the first that are fewer": (
        [score("p", -10.4, 8, n_options=6), score("b", -10.2, 5), score("c", -10.1, 4)],
        1,
        "b",
    ),
    # the rules about leaves do not see products: few combinations are no reason, nor are exact leaves
    "product is not fewer leaves": ([score("a", -10.0, 3), score("p", -9.5, 2, n_options=4)], 1, "a"),
    "exact against a product": ([score("p", -53.9, 8, n_options=2), score("b", -50.0, 3, is_exact=True)], 1, "p"),
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
        ([score("a", -50.0, 1, is_cloud=True)], {"a": "it is one cloud too"}),
        ([score("a", -0.1, error=0.1)], {"a": "what it saves may be chance"}),
        ([score("a", -10.4, 3), score("b", -10.0, 2)], {"a": "fewer leaves do nearly as well"}),
        ([score("a", -53.9), score("b", -50.0, 3, is_exact=True)], {"a": "the chosen leaves hold exactly"}),
        (
            [score("a", -50.0, 9), score("p", -48.0, 8, n_options=6)],
            {"a": "independent choices say nearly the same"},
        ),
        # several at once, each by its own
        (
            [
                score("a", -53.9),
                score("b", -50.0, 3, is_exact=True),
                score("c", -60.0, 1, is_cloud=True),
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
