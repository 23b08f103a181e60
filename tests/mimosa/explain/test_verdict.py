"""The first sentence of a summary or report."""

import pytest
from disentree.mimosa.explain.verdict import is_nested, verdict

from disentree import Hierarchy

LINE = {"kind": "continuous"}


def tree(*options: list) -> Hierarchy:
    variables = [{"kind": "categorical", "options": [{"variables": below} for below in options]}]
    return Hierarchy.from_dict({"variables": [LINE, *variables]})


def test_nested_or_not():
    assert is_nested(tree([], [LINE]))
    assert is_nested(tree([LINE], [{"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}]))
    assert not is_nested(tree([LINE], [LINE, LINE]))
    assert not is_nested(tree([], []))


@pytest.mark.parametrize(
    ("support", "words"),
    [
        (None, "A tree of 2 leaves."),
        ([0.9, 0.8], "A tree is well supported: 2 leaves."),
        ([0.9, 0.7], "A tree is supported: 2 leaves."),
        ([0.9, 0.4], "A tree is partly supported: 1 of 2 branches came back in at least half of the resamples."),
        ([0.3, 0.4], "A tree of 2 leaves, not supported: resamples of the rows do not bring them back."),
    ],
)
def test_the_words_follow_the_support(support, words):
    assert verdict(tree([], [LINE]), support) == words


def test_clusters_are_no_tree():
    assert verdict(tree([LINE], [LINE])) == "Clusters, no nesting: 2 groups."
    assert verdict(tree([LINE], [LINE]), [0.1, 0.9]).startswith("Clusters, no nesting, partly supported")


def test_one_cloud():
    assert verdict(Hierarchy.flat(1)) == "No structure found: one cloud of about 1 dimension."
