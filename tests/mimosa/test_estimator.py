"""MIMOSA from end to end: the benchmarks, what must not matter, and data that has nothing to find."""

import logging

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial import KDTree
from scipy.stats import special_ortho_group
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.metrics import coverage_score, h_error, purity_score
from disentree.mimosa.coordinates.autoencoder import autoencoder_representation
from disentree.mimosa.coordinates.choosing import choose_coordinates, load_representation

VARIANTS = [f"chopsticks-depth{d}-{v}" for d in (2, 3) for v in ("inter", "slope", "both", "either")]


def same_partition(a, b):
    """Up to the numbering, which is that of the tree."""
    return adjusted_rand_score(a, b) == 1.0


@pytest.fixture(scope="module")
def either():
    return load_dataset("chopsticks-depth2-either", n_samples=4000, seed=0)


@pytest.fixture(scope="module")
def fitted(either):
    return MIMOSA().fit(either.X)


# ------------------------------------------------------------------ the benchmarks


@pytest.mark.parametrize("name", VARIANTS)
def test_every_chopsticks_tree_is_found(name):
    ds = load_dataset(name, n_samples=4000, seed=1)
    m = MIMOSA().fit(ds.X)
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    assert purity_score(ds.paths, m.labels_) >= 0.99
    assert purity_score(ds.paths, m.core_labels_) >= 0.99
    assert coverage_score(m.core_labels_) >= 0.9
    assert coverage_score(m.labels_) == 1.0


def test_the_same_tree_with_a_little_noise():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=4000, seed=0, noise=1e-5)
    m = MIMOSA().fit(ds.X)
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    assert purity_score(ds.paths, m.labels_) >= 0.97


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("change", ["rotation", "scaling", "shift", "units", "constant columns"])
def test_linear_changes_of_the_data_do_not_matter(either, fitted, change):
    rng = np.random.default_rng(0)
    X = either.X
    changed = {
        "rotation": lambda: X @ special_ortho_group.rvs(64, random_state=0),
        "scaling": lambda: X * np.exp(rng.uniform(-3, 3, 64)),
        "shift": lambda: X + 100 * rng.standard_normal(64),
        "units": lambda: 1e6 * X,
        "constant columns": lambda: np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))]),
    }[change]()
    m = MIMOSA().fit(changed)
    assert h_error(fitted.hierarchy_, m.hierarchy_) == 0
    assert same_partition(fitted.labels_, m.labels_)


def test_order_of_rows_does_not_matter(either, fitted):
    order = np.random.default_rng(0).permutation(len(either.X))
    m = MIMOSA().fit(either.X[order])
    assert same_partition(fitted.labels_[order], m.labels_)
    assert same_partition(fitted.core_labels_[order], m.core_labels_)


def test_number_of_threads_does_not_matter(either, fitted):
    m = MIMOSA(n_jobs=1).fit(either.X)
    np.testing.assert_array_equal(m.labels_, fitted.labels_)
    assert m.description_length_ == fitted.description_length_


def threads_of_searches(monkeypatch, estimator, X):
    used = set()
    query = KDTree.query

    def recording(self, *args, workers=1, **kwargs):
        used.add(workers)
        return query(self, *args, workers=workers, **kwargs)

    monkeypatch.setattr(KDTree, "query", recording)
    estimator.fit(X)
    return used


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_search_uses_more_threads_than_asked_for(either, monkeypatch, n_jobs):
    assert threads_of_searches(monkeypatch, MIMOSA(n_jobs=n_jobs), either.X[:1500]) <= {1, n_jobs}


def test_no_search_of_the_paper_uses_more_threads_than_asked_for(fitted, monkeypatch):
    paper = MIMOSA.paper(representation="given", n_jobs=1)
    assert threads_of_searches(monkeypatch, paper, fitted.embedding_[:1500]) == {1}


@pytest.mark.parametrize("representation", ["linear", "autoencoder"])
def test_the_type_of_a_table_does_not_matter(representation):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 300)
    X = np.rint(np.column_stack([40 * np.cos(t), 40 * np.sin(t), 9 * t, t**2]) + 60)
    X = X if representation == "autoencoder" else X[:, [0, 1]] @ np.array([[1, 0, 1], [0, 1, 1]])
    seed = np.random.SeedSequence(0)
    settings = {} if representation == "linear" else {"steps": 20}
    make = {"linear": lambda X: choose_coordinates(X, "linear", seed).representation}
    make["autoencoder"] = lambda X: autoencoder_representation(X, seed, **settings)
    whole, bytes_ = make[representation](X.astype(np.int64)), make[representation](X.astype(np.uint8))
    for found in (whole, bytes_):
        for dtype in (np.int64, np.uint8, np.float64):
            np.testing.assert_array_equal(found.transform(X.astype(dtype)), whole.transform(X))


def test_images_of_bytes_are_fractions_whatever_the_type_of_new_ones(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 3, 2), dtype=np.uint8)
    found = autoencoder_representation(images, np.random.SeedSequence(0), steps=2)
    assert found.pixel_scale == 255
    assert found.mean.max() <= 1
    found.save(tmp_path / "representation")
    for one in (found, load_representation(tmp_path / "representation")):
        np.testing.assert_array_equal(one.transform(images.astype(np.int64)), found.transform(images))


def test_the_same_seed_gives_the_same_answer_and_no_global_state_is_touched(either, fitted):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    m = clone(fitted).fit(either.X)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(m.labels_, fitted.labels_)
    np.testing.assert_array_equal(m.embedding_, fitted.embedding_)


def test_data_frames(either, fitted):
    import pandas

    frame = pandas.DataFrame(either.X, columns=[f"t{i}" for i in range(64)])
    m = MIMOSA().fit(frame)
    np.testing.assert_array_equal(m.labels_, fitted.labels_)
    assert m.feature_names_in_[0] == "t0"
    np.testing.assert_array_equal(m.predict(frame[:10]), fitted.predict(either.X[:10]))


def test_structure_is_found_on_landmarks_and_the_rest_is_assigned(either):
    m = MIMOSA(max_landmarks=2500).fit(either.X)
    assert h_error(either.hierarchy, m.hierarchy_) == 0
    assert purity_score(either.paths, m.labels_) >= 0.99
    assert coverage_score(m.core_labels_) >= 0.9


# ------------------------------------------------------------------ reading the result


def test_attributes_fit_each_other(either, fitted):
    m = fitted
    assert len(m.components_) == len(m.hierarchy_.paths) == 6
    for path, component in zip(m.hierarchy_.paths, m.components_, strict=True):
        assert path.dimension == component.dimension
        np.testing.assert_array_equal(component.indices, np.flatnonzero(m.labels_ == path.index))
        np.testing.assert_array_equal(component.core_indices, np.flatnonzero(m.core_labels_ == path.index))
        np.testing.assert_allclose(component.center, m.embedding_[component.indices].mean(axis=0))
        # as many directions as dimensions, and nothing across them
        assert (component.spread > 1e-3).sum() == component.dimension
        assert component.size == len(component.indices)
    assigned = m.core_labels_ >= 0
    np.testing.assert_array_equal(m.labels_[assigned], m.core_labels_[assigned])
    assert m.embedding_.shape == (4000, 4)
    assert list(m.timings_) == [
        *("representation", "models without structure", "subspaces"),
        *("noisy subspaces", "switches", "replication", "looking again"),
        *("hierarchy", "assignment", "placement"),
    ]


def test_summary_and_graph(fitted):
    summary = fitted.summary()
    assert summary.startswith("A tree of 6 leaves; its largest divisions: ")
    assert "◇ c1" in summary.splitlines()
    assert "Runner-up: " in summary
    graph = fitted.to_networkx()
    assert sorted(graph.edges) == [(0, 1), (0, 2), (3, 4), (3, 5)]
    assert graph.nodes[0]["dimension"] == 1
    assert sum(size for _, size in graph.nodes(data="size")) == 4000


def test_new_points(either, fitted):
    new = load_dataset("chopsticks-depth2-either", n_samples=2000, seed=5)
    labels = fitted.predict(new.X)
    assert purity_score(new.paths, labels) >= 0.99
    # the paths are those of training
    for component in range(6):
        majority = np.bincount(either.paths[fitted.labels_ == component]).argmax()
        assert np.bincount(new.paths[labels == component]).argmax() == majority


def test_description_length_prefers_the_structure_that_is_there(fitted):
    flat = min(row["bits"] for row in fitted.candidates_ if row["components"] == 1)
    assert fitted.description_length_ < flat - 10
    assert fitted.saved_bits_ == pytest.approx(flat - fitted.description_length_, abs=1e-6)


def test_verbose_goes_to_stderr(capsys):
    ds = load_dataset("chopsticks-depth2-slope", n_samples=500)
    MIMOSA(verbose=True).fit(ds.X)
    out, err = capsys.readouterr()
    assert out == ""
    assert "looking for exact flats: " in err
    MIMOSA().fit(ds.X)
    assert capsys.readouterr() == ("", "")


# ------------------------------------------------------------------ data with little or nothing in it


def test_a_single_manifold_is_flat():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 2)) @ rng.standard_normal((2, 8))
    m = MIMOSA().fit(X)
    assert [c.dimension for c in m.components_] == [2]
    assert len(m.hierarchy_.paths) == 1
    assert (m.labels_ == 0).all()


def test_noise_is_one_component():
    X = np.random.default_rng(0).standard_normal((1000, 5))
    m = MIMOSA().fit(X)
    assert [c.dimension for c in m.components_] == [5]


def test_duplicates():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=1500)
    m = MIMOSA().fit(np.repeat(ds.X, 2, axis=0))
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    assert purity_score(np.repeat(ds.paths, 2), m.labels_) >= 0.99


def test_a_few_places_that_all_points_are_at():
    X = np.repeat(np.eye(3), 100, axis=0)
    m = MIMOSA().fit(X)
    assert len(m.labels_) == 300
    assert (m.labels_ >= 0).all()


def test_constant_data():
    m = MIMOSA().fit(np.full((50, 3), 2.5))
    assert [c.dimension for c in m.components_] == [0]
    assert (m.labels_ == 0).all()
    assert m.predict(np.full((2, 3), 2.5)).tolist() == [0, 0]


@pytest.mark.parametrize("n", [2, 3, 10, 39])
def test_fewer_rows_than_a_neighborhood(n):
    X = np.random.default_rng(0).standard_normal((n, 3))
    m = MIMOSA().fit(X)
    assert len(m.hierarchy_.paths) == 1
    assert (m.labels_ == 0).all()
    assert m.predict(X).tolist() == [0] * n


def test_one_column():
    m = MIMOSA().fit(np.random.default_rng(0).uniform(0, 1, (500, 1)))
    assert [c.dimension for c in m.components_] == [1]


def test_whole_numbers_and_truth_values():
    X = np.random.default_rng(0).integers(0, 2, (300, 4))
    assert len(MIMOSA().fit(X).labels_) == 300
    assert len(MIMOSA().fit(X.astype(bool)).labels_) == 300


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((1, 3)), "minimum of 2"),
        (np.ones((0, 3)), "0 sample"),
        (np.ones(5), "1D array"),
        ([["a", "b"], ["c", "d"]], "[Ss]tring|str|numeric|numbers"),
        (np.ones((3, 2)) * 1j, "[Cc]omplex"),
        (np.ones((2, 3, 4, 5, 6)), r"must be \(n, features\) or images"),
        (np.ones((1, 8, 8)), "at least 2 rows"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(ValueError, match=message):
        MIMOSA().fit(X)


def test_sparse_data_of_few_columns_are_dense_and_the_paper_takes_none(fitted):
    np.testing.assert_array_equal(fitted.predict(csr_matrix(fitted._rows[:50])), fitted.labels_[:50])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        MIMOSA.paper().fit(csr_matrix(np.eye(5)))


def test_infinite_values_and_empty_pixels_are_named():
    X = np.ones((5, 2))
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity, first in row 3 \(1 of 5 rows"):
        MIMOSA().fit(X)
    images = np.ones((5, 4, 4))
    for value, what in [(np.nan, "NaN"), (np.inf, "infinity")]:
        images[2, 1, 1] = value
        with pytest.raises(ValueError, match=f"{what}, first in row 2"):
            MIMOSA().fit(images)


def test_new_points_of_another_shape(fitted):
    with pytest.raises(ValueError, match="63 features"):
        fitted.predict(np.ones((3, 63)))
    with pytest.raises(ValueError, match="shape"):
        fitted.predict(np.ones((3, 8, 8)))


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_neighbors", -5, "n_neighbors must be a whole number, 2 or more, got -5"),
        ("n_neighbors", 40.5, r"n_neighbors must be a whole number, 2 or more, got 40\.5"),
        ("n_neighbors", True, "n_neighbors must be a whole number, 2 or more, got True"),
        (
            "representation",
            "magic",
            "representation must be 'auto', 'linear', 'autoencoder' or 'graph', got 'magic'",
        ),
        ("max_landmarks", 0, "max_landmarks must be a whole number, 2 or more, got 0"),
        ("random_state", -1, "random_state must be a whole number, 0 or more, got -1"),
        ("random_state", "seed", "random_state must be a whole number, 0 or more, got 'seed'"),
        ("n_jobs", 0, "n_jobs must be None, -1 or a whole number, 1 or more, got 0"),
        ("n_jobs", "all", "n_jobs must be None, -1 or a whole number, 1 or more, got 'all'"),
        ("verbose", "yes", "verbose must be True or False, got 'yes'"),
    ],
)
def test_wrong_parameters(parameter, value, message):
    with pytest.raises(ValueError, match=message):
        MIMOSA().set_params(**{parameter: value}).fit(np.eye(3))  # annotations are checked in calls


def test_ctrl_c_gets_through(either, monkeypatch):
    from disentree.mimosa.finders.flats import subspaces

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(subspaces, "find", stop)
    with pytest.raises(KeyboardInterrupt):
        MIMOSA(verbose=True).fit(either.X)
    logging.getLogger("disentree").debug("and the next fit has a spinner again")
    monkeypatch.undo()
    MIMOSA(verbose=True).fit(either.X[:500])


def test_ctrl_c_ends_with_the_best_candidate_so_far(monkeypatch):
    from disentree.mimosa.finders.atlas import finder as atlas
    from disentree.mimosa.finders.flats import subspaces

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(subspaces, "needless_if_filled", lambda *args: [])  # so that the atlas is asked too
    monkeypatch.setattr(atlas, "find", stop)
    ds = load_dataset("chopsticks-depth2-slope", n_samples=600, seed=1)
    with pytest.warns(RuntimeWarning, match="interrupted: atlas was not finished"):
        m = MIMOSA().fit(ds.X)
    assert m.interrupted_
    assert m.candidates_[0]["finder"] == "subspaces"
    assert same_partition(ds.paths, m.labels_)
    with pytest.raises(KeyboardInterrupt):  # a resample of a search that was cut short would tell nothing
        m.stability(n_resamples=1)
    monkeypatch.undo()
    assert not m.fit(ds.X).interrupted_


@pytest.mark.parametrize("n", [800, 1500, 4000])
def test_a_smooth_curve_is_one_component(n):
    t = np.random.default_rng(3).uniform(0, 6, n)
    m = MIMOSA(random_state=0).fit(np.column_stack([np.cos(t), np.sin(t)]))
    assert [c.dimension for c in m.components_] == [1]
