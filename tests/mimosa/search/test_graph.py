"""Leaves by the graph of neighbors (`by_neighbors.py`), and the groups that parts of the rows bring back
(`dendrogram.py`)."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from disentree import MIMOSA
from disentree.metrics import matching_accuracy, purity_score
from disentree.mimosa.search.graph.dendrogram import Dendrogram, came_back, joined_by_links, that_come_back


def test_groups_of_most_links_are_joined_first():
    """Of three groups of two rows each the first two have a link, the third has none."""
    links = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    levels = joined_by_links(links, np.array([2.0, 2, 2]))
    assert [level.tolist() for level in levels] == [
        [[True, False, False], [False, True, False], [False, False, True]],
        [[True, True, False], [False, False, True]],
        [[True, True, True]],
    ]


def test_links_count_for_the_sizes_of_groups():
    """One link between two single rows is more than two between a single row and a group of eight."""
    levels = joined_by_links(np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]]), np.array([1.0, 1, 8]))
    assert levels[1].tolist() == [[True, True, False], [False, False, True]]


def cut_elsewhere():
    """Three modes of ten rows; two parts of the rows have the first, and the other two as one."""
    links = np.array([[9.0, 1, 0], [1, 9, 2], [0, 2, 9]])
    labels = np.repeat([0, 1, 2], 10)
    whole = Dendrogram(labels, links, joined_by_links(links, np.full(3, 10.0)))
    part = Dendrogram(np.zeros(0, int), np.zeros((2, 2)), [np.eye(2, dtype=bool), np.ones((1, 2), bool)])
    return whole, [(part, np.array([[10, 0], [0, 10], [0, 10]]))] * 2


def test_a_group_that_a_part_cuts_elsewhere_does_not_come_back():
    _, again = cut_elsewhere()
    assert came_back(np.eye(3, dtype=bool), again) == pytest.approx([1.0, 0.5, 0.5])
    assert came_back(np.array([[1, 0, 0], [0, 1, 1]], bool), again) == pytest.approx([1.0, 1.0])
    assert came_back(np.ones((1, 3), bool), again) == pytest.approx([1.0])


def test_what_does_not_come_back_is_joined_with_what_it_has_most_links_with():
    whole, again = cut_elsewhere()
    assert that_come_back(whole, again, 0.75).tolist() == [[True, False, False], [False, True, True]]
    assert len(that_come_back(whole, again, 0.5)) == 3


def rings(n=300, seed=0):
    """Kinds that no distance but the smallest tells: a ball, and a shell around it, in four columns."""
    rng = np.random.default_rng(seed)
    ball, shell = rng.normal(size=(2, n, 4))
    ball *= (rng.uniform(size=n) ** 0.25 / np.linalg.norm(ball, axis=1))[:, None]
    shell *= (rng.uniform(3, 3.5, n) / np.linalg.norm(shell, axis=1))[:, None]
    return np.concatenate([ball, shell]), np.repeat([0, 1], n)


def test_kinds_that_are_not_clouds():
    X, true = rings()
    m = MIMOSA(representation="graph", random_state=0).fit(X)
    assert len(m.hierarchy_.paths) == 2
    assert matching_accuracy(true, m.labels_) == 1.0
    assert m.candidates_[0]["finder"] == "graph"
    assert all(component.parent is None for component in m.components_)  # nothing encloses another
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    other = MIMOSA(representation="graph", random_state=0).fit(3 * X @ turned)
    assert matching_accuracy(m.labels_, other.labels_) == 1.0
    fresh, kinds = rings(seed=1)
    assert matching_accuracy(kinds, m.predict(fresh)) == 1.0


def test_one_cloud_has_no_kinds():
    X = np.random.default_rng(0).normal(size=(600, 5))
    m = MIMOSA(representation="graph", random_state=0).fit(X)
    assert len(m.hierarchy_.paths) == 1
    assert m.saved_bits_ == 0


def test_an_interrupt_while_rows_are_laid_out_leaves_one_leaf(monkeypatch):
    """Ctrl-C within compiled code ends with a SystemError."""

    def stopped(*args):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("disentree.mimosa.search.graph.dendrogram.layout", stopped)
    with pytest.warns(RuntimeWarning, match="interrupted: the graph of neighbors was not finished"):
        m = MIMOSA(representation="graph", random_state=0).fit(rings(60)[0])
    assert m.interrupted_
    assert len(m.hierarchy_.paths) == 1


def test_rows_that_are_few_or_copies():
    rng = np.random.default_rng(0)
    for X, most in ((np.ones((60, 4)), 1), (rng.normal(size=(2, 6)), 1), (rng.normal(size=(3, 6)), 1)):
        assert len(MIMOSA(representation="graph", random_state=0).fit(X).hierarchy_.paths) == most
    X = np.repeat(rng.normal(size=(4, 5)), 30, axis=0)
    m = MIMOSA(representation="graph", random_state=0).fit(X)
    assert (m.predict(X) == m.labels_).all()


def test_digits(tmp_path):
    X, y = load_digits(return_X_y=True)
    m = MIMOSA(representation="graph", random_state=0).fit(X.reshape(-1, 8, 8))
    assert 9 <= len(m.hierarchy_.paths) <= 14
    assert matching_accuracy(y, m.labels_) > 0.84
    assert purity_score(y, m.labels_) > 0.88
    assert all(5 <= component.dimension <= 14 for component in m.components_)
    assert min(level["support"] for level in m.levels_) >= 0.75
    assert (m.predict(X.reshape(-1, 8, 8)) == m.labels_).all()
    m.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    assert (again.predict(X[:300].reshape(-1, 8, 8)) == m.labels_[:300]).all()
    assert again.levels_ == m.levels_
