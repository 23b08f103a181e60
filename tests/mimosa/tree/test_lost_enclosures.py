"""Components that enclose several others: what a tree loses; covers `enclosure.py` too."""

import numpy as np
import pytest

from disentree import COFHAE, MIMOSA, Hierarchy
from disentree.cofhae.fitting.targets import Targets, align_targets
from disentree.datasets import load_dataset
from disentree.metrics import h_error
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.tiles import fit_flat_leaf
from disentree.mimosa.explain.sentences import lost_sentences
from disentree.mimosa.paper.algorithm7_construct_hierarchy import construct_hierarchy
from disentree.mimosa.tree.codes import LeafMaps
from disentree.mimosa.tree.enclosure import enclosures
from disentree.mimosa.tree.lost_enclosures import lost_enclosures


@pytest.fixture(scope="module")
def data():
    return load_dataset("triangle-edges", n_samples=4000, seed=0, noise=0.01)


@pytest.fixture(scope="module")
def triangle(data):
    return MIMOSA(n_jobs=1).fit(data.X)


def test_a_triangle_keeps_all_three_edges(triangle, data):
    assert sorted(c.dimension for c in triangle.components_) == [1, 1, 1, 2]
    inside = next(i for i, c in enumerate(triangle.components_) if c.dimension == 2)
    edges = [i for i in range(4) if i != inside]
    whole = triangle.components_[inside]
    assert sorted(whole.parents) == edges
    assert whole.parent == whole.parents[0]  # every tree loses two variables, so that the nearest edge is followed
    assert all(triangle.components_[i].parents == () for i in edges)
    assert h_error(triangle.hierarchy_, data.hierarchy) == 0


def test_what_the_tree_lost_is_told(triangle):
    inside = next(i for i, c in enumerate(triangle.components_) if c.dimension == 2)
    nearest, *others = triangle.components_[inside].parents
    paths = triangle.hierarchy_.paths
    assert triangle.lost_ == [
        {"component": inside, "parent": edge, "variables": list(paths[edge].continuous)} for edge in others
    ]
    graph = triangle.to_networkx()
    assert dict(graph.edges) == {
        (nearest, inside): {"in_tree": True},
        **{(edge, inside): {"in_tree": False} for edge in others},
    }
    names = f"component {others[0]} and component {others[1]}"
    assert f"Component {inside} also encloses {names}, which the tree cannot show" in " ".join(
        triangle.summary(full=True).split()
    )
    assert "also encloses the leaf" in str(triangle.explain())


def test_a_second_edge_is_matched_with_the_second_variable(triangle, data):
    inside = next(i for i, c in enumerate(triangle.components_) if c.dimension == 2)
    others = triangle.components_[inside].parents[1:]
    own = triangle.hierarchy_.paths[inside].continuous[-1]  # which begins in the triangle
    variables = {triangle.hierarchy_.paths[edge].continuous[0]: edge for edge in others}
    ((reference, column),) = triangle.matches_
    assert reference == own
    edge = variables[column]
    assert "are the same variable on different branches" in " ".join(triangle.summary(full=True).split())
    rows = triangle.labels_ == edge
    codes = triangle.transform(data.X)[rows & (triangle.predict(data.X) == edge)][:, column]
    m = triangle
    encode = LeafMaps(m.embedding_, m.hierarchy_, m.labels_, m.matches_).encode
    as_triangle = encode(m.embedding_[rows], np.full(rows.sum(), inside))[:, own]
    assert codes.std() > 0.5
    assert np.abs(codes - as_triangle).mean() < 0.04  # noise


def test_the_autoencoder_gives_rows_of_a_lost_parent_one_code(triangle, data):
    ((own, column),) = triangle.matches_
    paths = triangle.hierarchy_.paths
    edge = next(p.index for p in paths if column in p.continuous)
    inside = next(p.index for p in paths if own in p.continuous)
    rows = data.X[triangle.labels_ == edge]
    known = {"hierarchy": triangle.hierarchy_, "paths": triangle.labels_}
    for mimosa, agrees in ((triangle, True), (None, False)):
        model = COFHAE(random_state=0).fit(data.X, **known, mimosa=mimosa)
        assert model.maps_ == "linear"
        codes = model.transform(rows)[:, column]
        # its map for rows of the triangle
        x = model.input_.to_input(model.input_.prepare(rows)).numpy()
        encoder = model.autoencoder_.encoder
        as_triangle = x @ encoder.inverses[inside].numpy() + encoder.offsets[inside].numpy()
        at = np.flatnonzero(~triangle.hierarchy_.is_categorical).tolist().index(own)
        off = np.nanmean(np.abs(codes - as_triangle[:, at]))
        assert (off < 0.04) == agrees


def test_networks_learn_from_targets_that_agree():
    rng = np.random.default_rng(0)
    # 0: a line along x; 1: the square on it; 2: a line along y, whose variable runs backwards from another zero
    paths = np.repeat([0, 1, 2], 500)
    Z = rng.random((1500, 2))
    Z[paths == 0, 1], Z[paths == 2, 0] = 0.0, 0.0
    column = {v.name: v.index for v in TWO_LINES.variables}
    values = np.full((1500, TWO_LINES.n_variables), np.nan)
    values[paths < 2, column["x"]] = Z[paths < 2, 0]
    values[paths == 1, column["y2"]] = Z[paths == 1, 1]
    values[paths == 2, column["y"]] = 3 - 2 * Z[paths == 2, 1]
    targets = Targets.trusted(values, np.ones(3))
    matches = [[column["y2"], column["y"]]]
    found = align_targets(targets, Z, paths, TWO_LINES, matches).values
    np.testing.assert_allclose(found[paths == 2, column["y"]], Z[paths == 2, 1], atol=0.05)
    others = [c for c in column.values() if c != column["y"]]
    np.testing.assert_array_equal(found[:, others], values[:, others])


def test_parents_are_saved(triangle, tmp_path):
    triangle.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    assert [c.parents for c in loaded.components_] == [c.parents for c in triangle.components_]
    assert (loaded.lost_, loaded.matches_) == (triangle.lost_, triangle.matches_)
    assert loaded.summary() == triangle.summary()


# ------------------------------------------------------------------ by hand

LEAF = {"variables": []}
NUMBER = {"kind": "continuous"}
TWO_LINES = Hierarchy.from_dict(
    {
        "variables": [
            {
                "kind": "categorical",
                "options": [
                    {
                        "variables": [
                            {"kind": "continuous", "name": "x"},
                            {
                                "kind": "categorical",
                                "options": [LEAF, {"variables": [{"kind": "continuous", "name": "y2"}]}],
                            },
                        ]
                    },
                    {"variables": [{"kind": "continuous", "name": "y"}]},
                ],
            }
        ]
    }
)  # paths: a line, a square on it, and another line


def test_a_square_on_one_of_its_sides_has_lost_the_other():
    column = {v.name: v.index for v in TWO_LINES.variables}
    lost = lost_enclosures(TWO_LINES, [(), (0, 2), ()])
    assert lost == [{"component": 1, "parent": 2, "variables": [column["y"]]}]
    assert lost_enclosures(TWO_LINES, [(), (0,), ()]) == []
    told = lost_sentences(TWO_LINES, lost, [[column["y2"], column["y"]]], "path {}".format)
    assert told == [
        "Path 1 also encloses path 2, which the tree cannot show: a branch of it grows from one leaf.",
        "y2 and y are the same variable on different branches.",
    ]


def test_two_independent_choices_lose_nothing():
    switch = {"kind": "categorical", "options": [LEAF, {"variables": [NUMBER]}]}
    product = Hierarchy.from_dict({"variables": [NUMBER, switch, switch]})
    # off/off, off/on, on/off, on/on
    assert lost_enclosures(product, [(), (0,), (0,), (1, 2)]) == []


def test_the_paper_lists_all_that_its_criterion_accepts():
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    plane = np.column_stack([x.ravel(), y.ravel()])
    along, up = (
        np.column_stack(two) for two in ((np.arange(20), np.full(20, 3.2)), (np.full(20, 5.1), np.arange(20)))
    )
    Z = np.concatenate([along, up, plane])
    rows = [np.arange(20), np.arange(20, 40), np.arange(40, 440)]
    hierarchy, order, parents, direct = construct_hierarchy(Z, rows, [1, 1, 2], 10)
    assert parents == [None, None, 1]  # the nearer
    assert direct == [(), (), (1, 0)]
    assert [path.dimension for path in hierarchy.paths] == [1, 1, 2]
    assert order == [0, 1, 2]


@pytest.mark.parametrize(("distance", "encloses"), [(0.0, True), (0.3, False)])
@pytest.mark.parametrize("noise", [1e-4, 0.02])
def test_a_line_along_the_edge_of_a_square_is_in_its_reach_but_not_one_beyond(distance, encloses, noise):
    rng = np.random.default_rng(0)
    n = 3000
    square = np.column_stack([rng.random((n, 2)), np.zeros(n)])
    line = np.column_stack([rng.random(n), np.full(n, -distance), np.zeros(n)])
    labels = np.repeat([0, 1], n)
    Z = np.concatenate([line, square]) + noise * rng.standard_normal((2 * n, 3))
    leaves = [fit_flat_leaf(Z[labels == c], d, 1e-9, rng) for c, d in enumerate([1, 2])]
    candidate = LeafCandidate("test", leaves, np.array([0.5, 0.5]))
    found, _ = enclosures(candidate, Z, candidate.posteriors(Z).argmax(axis=1))
    assert found.tolist() == [[False, encloses], [False, False]]
