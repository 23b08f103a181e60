"""Where variables stand: once above all branches on which they do the same."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy, metrics
from disentree.datasets import load_dataset
from disentree.geometry.maps.choosing import fit_codes
from disentree.mimosa.tree import placing
from disentree.mimosa.tree.placing import Frame, Same, joined, moved, same_variables

from ...hierarchy.conftest import categorical, continuous, hierarchy


def down(ds):
    """The tree with its shared variables on each branch."""
    h = ds.hierarchy
    return h.push_down([v.index for v in h.variables if v.name.startswith("s")]).after


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("number", [0, 1, 2, 4, 8, 9, 10, 11, 14])
def test_shared_variables_of_random_trees(number, noise):
    """s1 and s2 are shared by all branches, p by two; u, v have directions of their own."""
    ds = load_dataset(f"branches-{number}", n_samples=4000, seed=1, noise=noise)
    h = down(ds)
    above, partly = same_variables(h, ds.X, ds.paths, np.random.default_rng(0))
    names = {v.name for v in ds.hierarchy.variables}
    # which column of a leaf is which is not known here: order is chance
    assert len(above) == len(names & {"s1", "s2"})
    assert [len(columns) for columns in partly] == [2] * ("p1" in names)
    assert metrics.placement_error(ds.hierarchy, h.move_up(above).after) == 0


@pytest.mark.parametrize("number", [2, 4, 12, 14, 19])
def test_few_rows(number):
    """Some 125 rows a branch tell its directions less well than their errors say."""
    ds = load_dataset(f"branches-{number}", n_samples=500, seed=2)
    h = down(ds)
    above, _ = same_variables(h, ds.X, ds.paths, np.random.default_rng(0))
    assert metrics.placement_error(ds.hierarchy, h.move_up(above).after) == 0


@pytest.mark.parametrize("number", [4, 9, 11])
def test_curved_branches(number):
    """By the variables of curved leaves, of which principal directions are mixtures."""
    ds = load_dataset(f"branches-{number}-curved", n_samples=4000, seed=1)
    h = down(ds)
    above, partly = same_variables(h, ds.X, ds.paths, np.random.default_rng(0), lambda Y: Y)
    assert metrics.placement_error(ds.hierarchy, h.move_up(above).after) == 0
    assert [len(columns) for columns in partly] == [2] * (number == 9)


def test_chance_and_sureness():
    """Directions that differ by their errors are one variable; by much more than that, two."""
    rng = np.random.default_rng(0)
    direction, other = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    errors = 1e-6 * np.eye(5)
    a = Same((0,), frozenset([0]), direction, errors)
    for difference, same in ((1e-3, True), (1e-2, True), (0.3, False), (1.0, False)):
        near = direction + difference * other
        b = Same((1,), frozenset([1]), -near / np.linalg.norm(near), errors)
        assert (joined(a, b)[0] > 0) == same
    assert joined(a, Same((1,), frozenset([1]), other, errors))[0] < 0
    wide = 0.1 * np.eye(5)  # hardly known at all: nothing says that they are one
    assert joined(Same((0,), frozenset([0]), direction, wide), Same((1,), frozenset([1]), other, wide))[0] < 0


@pytest.mark.filterwarnings("error")
def test_directions_of_a_leaf_that_is_nearly_singular_stay_finite():
    rng = np.random.default_rng(0)
    nearly_none = Frame((0, 1), np.array([[1e-200, 0, 0], [1e10, 2e10, 0]]), np.ones((2, 2)), np.eye(3), 50)
    near = [nearly_none.variable(at, (at,), at) for at in (0, 1)]
    huge = np.outer(*[1e17 * rng.normal(size=5)] * 2)
    far = [Same((c,), frozenset([c]), rng.normal(size=5) / 3, huge) for c in range(8)]
    for first, *others in (near, far):
        for other in others:
            saved, first = joined(first, other)
            assert np.isfinite(saved)
            assert np.isfinite(first.errors).all()
            assert np.isfinite(first.direction).all()


@pytest.mark.parametrize(
    "changed", [lambda saved: 1.0, lambda saved: -1.0, lambda saved: -saved, lambda saved: saved - 20]
)
def test_another_criterion_is_noticed(changed, monkeypatch):
    monkeypatch.setattr(placing, "joined", lambda a, b: (changed(joined(a, b)[0]), joined(a, b)[1]))
    errors = []
    for number in (4, 8, 9):
        ds = load_dataset(f"branches-{number}", n_samples=800, seed=1)
        h = down(ds)
        above, _ = same_variables(h, ds.X, ds.paths, np.random.default_rng(0))
        errors.append(metrics.placement_error(ds.hierarchy, h.move_up(above).after))
    assert any(errors)


def test_errors_of_several_variables_shrink():
    """Of twenty equally sure ones to a twentieth."""
    rng = np.random.default_rng(0)
    direction = np.array([1.0, 0, 0, 0])
    errors = 1e-4 * np.eye(4)
    both = Same((0,), frozenset([0]), direction, errors)
    for i in range(1, 20):
        turned = direction + 0.01 * rng.normal(size=4) * [0, 1, 1, 1]
        both = joined(both, Same((i,), frozenset([i]), turned / np.linalg.norm(turned), errors))[1]
    assert abs(both.direction[1:]).max() < 0.01
    np.testing.assert_allclose(np.diag(both.errors)[1:], 1e-4 / 20, rtol=0.1)


def test_a_turn_keeps_the_span_and_the_covariance():
    rng = np.random.default_rng(0)
    frame = Frame((0, 1, 2), rng.normal(size=(3, 4)), np.zeros((3, 2)), np.eye(4), 100)
    to = np.array([0.5, -0.7, 0.2]) @ frame.directions
    turned = frame.turned(1, to)
    cosine = turned.directions[1] @ to / np.linalg.norm(to) / np.linalg.norm(turned.directions[1])
    assert abs(cosine) == pytest.approx(1)
    np.testing.assert_allclose(turned.directions.T @ turned.directions, frame.directions.T @ frame.directions)


def test_angles_between_gaussians_are_unknown_and_no_variance_is_negative():
    """Also where moments of the sixth order are out of date, as after a turn."""
    frame = Frame((0, 1), np.eye(2), np.array([[0.1, 5.0], [0.1, 5.0]]), np.zeros((2, 2)), 1000)
    np.testing.assert_allclose(frame.errors(0), [[0, 0], [0, 1]])
    told = replace(frame, moments=np.array([[-1.2, 1.0], [-1.2, 1.0]]))
    np.testing.assert_allclose(told.errors(0), [[0, 0], [0, 1.44 / 2.4**2 / 1000]])


def test_names_are_numbered_anew():
    h = hierarchy(categorical("c1", a=continuous("z1", "z2"), b=continuous("size", "z3")))
    after = moved(h, [[2, 4]]).after
    assert [v.name for v in after.variables] == ["z1", "c1", "z2", "size"]


@pytest.fixture(scope="module")
def fitted():
    ds = load_dataset("branches-8", n_samples=2000, seed=1)
    return ds, MIMOSA(n_jobs=1).fit(ds.X), MIMOSA(n_jobs=1, placement="down").fit(ds.X)


def test_mimosa_places(fitted):
    ds, m, pushed = fitted
    assert metrics.placement_error(ds.hierarchy, m.hierarchy_) == 0
    assert (
        metrics.placement_error(ds.hierarchy, pushed.hierarchy_) == 6
    )  # two variables, each twice instead of once
    assert metrics.h_error(m.hierarchy_, pushed.hierarchy_) == 0
    np.testing.assert_array_equal(m.labels_, pushed.labels_)
    np.testing.assert_array_equal(m.predict(ds.X), m.labels_)


def test_a_variable_above_has_one_scale(fitted):
    """R4 asks for one value of a code wherever its variable is active; R4c does not."""
    ds, m, pushed = fitted
    scores = [
        [score(ds.codes, one.transform(ds.X), ds.hierarchy, one.hierarchy_) for one in (m, pushed)]
        for score in (metrics.r4_score, metrics.r4c_score)
    ]
    assert scores[0][0] > 0.99 > 0.9 > scores[0][1]
    assert scores[1] == pytest.approx([1, 1], abs=0.01)


@pytest.mark.parametrize("number", [4, 10])
def test_maps_of_branches_that_lie_apart(number):
    """Shared variables have the same mean on all of them; a match on two of them changes signs alone."""
    ds = load_dataset(f"branches-{number}", n_samples=3000, seed=1)
    matches = [[v.index for v in ds.hierarchy.variables if v.name.startswith("p")]][: number == 10]
    maps = fit_codes(ds.X, ds.hierarchy, ds.paths, np.random.default_rng(0), matches)
    Z = maps.encode(ds.X, ds.paths)
    assert metrics.r4_score(ds.codes, Z, ds.hierarchy, ds.hierarchy) > 0.99


def test_in_a_table(fitted):
    """Columns move in the tree of the numbers, which is a part of that of the table."""
    ds = fitted[0]
    frame = pd.DataFrame(ds.X, columns=[f"x{i}" for i in range(ds.X.shape[1])])
    frame["kind"] = np.random.default_rng(0).choice(["red", "blue"], len(frame))
    frame["extra"] = np.where(frame["kind"] == "red", np.random.default_rng(1).normal(size=len(frame)), np.nan)
    m = MIMOSA(n_jobs=1).fit(frame)
    assert m.table_ is not None
    np.testing.assert_array_equal(m.predict(frame), m.labels_)
    assert sum(v.parent is None and v.kind == "continuous" for v in m.hierarchy_.variables) >= 2
    assert metrics.h_error(m.hierarchy_, MIMOSA(n_jobs=1, placement="down").fit(frame).hierarchy_) == 0
    assert m.hierarchy_.validate(m.transform(frame)).shape == (len(frame), m.hierarchy_.n_variables)


def test_what_placement_may_be():
    with pytest.raises(ValueError, match="placement must be 'auto' or 'down'"):
        MIMOSA(placement="top").fit(np.zeros((10, 2)))


def test_one_group_has_nothing_to_place():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert same_variables(Hierarchy.flat(3), X, np.zeros(300, int), np.random.default_rng(0)) == ([], [])
