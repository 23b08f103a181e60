"""The loop: what it records, when it ends, and how a training that ended goes on."""

import math

import pytest
import torch

from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import load_tensors, restore_checkpoint, save_checkpoint
from disentree.training.loop import Diverged, State, train
from disentree.training.running import run_training
from disentree.training.schedules import constant, one_cycle

X = torch.arange(10.0)[:, None]


def start(steps, schedule=constant, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = torch.nn.Linear(1, 1)
    generator = torch.Generator().manual_seed(seed)
    return State.start(model, learning_rate=0.1, schedule=schedule, steps=steps, generator=generator)


def step(state, batch, progress):
    loss = (state.model(batch[0]) - 2 * batch[0]).square().mean()
    state.optimizer.zero_grad()
    loss.backward()
    state.optimizer.step()
    return {"loss": loss, "progress": torch.tensor(progress)}


def test_records_are_means_over_rows_not_over_minibatches():
    state = start(3)
    still = lambda state, batch, progress: state.optimizer.step() or {"loss": batch[0].mean()}  # noqa: E731
    train(state, TensorBatches(X, 4), still, 3)  # 4, 4 and 2 rows
    assert [record["epoch"] for record in state.history] == [1]
    assert state.history[0]["loss"] == pytest.approx(4.5)


def test_a_training_may_end_within_an_epoch_and_progress_reaches_every_step():
    state, progress, done = start(7), [], []
    train(
        state,
        TensorBatches(X, 4),
        lambda s, b, p: progress.append(p) or step(s, b, p),
        7,
        after_batch=lambda steps, total: done.append((steps, total)),
    )
    assert progress == pytest.approx([i / 7 for i in range(7)])
    assert done == [(i, 7) for i in range(1, 8)]
    assert (state.epoch, state.step) == (3, 7)


def test_it_learns():
    state = start(1000, one_cycle)
    train(state, TensorBatches(X, 4), step, 1000)
    assert state.model(torch.tensor([[3.0]])).item() == pytest.approx(6, abs=0.05)


def test_every_minibatch_has_the_rate_of_its_schedule():
    rates, state = [], start(12, one_cycle)
    train(
        state, TensorBatches(X, 4), lambda s, b, p: rates.append(s.scheduler.get_last_lr()[0]) or step(s, b, p), 12
    )
    reference = start(12, one_cycle)
    expected = []
    for _ in range(12):
        expected.append(reference.scheduler.get_last_lr()[0])
        reference.optimizer.step()
        reference.scheduler.step()
    assert rates == expected


def test_a_checkpoint_continues_bit_for_bit(tmp_path):
    whole = start(12, one_cycle)
    train(whole, TensorBatches(X, 4), step, 12)
    half = start(12, one_cycle)
    with pytest.raises(ZeroDivisionError):
        train(half, TensorBatches(X, 4), step, 12, after_epoch=lambda state: state.epoch == 2 and 1 / 0)
    save_checkpoint(tmp_path, half, {"seed": 5}, {"paths": torch.arange(3)})
    tensors, about = load_tensors(tmp_path / "checkpoint.safetensors")
    assert about["seed"] == 5
    assert torch.equal(tensors["paths"], torch.arange(3))
    rest = start(12, one_cycle, seed=1)
    restore_checkpoint(rest, tensors, about)
    assert rest.step == 6
    train(rest, TensorBatches(X, 4), step, 12)
    assert torch.equal(rest.model.weight, whole.model.weight)
    assert rest.optimizer.param_groups[0]["lr"] == whole.optimizer.param_groups[0]["lr"]
    assert [r["loss"] for r in rest.history] == [r["loss"] for r in whole.history]


@pytest.mark.parametrize(
    ("losses", "sentence"),
    [
        ([1.0, math.nan], "the reconstruction loss became nan in epoch 2"),
        ([1.0, 11.0], "the reconstruction loss rose to 11 in epoch 2, from 1 in the first"),
    ],
)
def test_divergence_keeps_the_model_of_the_last_good_epoch(losses, sentence):
    state = start(2)
    values = iter(losses)

    def spoil(state, batch, progress):
        state.optimizer.step()
        with torch.no_grad():
            state.model.weight.fill_(10.0 * (state.epoch + 1))
        value = torch.tensor(next(values))
        return {"loss": value, "reconstruction": value}

    def run(state):
        settings = {
            "device": torch.device("cpu"),
            "batch_size": 10,
            "report": print,
            "after_batch": lambda a, b: None,
        }
        return run_training(state, TensorBatches(X, 10), spoil, len(losses), **settings)

    outcome = run(state)
    assert outcome.diverged
    assert sentence in outcome.problem
    assert state.model.weight.item() == 10
    values = iter([math.inf])
    with pytest.raises(Diverged, match="became inf in epoch 1"):
        run(start(1))
