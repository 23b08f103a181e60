"""The density of one leaf."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.mimosa.density.tiles import Along, Leaf, celled, fit_flat_leaf, n_tiles_along


def on_grid(density, low, high, n=400):
    """The integral of a density of the plane over a square."""
    side = np.linspace(low, high, n)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    return np.exp(density(grid)).sum() * (side[1] - side[0]) ** 2


def test_the_density_of_a_leaf_integrates_to_one():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(-1, 1, 500), 0.2 * rng.standard_normal(500)])
    for d in (0, 1, 2):
        leaf = fit_flat_leaf(Z, d, 1e-6, rng)
        assert leaf.dimension == d
        assert not leaf.is_curved
        assert on_grid(leaf.log_density, -4, 4) == pytest.approx(1, abs=0.01)


def test_blocks_of_rows_do_not_change_densities():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 3))
    leaf = fit_flat_leaf(Z, 2, 1e-6, rng)
    np.testing.assert_allclose(leaf.log_density(Z, block=7), leaf.log_density(Z))
    assert leaf.log_density(Z[:0]).shape == (0,)


def test_outwardness_by_hand():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.standard_normal(2000), 0.1 * rng.standard_normal(2000)])
    along, across = fit_flat_leaf(Z, 1, 1e-6, rng).outwardness(np.array([[2.0, 0.0], [0.0, 0.3]]))
    assert along == pytest.approx([4, 0], abs=0.4)
    assert across == pytest.approx([0, 9], abs=1)


def test_cells_along_follow_two_heaps():
    rng = np.random.default_rng(0)
    U = np.concatenate([rng.normal(-1, 0.05, (200, 1)), rng.normal(1, 0.05, (200, 1))])
    two, one = (Along.fit(U, k, rng).log_density(U).mean() for k in (2, 1))
    assert two > one + 1
    assert (Along.fit(np.zeros((50, 0)), 1, rng).log_density(np.zeros((3, 0))) == 0).all()
    assert [n_tiles_along(10, 1, 1), n_tiles_along(500, 1, 1), n_tiles_along(10**6, 1, 1)] == [1, 10, 24]


@given(st.integers(0, 1000), st.integers(1, 400), st.integers(0, 2), st.integers(0, 60))
def test_cells_are_a_partition_of_about_equal_size(seed, n, d, size):
    rng = np.random.default_rng(seed)
    Z, rows = rng.standard_normal((500, 3)), rng.choice(500, n, replace=False)
    cells = celled(Z, rows, d, size)
    assert sorted(np.concatenate(cells).tolist()) == sorted(rows.tolist())
    if len(cells) > 1:
        counts = [len(cell) for cell in cells]
        assert min(counts) >= max(18, size)
        assert max(counts) <= 2 * min(counts) + 2


def test_a_leaf_of_bent_charts_is_curved():
    from disentree.mimosa.density.chart import fit_chart
    from disentree.mimosa.density.tiles import Tile

    u = np.linspace(-1, 1, 100)
    bent = fit_chart(np.column_stack([u, u**2]), 1, 1e-6)
    flat = fit_chart(np.column_stack([u, 0 * u]), 1, 1e-6)
    along = Along.fit(u[:, None], 1, np.random.default_rng(0))
    leaf = Leaf(1, [Tile(bent, along, np.log(0.5)), Tile(flat, along, np.log(0.5))])
    assert not leaf.is_curved  # half of them is not most of them
    assert Leaf(1, leaf.tiles[:1]).is_curved
