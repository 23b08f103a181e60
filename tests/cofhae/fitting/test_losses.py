"""Each term of the loss by itself."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from disentree import COFHAE, Hierarchy
from disentree.cofhae import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.algorithm8 import choices_of
from disentree.cofhae.fitting.algorithm2 import Settings, make_step
from disentree.cofhae.fitting.losses import (
    discriminator,
    discriminator_loss,
    log_assignment_loss,
    permute_active,
    squared_assignment_loss,
    target_loss,
    total_correlation,
)
from disentree.cofhae.inputs import fit_input_layer
from disentree.training.data import ArraySource
from disentree.training.loop import State
from disentree.training.schedules import constant
from strategies import coded

TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous"},
            {
                "kind": "categorical",
                "options": [{"variables": []}, {"variables": [{"kind": "continuous"}, {"kind": "continuous"}]}],
            },
        ]
    }
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(coded(min_rows=1), st.integers(0, 1000))
def test_permuting_keeps_marginals_and_never_fills_an_inactive_place(pair, seed):
    hierarchy, codes = pair
    assume((~hierarchy.is_categorical).any())
    values = codes[:, ~hierarchy.is_categorical].astype(np.float32)
    on = torch.from_numpy(~np.isnan(values))
    permuted = permute_active(torch.from_numpy(np.nan_to_num(values, nan=-7.0)), on, generator(seed)).numpy()
    for i in range(values.shape[1]):
        active = on[:, i].numpy()
        assert (permuted[~active, i] == -7.0).all()
        assert np.array_equal(np.sort(permuted[active, i]), np.sort(values[active, i]))


def test_permuting_breaks_dependence_and_is_uniform():
    z = torch.arange(4.0)[:, None].repeat(1, 2)
    on = torch.ones_like(z, dtype=torch.bool)
    draws = torch.stack([permute_active(z, on, generator(s)) for s in range(2000)])
    share = torch.stack([(draws[:, 0, 0] == k).float().mean() for k in range(4)])
    torch.testing.assert_close(share, torch.full((4,), 0.25), atol=0.04, rtol=0)
    together = (draws[:, 0, 0] == draws[:, 0, 1]).float().mean()
    assert together.item() == pytest.approx(0.25, abs=0.04)


def encoder_and_batch(seed: int = 0):
    torch_rng = generator(seed)
    mask = HierarchicalMask(TREE)
    encoder = torch.nn.Linear(4, mask.n_items)
    with torch.no_grad():
        encoder.weight.copy_(torch.randn(encoder.weight.shape, generator=torch_rng))
        encoder.bias.zero_()
    hae = HierarchicalAutoencoder(TREE, encoder, torch.nn.Linear(mask.n_items, 4))
    return hae, torch.randn(32, 4, generator=torch_rng)


def test_the_discriminators_step_leaves_no_gradient_in_the_encoder():
    hae, x = encoder_and_batch()
    D = discriminator(3, (8, 8))
    code = hae.encode(x)
    _, on = hae.mask.harden(code.z_pre)
    discriminator_loss(D, code.z, permute_active(code.z, on, generator())).backward()
    assert all(p.grad is None for p in hae.parameters())
    assert all(p.grad is not None for p in D.parameters())
    total_correlation(D, code.z, torch.ones(len(x))).backward()  # and the other way round it does reach it
    assert hae.encoder.weight.grad.abs().sum() > 0


def test_assignment_losses_ignore_rows_without_a_path():
    hae, x = encoder_and_batch()
    table = hae.mask.path_options()
    paths = torch.tensor([0, 1, -1, -1] * 8)
    for loss in (squared_assignment_loss, log_assignment_loss):
        x_grad = x.clone().requires_grad_()
        loss(hae.encode(x_grad), choices_of(paths, table)).backward()
        assert (x_grad.grad[paths == -1] == 0).all()
        assert (x_grad.grad[paths >= 0].abs().sum(1) > 0).all()
        none = loss(hae.encode(x), choices_of(torch.full((32,), -1), table))
        assert none.item() == 0
        # changing an unassigned row changes nothing
        moved = torch.where((paths == -1)[:, None], x + 1, x)
        before, after = (loss(hae.encode(y), choices_of(paths, table)).item() for y in (x, moved))
        assert before == pytest.approx(after, rel=1e-6)


def test_assignment_losses_by_hand():
    mask = HierarchicalMask(TREE)
    z_pre = torch.tensor([[0.0, 0, 0, math.log(0.25), math.log(0.75)]])
    code = mask(z_pre, 1.0)
    a = mask.path_options()[:1]  # the first option
    assert squared_assignment_loss(code, a).item() == pytest.approx(2 * 0.75**2)
    assert log_assignment_loss(code, a).item() == pytest.approx(-math.log(0.25))


def test_target_loss_counts_known_targets_by_their_weight():
    z = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    target = torch.tensor([[0.0, math.nan], [3.0, 2.0]])
    weight = torch.tensor([[1.0, 1.0], [0.5, 0.5]])
    assert target_loss(z, target, weight, torch.zeros(2)).item() == pytest.approx((1 + 0.5 * 4) / 2)
    assert target_loss(z, target, weight, torch.tensor([1.5, 0.5])).item() == pytest.approx(0.5 * 1.5**2 / 2)


# -------------------------------------------------------------------- Algorithm 2 as a whole


def make_one_step(trust, progress, **changes):
    """The terms of a step for codes that are 0.2 off their targets."""
    X = np.random.default_rng(0).uniform(-1, 1, (64, 1))
    layer = fit_input_layer(ArraySource(X), "auto", "auto", np.random.default_rng(0))
    hae = HierarchicalAutoencoder(Hierarchy.flat(1), torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    with torch.no_grad():
        hae.encoder.weight.fill_(1.0)
        hae.encoder.bias.fill_(0.2)
    x = layer.prepare(X)
    usual = {"tau": 1.0, "lambda1": 1.0, "lambda2": 1.0, "lambda3": 1.0, "assignment": "log", "penalty": "none"}
    usual |= {"warm_up": 0.0, "sigma": None, "masks": "given", "guided": 0.4}
    state = State.start(hae, learning_rate=0.1, schedule=constant, steps=9, generator=generator())
    ones = torch.ones(64, 1)
    batch = (x, torch.zeros(64, 0), x.clone(), torch.full((64,), trust), ones, torch.zeros(64, 1))
    return make_step(Settings(**(usual | changes)), layer)(state, batch, progress)


def test_targets_of_curved_leaves_have_slack_once_guidance_has_ended():
    assert make_one_step(trust=0.0, progress=0.9)["target"].item() == 0
    assert make_one_step(trust=0.0, progress=0.1)["target"].item() == pytest.approx(0.04, abs=1e-4)
    assert make_one_step(trust=1.0, progress=0.9)["target"].item() == pytest.approx(0.04, abs=1e-4)


def test_the_loss_is_the_weighted_sum_of_its_terms():
    model = COFHAE(epochs=2, hidden=(8,), targets="codes", warm_up=0.0, device="cpu")
    model.set_params(lambda1=3.0, lambda2=50.0, lambda3=7.0, penalty=lambda z, on: z.square().mean())
    codes = TREE.sample(300, 0)
    X = np.nan_to_num(codes) @ np.random.default_rng(0).standard_normal((TREE.n_variables, 6))
    model.fit(X, hierarchy=TREE, codes=codes)
    for record in model.history_:
        terms = [record[name] for name in ("reconstruction", "assignment", "dependence", "target")]
        assert record["loss"] == pytest.approx(np.dot(terms, [1, 3, 50, 7]), rel=1e-4)
        assert 50 * record["dependence"] > 0.05 * record["loss"]
        assert min(terms) > 0


def test_the_penalty_makes_variables_less_dependent():
    """Two uniform factors, mixed by a shear: a code without penalty keeps some of it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2)) @ np.array([[1.0, 0.9], [0.0, 0.6]])
    left = []
    for lambda2 in (0.0, 3.0):
        model = COFHAE(steps=300, hidden=(16,), penalty="adversarial", targets="none", warm_up=0.0)
        model.set_params(lambda2=lambda2, device="cpu", discriminator=(32, 32), learning_rate=5e-3)
        Z = model.fit(X, hierarchy=Hierarchy.flat(2)).transform(X)
        left.append(abs(np.corrcoef(Z.T)[0, 1]))
    assert left[1] < 0.5 * left[0]
    first, last = model.history_[0], model.history_[-1]
    assert last["reconstruction"] < 0.2 * first["reconstruction"]
    assert all(record["dependence"] != 0 for record in model.history_)
