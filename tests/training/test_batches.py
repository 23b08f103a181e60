"""Minibatches: every row once an epoch, and as many minibatches as planned."""

import numpy as np
import pytest
import torch

from disentree.training import batches as module
from disentree.training.batches import StreamedBatches, TensorBatches, batches_of
from disentree.training.data import ArraySource, BlockSource

X = np.arange(1000.0)[:, None]


def prepare(block):
    return torch.from_numpy(block.astype(np.float32))


def labels(rows):
    return (rows * 10,)


def epoch(batches, seed=0):
    return list(batches.epoch(torch.Generator().manual_seed(seed)))


SOURCES = {
    "array": lambda: ArraySource(X),
    "blocks": lambda: BlockSource([X[:130], X[130:131], X[131:600], X[600:]]),
    "small blocks": lambda: BlockSource([X[i : i + 10] for i in range(0, 1000, 10)]),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("size", [64, 100, 1000, 3000])
def test_streamed_rows_come_once_in_as_many_minibatches_as_in_memory(name, size, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK_ROWS", 7)
    monkeypatch.setattr(module, "_SHUFFLED_BYTES", 7 * 4 * 5)
    streamed = StreamedBatches(SOURCES[name](), prepare, size, labels)
    memory = TensorBatches(prepare(X), size, labels)
    got = epoch(streamed)
    assert len(got) == streamed.n_batches == memory.n_batches == len(epoch(memory))
    assert [len(x) for x, _ in got] == [len(x) for x, _ in epoch(memory)]
    x = torch.cat([x for x, _ in got])[:, 0]
    assert sorted(x.tolist()) == X[:, 0].tolist()
    assert torch.equal(torch.cat([rows for _, rows in got]), (x * 10).long())  # labels go with their rows
    again = torch.cat([x for x, _ in epoch(streamed, seed=1)])[:, 0]
    assert not torch.equal(again, x)


def test_what_fits_is_kept_in_memory(monkeypatch):
    source = SOURCES["blocks"]()
    assert isinstance(batches_of(source, prepare, 1, 64), TensorBatches)
    monkeypatch.setattr(module, "_IN_MEMORY_BYTES", 3999)
    assert isinstance(batches_of(source, prepare, 1, 64), StreamedBatches)


def test_the_last_minibatch_may_be_left_out():
    assert [len(x) for (x,) in epoch(TensorBatches(prepare(X), 300))] == [300, 300, 300, 100]
    whole = TensorBatches(prepare(X), 300, drop_last=True)
    assert [len(x) for (x,) in epoch(whole)] == [300, 300, 300]
    assert whole.n_batches == 3
