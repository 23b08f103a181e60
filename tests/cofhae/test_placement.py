"""Variables that do the same to decoded rows."""

import copy
import json

import numpy as np
import pytest
import torch

from disentree import COFHAE, MIMOSA, Hierarchy, metrics
from disentree.cofhae.fitting import stages
from disentree.cofhae.placement import Placement, knots_of
from disentree.datasets import load_dataset
from disentree.datasets.generated.branches import Branches
from disentree.datasets.generated.spaceshapes import SPACESHAPES, render
from disentree.explorer.interpreter import checked_program
from disentree.geometry.maps.effects import same_effects
from disentree.hierarchy.moves_as_json import move_from_dict, move_to_dict
from disentree.mimosa import fit as mimosa_fit

from ..hierarchy.conftest import categorical, continuous, hierarchy


def down(tree, names):
    """The tree with these variables on each branch, and how to get there."""
    return tree.push_down([v.index for v in tree.variables if v.name in names])


def warped(move, generate, codes, rng):
    """Codes of each branch with a sign and a scale of its own, and what decodes them: the generator itself."""
    tree, own = move.after, move.codes(codes)
    columns = [v.index for v in tree.variables if v.kind == "continuous"]
    sign = dict(zip(columns, rng.choice([-1, 1], len(columns)), strict=True))
    power = dict(zip(columns, np.exp(rng.uniform(-0.3, 0.3, len(columns))), strict=True))
    low, high = np.nanmin(own, axis=0), np.nanmax(own, axis=0)
    out = own.copy()
    for c in columns:
        out[:, c] = sign[c] * ((own[:, c] - low[c]) / (high[c] - low[c])) ** power[c]

    def decode(z):
        z = z.copy()
        for c in columns:
            z[:, c] = (sign[c] * z[:, c]).clip(0, 1) ** (1 / power[c]) * (high[c] - low[c]) + low[c]
        return generate(move.back(z))

    return out, decode, sign


def images(second=None):
    return lambda codes: render(codes, size=32, second=second).reshape(len(codes), -1).astype(np.float32)


@pytest.mark.parametrize("second", [None, "color"])
def test_places_of_images(second):
    """Height and width do the same to moons, stars and ships; phase, shine and angle do not."""
    ds = load_dataset("spaceshapes", n_samples=2000, seed=1, **({"second": second} if second else {}))
    move = down(ds.hierarchy, "xy")
    codes, decode, sign = warped(move, images(second), ds.codes, np.random.default_rng(0))
    above, _, signs = same_effects(move.after, codes, decode, np.random.default_rng(0))
    assert [{move.after.variables[c].name for c in columns} for columns in above] == [{"x"}, {"y"}]
    assert metrics.placement_error(ds.hierarchy, move.after.move_up(above).after) == 0
    for columns in above:
        assert len({signs[c] * sign[c] for c in columns}) == 1


def test_what_is_joined_below_stays_there():
    """Ships with a jet and without: their angle is one variable of ships, and no other shape's."""
    move = down(SPACESHAPES, "xy")
    ship = next(v for v in move.after.variables if v.name == "jet")
    own = [v.index for v in move.after.variables if (v.parent, v.option) == (ship.parent, ship.option)]
    lower = move.after.push_down([c for c in own if move.after.variables[c].kind == "continuous"])
    codes = lower.codes(move.codes(SPACESHAPES.sample(3000, np.random.default_rng(0))))
    above, _, _ = same_effects(
        lower.after, codes, lambda z: images()(move.back(lower.back(z))), np.random.default_rng(0)
    )
    names = [lower.after.variables[columns[0]].name for columns in above]
    assert sorted(zip(names, map(len, above), strict=True)) == [("angle", 2), ("x", 4), ("y", 4)]
    assert metrics.placement_error(SPACESHAPES, lower.after.move_up(above).after) == 0


@pytest.mark.parametrize("number", [0, 1, 2, 4, 9, 11, 14, 22])
def test_places_of_curved_leaves(number):
    tree = Branches(number, curved=True)
    rng = np.random.default_rng(number)
    codes = tree.sample_codes(2000, rng)
    move = down(tree.hierarchy, {"s1", "s2"})
    unit = np.maximum(tree.render(codes).std(axis=0), 1e-9)
    own, decode, _ = warped(move, lambda z: tree.render(z) / unit, codes, rng)
    above, partly, _ = same_effects(move.after, own, decode, np.random.default_rng(0))
    assert metrics.placement_error(tree.hierarchy, move.after.move_up(above).after) == 0
    assert [len(columns) for columns in partly] == [2] * any(v.name == "p1" for v in tree.hierarchy.variables)


def test_nothing_is_shared_by_chance():
    """Each branch has directions of its own, in 3 to 30 columns."""
    h = hierarchy(categorical("c", a=continuous("a1", "a2"), b=continuous("b1", "b2"), c=continuous("c1")))
    moved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        directions = rng.normal(size=(h.n_variables, int(rng.integers(3, 31))))
        codes = h.sample(300, rng)
        above, _, _ = same_effects(h, codes, lambda z, by=directions: np.nan_to_num(z) @ by, rng)
        moved += len(above)
    assert moved <= 1


@pytest.fixture
def placement():
    """Of a tree of two branches, of which b has the variable of a the other way round and on another scale."""
    h = hierarchy(*continuous("z1"), categorical("c", a=continuous("z2", "z3"), b=continuous("z4")))
    codes = h.sample(4000, np.random.default_rng(0))
    codes = codes[(codes[:, 1] == 0) | (np.arange(4000) % 2 == 0)]  # the values are those of the larger branch
    codes[:, 4] = 5 - 3 * np.sqrt(codes[:, 4])
    move = h.move_up([[2, 4]])
    return move, Placement.of(move, knots_of(codes, [[2, 4]], {2: 1, 4: -1})), codes


def test_there_and_back(placement):
    move, module, codes = placement
    a = torch.tensor(np.column_stack([codes[:, 1] == 0, codes[:, 1] == 1]).astype(np.float32))
    z = torch.tensor(np.nan_to_num(codes[:, [0, 2, 3, 4]]).astype(np.float32))
    up = module.up(torch.cat([z, a], dim=1))
    torch.testing.assert_close(module.up(torch.cat([z, -a], dim=1), a)[:, :3], up[:, :3])  # options that are given
    back = module.down(torch.cat([a, up[:, :3]], dim=1))
    torch.testing.assert_close(back, torch.cat([a, z], dim=1), atol=1e-5, rtol=1e-5)
    on_b = codes[:, 1] == 1
    np.testing.assert_allclose(up[on_b, 1], ((5 - codes[on_b, 4]) / 3) ** 2, atol=0.05)
    assert move_from_dict(json.loads(json.dumps(move_to_dict(move))), move.after) == move
    with pytest.raises(ValueError, match="must be"):
        move_from_dict(move_to_dict(move), Hierarchy.flat(2))
    with pytest.raises(ValueError, match="rising or falling"):
        Placement.along(move, module.own.flip(1), module.shared)


def test_beyond_the_knots(placement):
    _, module, _ = placement
    items = torch.tensor([[0.0, 1.0, 9.0, 4.0, -7.0]])  # options, then variables far outside of the rows
    again = module.up(torch.cat([module.down(items)[:, 2:], items[:, :2]], dim=1))
    torch.testing.assert_close(again[0, [0, 1]], items[0, [2, 3]], atol=1e-4, rtol=1e-5)


@pytest.fixture(scope="module")
def trained():
    """A short training on a tree that MIMOSA has found, of which two variables are said to do the same."""
    ds = load_dataset("branches-9", n_samples=800, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        found = {}

        def same(h, *_):
            first = [path.continuous[0] for path in h.paths if not path.choices[-1][1] or len(path.choices) < 2]
            found["same"] = sorted(set(first))
            return [found["same"]], [], {c: 1 - 2 * (i % 2) for i, c in enumerate(found["same"])}

        patch.setattr(stages, "same_effects", same)
        patch.setattr(mimosa_fit, "find_same", lambda *_: ([], []))  # so that there is something left to move
        model = COFHAE(maps="network", epochs=2, device="cpu", mimosa=MIMOSA(n_jobs=1)).fit(ds.X)
    return ds, model, found["same"]


def test_a_model_of_the_placed_tree(trained):
    """The same paths and as many variables on each; codes there and back; MIMOSA's tree is as it was."""
    ds, model, same = trained
    below = model.mimosa_.hierarchy_
    assert model.hierarchy_.n_variables == below.n_variables - len(same) + 1
    assert metrics.h_error(model.hierarchy_, below) == 0
    assert [p.name for p in model.hierarchy_.paths] == [p.name for p in below.paths]
    Z = model.transform(ds.X)
    shared = [v.index for v in model.hierarchy_.variables if v.parent is None and v.kind == "continuous"]
    assert len(shared) == 1
    assert not np.isnan(Z[:, shared]).any()
    np.testing.assert_array_equal(model.hierarchy_.path_of(Z), model.mimosa_.predict(ds.X))
    networks = copy.copy(model)  # without the move
    networks.autoencoder_ = copy.deepcopy(model.autoencoder_)
    networks.autoencoder_.placement = None
    networks.autoencoder_.mask = type(model.autoencoder_.mask)(below)
    networks.hierarchy_ = below
    own = networks.transform(ds.X)
    np.testing.assert_allclose(model.inverse_transform(Z), networks.inverse_transform(own), atol=1e-4)
    scores = [metrics.r4c_score(ds.codes, z, ds.hierarchy, m.hierarchy_) for z, m in ((Z, model), (own, networks))]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    for c in same:  # the same share of the rows of each branch lies below a value
        on = ~np.isnan(own[:, c])
        assert np.median(Z[on, shared[0]]) == pytest.approx(np.median(Z[:, shared[0]]), abs=0.1)


def test_saving_and_programs(trained, tmp_path):
    ds, model, _ = trained
    model.save(tmp_path)
    again = COFHAE.load(tmp_path, device="cpu")
    assert again.hierarchy_.to_dict() == model.hierarchy_.to_dict()
    Z = model.transform(ds.X)
    np.testing.assert_array_equal(again.transform(ds.X), Z)
    np.testing.assert_array_equal(again.inverse_transform(Z), model.inverse_transform(Z))
    program, _ = checked_program(model.in_features(), model.hierarchy_.sample(50))
    assert program["decode"][0]["op"] == "down"
    assert program["encode"][-1]["op"] == "up"


def test_down_keeps_what_was_found():
    ds = load_dataset("branches-9", n_samples=600, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "same_effects", lambda *_: pytest.fail("it was asked"))
        for more in ({"placement": "down"}, {"mimosa": MIMOSA(n_jobs=1, placement="down")}):
            model = COFHAE(maps="network", epochs=1, device="cpu", **more).fit(ds.X)
            assert model.hierarchy_ == model.mimosa_.hierarchy_


def test_trees_that_are_given_stay():
    ds = load_dataset("branches-9-curved", n_samples=400, seed=1)
    h = down(ds.hierarchy, {"s1", "s2"}).after
    model = COFHAE(maps="network", epochs=1, device="cpu").fit(ds.X, hierarchy=h, paths=ds.paths)
    assert model.hierarchy_ == h
    assert model.autoencoder_.placement is None


def test_what_placement_may_be():
    with pytest.raises(ValueError, match="placement must be"):
        COFHAE(placement="top").fit(np.zeros((10, 2)))


def test_one_group_has_nothing_to_place():
    nothing = same_effects(Hierarchy.flat(2), np.zeros((5, 2)), lambda z: z, np.random.default_rng(0))
    assert nothing == ([], [], {})
