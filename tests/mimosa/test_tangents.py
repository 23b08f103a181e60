"""Local dimension and tangent directions, against known answers and slow obvious versions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.finders.tangents import (
    anchored_flats,
    chance_on_flat,
    local_svd,
    support_needed,
    tangent_plane_cos,
)


def cos(U, V):
    return tangent_plane_cos(np.asarray(U)[None], np.asarray(V)[None])[0]


def naive_local_svd(points, ransac_frac=2 / 3, cumsum=0.95, decay=4.0, first=0):
    """Algorithm 3 for one neighbourhood, as it is written down."""
    pca = PCA().fit(points)
    if ransac_frac < 1:
        coordinates = pca.transform(points)
        errors = [
            np.linalg.norm(points - pca.mean_ - coordinates[:, :d] @ pca.components_[:d], axis=1)
            for d in range(first, points.shape[1])
        ]
        norms = np.linalg.norm(errors, axis=0)
        pca = PCA().fit(points[norms <= np.percentile(norms, 100 * ransac_frac)])
    share = np.cumsum(pca.explained_variance_ratio_)
    for d in range(1, points.shape[1]):
        if share[d - 1] >= cumsum and pca.explained_variance_[d - 1] >= decay * pca.explained_variance_[d]:
            return pca.components_[:d]
    return pca.components_


@pytest.mark.parametrize(("ransac_frac", "first"), [(2 / 3, 0), (2 / 3, 1), (1.0, 0)])
def test_local_svd_is_that_of_a_pca_object_for_each_point(ransac_frac, first):
    rng = np.random.default_rng(0)
    line = rng.uniform(-1, 1, (150, 1)) @ rng.standard_normal((1, 4))
    plane = rng.uniform(-1, 1, (200, 2)) @ rng.standard_normal((2, 4)) + 0.5
    Z = np.concatenate([line, plane, rng.uniform(-1, 1, (100, 4))]) + 1e-3 * rng.standard_normal((450, 4))
    _, near = nearest_neighbors(Z, 24)
    found = local_svd(Z, near, ransac_frac, ransac_first_dimension=first, block=64)
    for i in range(0, len(Z), 7):
        naive = naive_local_svd(Z[np.r_[i, near[i]]], ransac_frac, first=first)
        assert found.dimensions[i] == len(naive)
        # the basis of a full-dimensional plane may be any, and its determinant is one
        assert cos(found.bases[i, : len(naive)], naive) == pytest.approx(1, abs=1e-6)


def test_local_svd_of_a_line_in_a_cloud():
    rng = np.random.default_rng(0)
    line, cloud = np.linspace(-1, 1, 400)[:, None] * [1.0, 0, 0], rng.uniform(-1, 1, (400, 3))
    Z = np.concatenate([line, cloud + np.array([9, 0, 0])])
    _, near = nearest_neighbors(Z, 20)
    found = local_svd(Z, near)
    assert (found.dimensions[:400] == 1).all()
    np.testing.assert_allclose(np.abs(found.bases[:400, 0]), [[1, 0, 0]] * 400, atol=1e-9)
    assert (found.dimensions[400:] == 3).mean() > 0.8


def test_local_svd_of_duplicates_is_no_division_by_zero():
    Z = np.zeros((30, 3))
    found = local_svd(Z, np.tile(np.arange(1, 11), (30, 1)))
    assert (found.dimensions == 3).all()
    assert np.isfinite(found.bases).all()


def test_cosines_of_known_planes():
    a = np.deg2rad(30)
    x, y, z = np.eye(3)
    tilted = np.cos(a) * y + np.sin(a) * z
    assert cos([x], [y]) == pytest.approx(0)
    assert cos([x], [-x]) == pytest.approx(1)
    assert cos([x, y], [y, x]) == pytest.approx(1)
    assert cos([x, y], [x, tilted]) == pytest.approx(np.cos(a))
    # two principal angles: the product of their cosines
    e = np.eye(4)
    both = np.array([np.cos(a) * e[0] + np.sin(a) * e[2], np.cos(a) * e[1] + np.sin(a) * e[3]])
    assert cos(e[:2], both) == pytest.approx(np.cos(a) ** 2)


@pytest.mark.parametrize(("d", "tolerance"), [(1, 0.1), (2, 0.1), (3, 0.3)])
def test_chance_on_a_flat_is_what_a_simulation_says(d, tolerance):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((200_000, d + 1))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    assert chance_on_flat(d, tolerance) == pytest.approx(np.mean(np.abs(u[:, -1]) <= tolerance), rel=0.05)


def test_needed_support_is_rarely_reached_by_chance():
    """A cloud of one dimension more seldom puts as many neighbours on any of the flats that are tried."""
    k, d, tolerance = 40, 1, 0.1
    needed = support_needed(k, 3, tolerance)[d]
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(400):
        u = rng.standard_normal((k, d + 1))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        off = 1 - (u @ u[:12].T) ** 2  # flats through the first twelve neighbours
        reached += ((off <= tolerance**2).sum(axis=0) >= needed).any()
    assert reached <= 4
    assert needed < k // 2  # and yet half of the neighbours on a line are enough


def test_anchored_flats_on_crossing_lines_and_a_plane():
    rng = np.random.default_rng(1)
    e = np.eye(4)
    first = rng.uniform(-1, 1, (300, 1)) * e[0]
    second = rng.uniform(-1, 1, (300, 1)) * (e[0] + e[1]) / np.sqrt(2)
    plane = rng.uniform(-1, 1, (600, 2)) @ e[2:] + [5, 0, 0, 0]
    Z = np.concatenate([first, second, plane])
    _, near = nearest_neighbors(Z, 30)
    found = anchored_flats(Z, near, 1e-4, np.random.default_rng(0))
    assert (found.dimensions[:600] == 1).mean() > 0.98
    assert (found.dimensions[600:] == 2).all()
    ones = np.flatnonzero(found.dimensions[:300] == 1)
    np.testing.assert_allclose(np.abs(found.bases[ones, 0] @ e[0]), 1, atol=1e-6)
    planes = np.abs(found.bases[600:, :2] @ np.array([[1, 0], [0, 1], [0, 0], [0, 0]]))
    np.testing.assert_allclose(planes, 0, atol=1e-6)


def test_anchored_flats_see_atoms_and_leave_clouds_alone():
    rng = np.random.default_rng(0)
    Z = np.concatenate([np.zeros((50, 3)), rng.uniform(1, 2, (300, 3))])
    _, near = nearest_neighbors(Z, 30)
    found = anchored_flats(Z, near, 0.01, np.random.default_rng(0))
    assert (found.dimensions[:50] == 0).all()
    assert (found.dimensions[50:] == 3).mean() > 0.98
