"""R4 and R4c: known answers and invariances; covers `r4.py`, `pairs.py` and `factor_scores.py`."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.datasets import load_dataset
from disentree.metrics import FactorScores, h_error, r4_score, r4c_score
from disentree.metrics.inputs import pair_up
from disentree.metrics.pairs import PairScorer


def cat(*options, name="c"):
    return {"kind": "categorical", "name": name, "options": [{"variables": list(o)} for o in options]}


def con(name):
    return {"kind": "continuous", "name": name}


def of(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


def noisy(codes, hierarchy, seed=0, share=0.3):
    """Codes with noise on the continuous variables and some options redrawn, kept valid."""
    rng = np.random.default_rng(seed)
    out, other = codes.copy(), hierarchy.sample(len(codes), rng)
    redrawn = rng.random(len(codes)) < share
    out[redrawn] = other[redrawn]
    noise = 0.1 * np.nanstd(codes, axis=0) * rng.standard_normal(out.shape)
    return out + np.where(hierarchy.is_categorical, 0, noise)


# ------------------------------------------------------------------ known answers


@pytest.mark.parametrize("score", [r4_score, r4c_score])
def test_identity_permutation_sign_and_cube(score, sticks):
    V, h = sticks.codes, sticks.hierarchy
    assert score(V, V, h, h) >= 0.99
    continuous = ~h.is_categorical
    assert score(V, np.where(continuous, -V, V), h, h) >= 0.99
    assert score(V, np.where(continuous, V**3, V), h, h) >= 0.99
    flat = Hierarchy.flat(3)
    U = flat.sample(2000)
    assert score(U, U[:, [2, 0, 1]], flat, flat) >= 0.99


def test_other_ways_of_writing_the_same_codes(sticks, reordered):
    V, h = sticks.codes, sticks.hierarchy
    for other, Z in [
        *((o, h.transfer(V, o)) for o in (h.pushed_down(), h.merged_up())),
        *(reordered(h, V, seed) for seed in range(3)),
    ]:
        assert r4c_score(V, Z, h, other) >= 0.99
        assert r4c_score(Z, V, other, h) >= 0.99
        assert h_error(h, other) == 0


def test_merging_up_and_pushing_down_change_r4():
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000, seed=0)
    down = ds.hierarchy.pushed_down()
    assert r4_score(ds.codes, ds.hierarchy.transfer(ds.codes, down), ds.hierarchy, down) < 0.9


def test_rotation_of_two_uniforms():
    h = Hierarchy.flat(2)
    V = h.sample(4000)
    Z = V @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    for score in (r4_score, r4c_score):
        assert score(V, Z, h, h) == pytest.approx(0.5, abs=0.05)


def test_constant_codes_score_zero(mixed):
    h, V = mixed
    assert r4c_score(V, np.full_like(V, 1.0), h, h) == 0
    assert r4_score(V, np.full_like(V, 1.0), h, h) == 0


def test_independent_codes():
    h = Hierarchy.flat(3)
    assert r4c_score(h.sample(2000, 0), h.sample(2000, 1), h, h) < 0.02
    binary = Hierarchy.flat(0, (2,))
    V, Z = binary.sample(4000, 0), binary.sample(4000, 1)
    assert r4c_score(V, Z, binary, binary) == pytest.approx(0.5, abs=0.03)
    assert r4c_score(V, Z, binary, binary, adjusted=True) < 0.05


def test_units_do_not_matter():
    h = Hierarchy.flat(2)
    V = h.sample(1000)
    Z = noisy(V, h)
    assert r4c_score(V, Z, h, h) == pytest.approx(r4c_score(1e-9 * V, 1e6 + 1e-3 * Z, h, h), abs=1e-6)


def test_flat_r4c_is_r4(mixed):
    h, V = mixed
    Z = noisy(V, h)
    assert r4c_score(V, Z, h, h) == r4_score(V, Z, h, h)


def test_a_factor_two_levels_down_keeps_its_weight():
    """x is represented only deep inside one half of the data, and perfectly there: half a point, not a
    quarter, as the formula in print would have it."""
    true = of(con("x"))
    learned = of(cat([cat([con("a")], [con("b")], name="inner")], [con("junk")], name="outer"))
    Z = learned.sample(4000)
    x = np.where(np.isnan(Z[:, 2]), Z[:, 3], Z[:, 2])
    x = np.where(np.isnan(x), np.random.default_rng(0).random(4000), x)
    assert r4c_score(x[:, None], Z, true, learned) == pytest.approx(0.5, abs=0.03)


def test_activity_is_not_read_off_the_values():
    """A factor that is often exactly 0 is active all the same."""
    h = of(cat([con("x")], [], name="shape"))
    V = h.sample(3000)
    V[:, 1] = np.where(V[:, 1] < 0.5, 0 * V[:, 1], V[:, 1])
    result = r4c_score(V, V, h, h, per_factor=True)
    assert result.factors[1].n_rows == (~np.isnan(V[:, 1])).sum()
    assert result.mean >= 0.99


def test_many_options_are_classified_not_regressed():
    h = Hierarchy.flat(0, (14,))
    V = h.sample(3000)
    Z = np.random.default_rng(0).permutation(14)[V.astype(int)].astype(float)
    assert r4c_score(V, Z, h, h) == pytest.approx(1, abs=0.01)


def test_constant_on_a_branch():
    """The true code says `kind` twice; where the learned one has chosen, both are constant."""
    true = of({**cat([], [], name="kind")})
    learned = of(cat([cat([], [], name="left")], [cat([], [], name="right")], name="top"))
    Z = learned.sample(2000)
    V = Z[:, [0]].copy()
    scorer = PairScorer()
    pairing = pair_up(V, Z, true, learned)
    rows = np.flatnonzero(Z[:, 0] == 0)
    top, left = pairing.z[0], pairing.z[1]
    assert scorer.score(pairing.v[0], top, rows) == 1  # a point to a point
    assert PairScorer(strict=True).score(pairing.v[0], top, rows) == 0
    assert scorer.score(pairing.v[0], left, rows) == 0  # a point to two
    assert scorer.score(pairing.v[0], top, rows[:29]) == 0  # too few rows to say


def test_golden_values():
    """Scores must not drift with the version of anything."""
    h = Hierarchy.flat(3)
    V = h.sample(1500, 0)
    Z = V @ np.array([[1, 0.3, 0], [0, 1, 0.2], [0.6, 0, 1]])
    np.testing.assert_allclose(r4c_score(V, Z, h, h, per_factor=True).scores, GOLDEN, atol=1e-6)


GOLDEN = [0.7547589304, 0.9121839723, 0.9597872166]


# ------------------------------------------------------------------ the estimator, pruning, threads


def test_fast_agrees_with_reference():
    h = of(con("x"), cat([con("y")], [], [con("z")], name="kind"))
    V = h.sample(600)
    Z = noisy(V, h)
    for score in (r4_score, r4c_score):
        fast = score(V, Z, h, h, n_splits=2, per_factor=True)
        reference = score(V, Z, h, h, n_splits=2, per_factor=True, estimator="reference", n_jobs=2)
        np.testing.assert_allclose(fast.scores, reference.scores, atol=0.005)


def explained(pairing, scorer, v, at, rows):
    """R2_c without any pruning, straight from the definition."""
    best = 0.0
    for variable, z in zip(pairing.z_hierarchy.variables, pairing.z, strict=True):
        if (None if variable.parent is None else (variable.parent, variable.option)) != at:
            continue
        best = max(best, scorer.score(v, z, rows))
        if variable.kind == "categorical" and len(rows):
            below = 0.0
            for k in range(variable.n_options):
                inside = rows[z.values[rows] == k]
                below += len(inside) / len(rows) * explained(pairing, scorer, v, (variable.index, k), inside)
            best = max(best, below)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_pruning_changes_nothing(seed, sticks):
    V, h = sticks.codes[:800], sticks.hierarchy
    for other, Z in [
        (h, noisy(V, h, seed)),
        (h.pushed_down(), noisy(h.transfer(V, h.pushed_down()), h.pushed_down())),
    ]:
        pairing, scorer = pair_up(V, Z, h, other), PairScorer(n_splits=2)
        plain = [explained(pairing, scorer, v, None, np.flatnonzero(v.active)) for v in pairing.v]
        result = r4c_score(V, Z, h, other, n_splits=2, per_factor=True)
        np.testing.assert_allclose(result.scores, plain, atol=1e-12)


def test_same_score_for_any_number_of_threads(sticks):
    V, h = sticks.codes, sticks.hierarchy
    Z = noisy(V, h)
    one, two = (r4c_score(V, Z, h, h, n_jobs=n, per_factor=True) for n in (None, 2))
    assert (one.scores == two.scores).all()
    assert one.factors == two.factors


def test_seeds(mixed):
    h, V = mixed
    Z = noisy(V, h)
    assert r4c_score(V, Z, h, h, random_state=0) == r4c_score(V, Z, h, h, random_state=0)
    assert r4c_score(V, Z, h, h, random_state=0) != r4c_score(V, Z, h, h, random_state=1)


def test_max_rows(mixed):
    h, V = mixed
    result = r4c_score(V, V, h, h, max_rows=300, per_factor=True)
    assert {f.n_rows for f in result.factors} == {300}


# ------------------------------------------------------------------ per factor


def test_per_factor_names_what_explains_a_factor(sticks):
    V, h = sticks.codes, sticks.hierarchy
    down = h.pushed_down()
    result = r4c_score(V, h.transfer(V, down), h, down, per_factor=True)
    assert isinstance(result, FactorScores)
    scores, factors = result
    assert scores.shape == (h.n_variables,)
    assert [f.factor for f in factors] == [v.name for v in h.variables]
    inter = factors[1]  # active on one half, pushed down to the three options below it
    assert len(inter.matches) == 3
    assert sum(m.n_rows for m in inter.matches) == inter.n_rows
    table = str(result)
    assert table.splitlines()[0].split() == ["factor", "score", "matched", "by", "where", "rows", "score"]
    assert inter.matches[0].where in table


def test_nothing_explains_a_factor(mixed):
    h, V = mixed
    result = r4c_score(V, np.zeros_like(V), h, h, per_factor=True)
    assert all(f.matches == () for f in result.factors)
    assert "-" in str(result)
