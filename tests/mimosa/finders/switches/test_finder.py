"""A product of switches as a density."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.precision import rotated
from disentree.mimosa.finders.switches import finder as switches
from disentree.mimosa.search.judge import principal


def found_in(X: np.ndarray, seed: int = 0):
    Z, columns = principal(X)
    return Z, switches.find(Z, rotated(columns.precision, columns.basis), np.random.default_rng(seed))


def plane_with_switches(n: int = 4000, offset: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    U = rng.uniform(-1, 1, (n, 3))
    on = rng.random((n, 2)) < (0.5, 0.4)
    U[:, 1:] = np.where(on, U[:, 1:] + offset, 0) + 0.01 * rng.standard_normal((n, 2))
    return U


def test_the_density_of_a_combination_is_that_of_its_variables():
    Z, found = found_in(plane_with_switches())
    assert found is not None
    all_off = next(c for c, cell in enumerate(found.cells) if not any(cell.on))
    space = found.space
    # In the middle: one over the range of the free variable, times two normal densities of deviation .01.
    expected = np.log(1 / 2) + 2 * np.log(1 / (0.01 * np.sqrt(2 * np.pi)))
    values = space.log_densities(Z, found.cells)[:, all_off]
    assert np.quantile(values, 0.9) == pytest.approx(expected, abs=1.0)


def test_the_density_integrates_to_one():
    found = found_in(plane_with_switches(offset=1.5))[1]
    assert found is not None
    space = found.space
    # In its own coordinates the density is a product: over a grid of each, at the center of the others.
    steps = np.linspace(-12, 12, 24_001)
    for c, cell in enumerate(found.cells):
        for j in np.flatnonzero(~space.free(cell)):
            Y = np.zeros((len(steps), 3))
            Y[:, j] = steps * space.scatter[j]
            Z = (Y - space.offset) @ np.linalg.inv(space.weights)
            density = np.exp(space.log_densities(Z, [cell])[:, 0])
            at_center = np.exp(space.log_densities(Z[[12_000]], [cell])[0, 0])
            integral = density.sum() * (steps[1] - steps[0]) * space.scatter[j]
            assert integral == pytest.approx(at_center * np.sqrt(2 * np.pi) * space.scatter[j], rel=1e-3), c
    free = space.free(found.cells[-1])
    assert free.all()
    grid = np.linspace(-40, 40, 161)
    Y = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    spread = [np.ptp(one.at) / 8 if len(one.at) > 1 else 1 / one.below for one in space.margins.maps]
    Y = Y / 10 * spread + [np.mean(one.at) for one in space.margins.maps]
    Z = (Y - space.offset) @ np.linalg.inv(space.weights)
    density = np.exp(space.log_densities(Z, [found.cells[-1]])[:, 0] - np.linalg.slogdet(space.weights)[1])
    assert density.sum() * np.prod(np.array(spread) * 0.05) == pytest.approx(1, abs=0.1)


def test_rows_of_a_combination_that_was_never_seen_are_recognised():
    ds = load_dataset("product-3", n_samples=6000, seed=0, missing=True)
    Z, columns = principal(ds.X)
    found = switches.find(Z, rotated(columns.precision, columns.basis), np.random.default_rng(0))
    whole = load_dataset("product-3", n_samples=6000, seed=1)
    assert found is not None
    assert whole.paths is not None
    new = (whole.X - columns.mean) @ columns.basis.T
    labels = found.posteriors(new).argmax(axis=1)
    pairs = set(zip(whole.paths.tolist(), labels.tolist(), strict=True))
    assert len(pairs) == 8  # each true combination has one label, the missing one too


def test_one_switch_is_no_product():
    rng = np.random.default_rng(0)
    U = rng.uniform(-1, 1, (2000, 3))
    U[:, 2] *= rng.random(2000) < 0.5
    assert found_in(U)[1] is None


def test_too_few_rows_are_not_searched():
    assert found_in(plane_with_switches(150))[1] is None


def test_areas_of_houses_are_questions_of_yes_or_no():
    names = ["Mas.Vnr.Area", "BsmtFin.SF.1", "Total.Bsmt.SF", "X1st.Flr.SF", "X2nd.Flr.SF", "Wood.Deck.SF"]
    houses = load_dataset("ames-sample").X[names].dropna()
    X = houses.to_numpy(float)
    Z, found = found_in(X / X.std(axis=0))
    assert found is not None
    on = np.array([cell.on for cell in found.cells])[found.posteriors(Z).argmax(axis=1)]
    for name in ("Mas.Vnr.Area", "X2nd.Flr.SF", "Wood.Deck.SF"):
        has_it = (houses[name] > 0).to_numpy()
        assert max((on[:, s] == has_it).mean() for s in range(on.shape[1])) > 0.99, name
