"""Rows laid out by the graph of their neighbors."""

import numpy as np
import pytest

from disentree.geometry.layout import LAYOUT, layout, neighbor_graph


def two_clouds(rng, n=150, apart=30.0):
    return np.concatenate([rng.normal(size=(n, 8)), rng.normal(size=(n, 8)) + apart])


def test_the_graph_by_hand():
    """Of three rows on a line all are neighbors; the nearest weighs 1, and a link in either direction counts."""
    graph = neighbor_graph(np.array([[0.0], [1.0], [3.0]])).toarray()
    assert graph == pytest.approx(graph.T)
    assert graph[0, 1] == pytest.approx(1.0)  # the second is the first's nearest, and the third's
    assert graph[1, 2] == pytest.approx(1.0)
    assert 0 < graph[0, 2] < 1
    assert not graph.diagonal().any()


def test_rows_weigh_as_many_neighbors_as_the_log_of_their_number():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 5)) * np.where(np.arange(300) < 150, 1.0, 100.0)[:, None]  # dense and sparse rows
    graph = neighbor_graph(Z)
    assert (np.asarray(graph.sum(axis=1)) >= np.log2(LAYOUT.neighbors) - 0.01).all()


def test_a_gap_stays_and_what_is_near_stays_near():
    rng = np.random.default_rng(0)
    Z = two_clouds(rng)
    graph = neighbor_graph(Z)
    Y = layout(Z, graph, np.random.default_rng(1))
    assert Y.shape == (300, LAYOUT.dimension)
    first, second = Y[:150], Y[150:]
    between = np.linalg.norm(first[:, None] - second, axis=2)
    assert between.min() > np.median(np.linalg.norm(first[:, None] - first, axis=2))
    links = graph.tocoo()
    apart = np.linalg.norm(Y[links.row] - Y[links.col], axis=1)
    assert apart.mean() < 0.5 * between.mean()


def test_the_seed_decides():
    rng = np.random.default_rng(0)
    Z = two_clouds(rng, 40)
    graph = neighbor_graph(Z)
    first = layout(Z, graph, np.random.default_rng(1))
    assert (layout(Z, graph, np.random.default_rng(1)) == first).all()
    assert (layout(Z, graph, np.random.default_rng(2)) != first).any()


def test_copies_and_few_rows():
    for Z in (np.zeros((30, 3)), np.eye(3)):
        assert np.isfinite(layout(Z, neighbor_graph(Z), np.random.default_rng(0))).all()
