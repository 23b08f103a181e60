"""Maps of codes that are known."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.geometry.maps.additive_maps import fit_additive_maps
from disentree.geometry.maps.given import additive_with_codes, with_codes
from disentree.geometry.maps.linear_maps import fit_linear_maps

TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous"},
            {"kind": "continuous"},
            {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}] * 2}]},
        ]
    }
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    codes = rng.uniform(-1, 1, size=(600, 5))
    paths = np.arange(600) % 2
    codes[:, 2] = paths
    codes[paths == 0, 3:] = np.nan
    axes = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = np.nan_to_num(codes)[:, [0, 1, 3, 4]] @ rng.normal(size=(4, 4)) @ axes[:4] + paths[:, None] * axes[4]
    return X, paths, codes


def test_maps_get_the_variables_of_known_codes_and_decode_the_same_rows(rows):
    X, paths, wanted = rows
    maps = with_codes(fit_linear_maps(X, TREE, paths)[0], X, paths, wanted)
    codes = maps.encode(X, paths)
    np.testing.assert_allclose(codes, wanted, atol=1e-6)
    np.testing.assert_allclose(maps.decode(codes), X, atol=1e-6)


def test_one_map_for_all_paths():
    rng = np.random.default_rng(1)
    product = Hierarchy.flat(2, (2, 2))
    paths, z = np.arange(800) % 4, rng.uniform(-1, 1, size=(800, 2))
    X = np.concatenate([z @ [[1.0, 2.0], [-1.0, 1.0]], np.stack([paths // 2, paths % 2], axis=1)], axis=1)
    wanted = np.full((800, 4), np.nan)
    wanted[:, :2] = z
    before = fit_linear_maps(X, product, paths)[0]
    maps = with_codes(before, X, paths, wanted)
    assert maps.additive is not None
    for column in (0, 1):
        assert np.corrcoef(maps.encode(X, paths)[:, column], z[:, column])[0, 1] > 0.99
    for one in (before, maps):
        np.testing.assert_allclose(one.decode(one.encode(X, paths)), X, atol=1e-6)
    own = np.nan_to_num(maps.encode(X, paths)[:, :2])
    again = maps.additive.means(maps.items)[paths] + own @ maps.additive.directions
    np.testing.assert_allclose(again, X, atol=1e-6)


def test_additive_maps_read_known_codes(rows):
    X, paths, wanted = rows
    maps = fit_additive_maps(X, TREE, paths, np.random.default_rng(0))
    maps = additive_with_codes(maps, X, paths, wanted)
    np.testing.assert_allclose(maps.encode(X, paths), wanted, atol=1e-6)
    again = maps.means(maps.items)[paths] + np.nan_to_num(wanted[:, maps.items.columns]) @ maps.directions
    np.testing.assert_allclose(again, X, atol=1e-6)
