"""Growing components, on graphs small enough to follow by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from disentree.mimosa.paper.algorithm5_build_component import build_components


def test_contagion_counts_the_members_that_list_a_point():
    # 0, 1, 2 list each other; 3 is listed by 0 and 1 (not by 2); 4 is listed by 3 alone; 3 lists 5, 6
    neighbors = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 5], [4, 5, 6], [5, 6, 3], [6, 4, 3], [5, 4, 3]])
    similar = np.ones_like(neighbors, dtype=bool)
    similar[0, 2] = False  # 0 and 3 are not similar: 3 is pressed by 1 alone
    similar[2, 2] = False
    one = build_components(neighbors, similar, 1)
    assert one.tolist() == [0, 0, 0, 0, 0, 0, 0]
    two = build_components(neighbors, similar, 2)
    assert two.tolist() == [0, 0, 0, 1, 1, 1, 1]  # 3 starts a component of its own
    similar[0, 2] = True
    start = build_components(neighbors, similar, 2)
    assert start[3] == 0  # a similar neighbor of the first point joins at once


def test_what_a_point_lists_itself_does_not_count():
    """In-degree: 3 lists all of the component, but no member lists 3."""
    neighbors = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    labels = build_components(neighbors, np.ones((4, 2), dtype=bool), 1)
    assert labels.tolist() == [0, 0, 0, 1]


def naive_contagion(neighbors, similar, contagion_num):
    labels = np.full(len(neighbors), -1)
    component = 0
    for start in range(len(neighbors)):
        if labels[start] >= 0:
            continue
        members = {
            start,
            *(j for j, s in zip(neighbors[start], similar[start], strict=True) if s and labels[j] < 0),
        }
        growing = True
        while growing:
            counts = np.zeros(len(neighbors), dtype=int)
            for i in members:
                counts[neighbors[i][similar[i]]] += 1
            more = {int(j) for j in np.flatnonzero(counts >= contagion_num) if labels[j] < 0} - members
            members |= more
            growing = bool(more)
        labels[list(members)] = component
        component += 1
    return labels


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_contagion_is_the_loop_of_the_paper(seed, contagion_num):
    rng = np.random.default_rng(seed)
    n, k = 40, 6
    neighbors = np.array([rng.choice([j for j in range(n) if j != i], k, replace=False) for i in range(n)])
    similar = rng.random((n, k)) < 0.4
    expected = naive_contagion(neighbors, similar, contagion_num)
    np.testing.assert_array_equal(build_components(neighbors, similar, contagion_num), expected)
