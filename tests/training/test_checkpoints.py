"""Fingerprints of data, and files of tensors."""

import numpy as np
import pytest
import torch

from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import checkpoints_in, fingerprint, load_tensors, resume, save_tensors
from disentree.training.loop import State, train
from disentree.training.schedules import one_cycle


def test_a_fingerprint_covers_all_blocks_and_not_their_borders():
    X = np.random.default_rng(0).random((100, 3))
    whole = fingerprint([X])
    assert fingerprint([X[:10], X[10:]]) == whole
    assert fingerprint([np.asfortranarray(X)]) == whole
    changed = X.copy()
    changed[99, 2] += 1e-12
    assert fingerprint([changed[:10], changed[10:]]) != whole
    for other in (X[:99], X.astype(np.float32), X.reshape(50, 6), X.astype(">f8")):
        assert fingerprint([other]) != whole
    assert fingerprint([X[:0]]) != fingerprint([X[:1]])


def test_tensors_and_notes_come_back(tmp_path):
    save_tensors(tmp_path / "a.safetensors", {"x": torch.arange(3).expand(2, 3)}, {"note": [1, None]})
    tensors, about = load_tensors(tmp_path / "a.safetensors")
    assert torch.equal(tensors["x"], torch.arange(3).expand(2, 3))
    assert about == {"note": [1, None]}
    (tmp_path / "a.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(ValueError, match=r"a\.safetensors is cut short or damaged"):
        load_tensors(tmp_path / "a.safetensors")


def test_the_same_tensors_are_the_same_bytes(tmp_path):
    contents = set()
    for i in range(20):
        save_tensors(
            tmp_path / f"{i}.safetensors", {"x": torch.arange(3.0), "a": torch.ones(2)}, {"b": 1, "c": (2, 3)}
        )
        contents.add((tmp_path / f"{i}.safetensors").read_bytes())
    assert len(contents) == 1
    content = contents.pop()
    (tmp_path / "0.safetensors").write_bytes(content.replace(b'\\"b\\": 1', b'\\"b\\": 2'))
    assert (tmp_path / "0.safetensors").read_bytes() != content
    with pytest.raises(ValueError, match="its checksum differs"):
        load_tensors(tmp_path / "0.safetensors")


def trained(until=None, about="a", **where):
    """A line through points, whose training is stopped after some epochs."""
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 40)[:, None]
    model = torch.nn.Linear(1, 1)
    state = State.start(
        model, learning_rate=0.1, schedule=one_cycle, steps=40, generator=torch.Generator().manual_seed(1)
    )
    save = resume(state, "line.safetensors", {"training": about}, **where)

    def step(state, batch, progress):
        loss = (model(batch[0]) - 3 * batch[0] + 1).square().mean()
        state.optimizer.zero_grad()
        loss.backward()
        state.optimizer.step()
        return {"loss": loss}

    def after_epoch(state):
        save(state)
        if state.epoch == until:
            raise KeyboardInterrupt

    began = state.epoch
    try:
        train(state, TensorBatches(x, 10), step, 40, after_epoch)
    except KeyboardInterrupt:
        return began, None
    return began, [p.item() for p in model.parameters()]


def test_a_training_goes_on_where_it_was_stopped(tmp_path):
    _, whole = trained()
    assert not list(tmp_path.iterdir())
    with checkpoints_in(tmp_path / "new"):
        assert trained(until=4) == (0, None)
        assert trained() == (4, whole)
        assert trained() == (10, whole)
        assert trained(about="another training") == (0, whole)
    assert trained() == (0, whole)
    assert trained(about="another training", folder=tmp_path / "new") == (10, whole)


def test_a_damaged_checkpoint_is_told_and_not_used(tmp_path, caplog):
    trained(until=4, folder=tmp_path)
    file = tmp_path / "line.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with caplog.at_level("WARNING", "disentree.training"):
        assert trained(folder=tmp_path)[0] == 0
    assert "line.safetensors is cut short or damaged" in caplog.text
    assert trained(folder=tmp_path)[0] == 10
