"""The variables of curved leaves."""

import numpy as np
import pytest

from disentree.geometry.maps.bent_factors import BentLeaf, bent_maps, is_bent, tangents
from disentree.geometry.maps.leaf_factors import fast_ica

from ...hierarchy.conftest import categorical, continuous, hierarchy


def sines(seed, n=1000, d=2, r=9):
    """Sines of mixtures of some variables, with turning points within the ranges of some."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, (n, d))
    return u, np.sin(u @ rng.normal(size=(d, r)) * 0.4 + rng.uniform(0, 2 * np.pi, r))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_variables_of_a_curved_leaf(d):
    for seed in range(3):
        u, Y = sines(seed, d=d)
        leaf = BentLeaf.fit(Y, d, np.random.default_rng(0))
        cosines = np.abs(np.corrcoef(u.T, leaf.factors.T)[:d, d:])
        assert sorted(cosines.argmax(axis=1)) == list(range(d))
        assert cosines.max(axis=1).min() > 0.97
        assert leaf.folded < 0.01
        assert leaf.explained > 0.98
        np.testing.assert_allclose(leaf.rows(leaf.factors), Y, atol=0.5)


def test_principal_directions_mix_them():
    """What the tangents are for: a rotation of the principal components does not get as near."""
    u, Y = sines(1, d=3)
    left = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)[0][:, :3] * np.sqrt(len(Y))
    turned = left @ fast_ica(left, np.random.default_rng(0))
    bent = BentLeaf.fit(Y, 3, np.random.default_rng(0)).factors
    least = [np.abs(np.corrcoef(u.T, found.T)[:3, 3:]).max(axis=1).min() for found in (turned, bent)]
    assert least[0] < least[1] - 0.005


def test_tangents_agree_on_a_side():
    """Of half a cylinder: the same side is up all around."""
    rng = np.random.default_rng(0)
    angle, height = rng.uniform(0, np.pi, 600), rng.uniform(0, 1, 600)
    T = tangents(np.column_stack([np.cos(angle), np.sin(angle), height]), 2)
    up = np.cross(T[:, :, 0], T[:, :, 1])
    outward = up[:, 0] * np.cos(angle) + up[:, 1] * np.sin(angle)
    assert abs(np.sign(outward).sum()) == 600
    assert np.abs(outward).min() > 0.95


def test_a_ring_is_folded_and_left_out():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    assert BentLeaf.fit(ring, 1, rng).folded > 0.25
    h = hierarchy(categorical("c", a=continuous("z1"), b=continuous("z2")))
    arc = np.column_stack([np.cos(angle / 4), np.sin(angle / 4)])
    codes, decode = bent_maps(h, np.concatenate([ring, arc]), np.repeat([0, 1], 400), rng)
    assert (codes[:, 0] == 1).all()
    np.testing.assert_allclose(decode(codes), arc, atol=0.05)


def test_what_is_bent():
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(500, 2)) @ rng.normal(size=(2, 5))
    assert not is_bent(flat, 2)
    assert not is_bent(flat + 0.05 * rng.normal(size=flat.shape), 2)
    assert is_bent(sines(0)[1], 2)
    assert not is_bent(sines(0)[1][:20], 2)  # too few rows to tell
    assert BentLeaf.fit(flat[:5], 2, rng) is None
    assert BentLeaf.fit(flat[:, :1] @ np.ones((1, 3)), 2, rng) is None  # fewer directions than dimensions
