"""Masks and codes against hand-worked answers, and what must hold for any hierarchy."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.cofhae import HierarchicalAutoencoder, HierarchicalMask
from strategies import coded, hierarchies

# x, shape: moon (phase) or none, and beside them color: red (shade; tone: warm or cold (chill)) or blue
TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "x"},
            {
                "kind": "categorical",
                "name": "shape",
                "options": [
                    {"name": "moon", "variables": [{"kind": "continuous", "name": "phase"}]},
                    {"name": "none", "variables": []},
                ],
            },
            {
                "kind": "categorical",
                "name": "color",
                "options": [
                    {
                        "name": "red",
                        "variables": [
                            {"kind": "continuous", "name": "shade"},
                            {
                                "kind": "categorical",
                                "name": "tone",
                                "options": [
                                    {"name": "warm", "variables": []},
                                    {"name": "cold", "variables": [{"kind": "continuous", "name": "chill"}]},
                                    {"name": "neutral", "variables": []},
                                ],
                            },
                        ],
                    },
                    {"name": "blue", "variables": []},
                ],
            },
        ]
    }
)
# the flat vector: x phase shade chill | moon none | red blue | warm cold neutral
NAN = math.nan


def logits(*probabilities: float) -> list[float]:
    return [math.log(p) for p in probabilities]


def test_layout_of_a_hand_written_hierarchy():
    mask = HierarchicalMask(TREE)
    assert [TREE.variables[c].name for c in mask.continuous] == ["x", "phase", "shade", "chill"]
    assert [TREE.variables[c].name for c in mask.categoricals] == ["shape", "color", "tone"]
    assert (mask.n_continuous, mask.n_options, mask.n_items) == (4, 7, 11)
    chill = next(v.index for v in TREE.variables if v.name == "chill")
    assert mask.options_above(chill) == [2, 5]  # red, cold


def test_soft_masks_by_hand():
    z_pre = torch.tensor([[2.0, 3.0, 5.0, 7.0, *logits(0.25, 0.75), *logits(0.5, 0.5), *logits(0.2, 0.5, 0.3)]])
    code = HierarchicalMask(TREE)(z_pre, tau=1.0)
    np.testing.assert_allclose(code.mask[0], [1, 0.25, 0.5, 0.25], rtol=1e-6)
    np.testing.assert_allclose(code.z[0], [2, 0.75, 2.5, 1.75], rtol=1e-6)
    np.testing.assert_allclose(code.a[0], [0.25, 0.75, 0.5, 0.5, 0.1, 0.25, 0.15], rtol=1e-6)
    # at half the temperature probabilities are squared and normalised again
    code = HierarchicalMask(TREE)(z_pre, tau=0.5)
    np.testing.assert_allclose(code.mask[0], [1, 0.1, 0.5, 0.5 * 0.25 / 0.38], rtol=1e-5)


def test_hard_masks_and_codes_by_hand():
    mask = HierarchicalMask(TREE)
    z_pre = torch.tensor(
        [
            [1.0, 2.0, 3.0, 4.0, 1, 0, 1, 0, 0, 1, 0],  # moon, red, cold
            [1.0, 2.0, 3.0, 4.0, 0, 1, 1, 0, 0, 0, 1],  # none, red, neutral
            [1.0, 2.0, 3.0, 4.0, 0, 1, 0, 1, 9, 0, 0],  # none, blue: the tone does not matter
        ]
    )
    a, on = mask.harden(z_pre)
    assert on.tolist() == [[True] * 4, [True, False, True, False], [True, False, False, False]]
    assert a.tolist() == [[1, 0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0, 0]]
    codes = mask.to_codes(a, z_pre[:, :4] * on)
    expected = [
        [1, 0, 2, 0, 3, 1, 4],
        [1, 1, NAN, 0, 3, 2, NAN],
        [1, 1, NAN, 1, NAN, NAN, NAN],
    ]  # x shape phase color shade tone chill
    np.testing.assert_array_equal(codes, expected)
    TREE.validate(codes)
    back_a, back_z = mask.from_codes(codes)
    assert torch.equal(back_a, a)
    assert torch.equal(back_z, z_pre[:, :4] * on)


def test_paths_as_options():
    mask = HierarchicalMask(TREE)
    table = mask.path_options()
    assert len(table) == len(TREE.paths) == 8
    codes = TREE.sample(200, 0)
    a, _ = mask.from_codes(codes)
    assert torch.equal(table[TREE.path_of(codes)], a)


@given(coded(min_rows=1))
def test_codes_survive_the_round_trip(pair):
    hierarchy, codes = pair
    assume(hierarchy.n_variables > 0)
    mask = HierarchicalMask(hierarchy)
    np.testing.assert_allclose(mask.to_codes(*mask.from_codes(codes)), codes, rtol=1e-6)


@given(hierarchies(), st.integers(0, 1000))
def test_hard_masks_are_the_limit_of_soft_ones_and_give_valid_codes(hierarchy, seed):
    assume(hierarchy.n_variables > 0)
    mask = HierarchicalMask(hierarchy)
    z_pre = torch.randn(20, mask.n_items, generator=torch.Generator().manual_seed(seed))
    a, on = mask.harden(z_pre)
    soft = mask(z_pre, tau=1e-10)
    torch.testing.assert_close(soft.a, a)
    torch.testing.assert_close(soft.mask, on.float())
    hierarchy.validate(mask.to_codes(a, z_pre[:, : mask.n_continuous] * on))


@given(hierarchies(), st.integers(0, 1000))
def test_masks_are_those_of_a_walk_down_the_tree(hierarchy, seed):
    """Against the recursion as Algorithm 8 words it."""
    assume(hierarchy.n_variables > 0)
    mask = HierarchicalMask(hierarchy)
    z_pre = torch.randn(5, mask.n_items, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)
    code = mask(z_pre, tau=0.7)
    level, share = {}, {}
    for v in hierarchy.variables:
        level[v.index] = torch.ones(5) if v.parent is None else level[v.parent] * share[v.parent][:, v.option]
        if v.kind == "continuous":
            i = mask.continuous.index(v.index)
            torch.testing.assert_close(code.z[:, i], z_pre[:, i] * level[v.index])
            continue
        o = mask.option_of[v.index, 0]
        here = z_pre[:, mask.n_continuous + o : mask.n_continuous + o + v.n_options]
        share[v.index] = (here / 0.7).softmax(1)
        torch.testing.assert_close(code.a[:, o : o + v.n_options], share[v.index] * level[v.index][:, None])


def test_gradients_stay_finite_where_an_option_is_impossible():
    z_pre = torch.zeros(1, 11, requires_grad=True)
    with torch.no_grad():
        z_pre[0, 4] = 1e6
    code = HierarchicalMask(TREE)(z_pre, tau=0.5)
    (code.a.sum() + code.z.sum() + code.log_p.sum()).backward()
    assert torch.isfinite(z_pre.grad).all()


def test_an_encoder_of_the_wrong_width_is_named():
    model = HierarchicalAutoencoder(TREE, torch.nn.Linear(3, 4), torch.nn.Linear(11, 3))
    with pytest.raises(ValueError, match=r"encoder must give \(batch, 11\) numbers.*\(2, 4\)"):
        model(torch.zeros(2, 3))


def test_a_hierarchy_without_variables_is_refused():
    with pytest.raises(ValueError, match="at least one variable"):
        HierarchicalMask(Hierarchy.flat(0))
