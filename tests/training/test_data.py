"""Rows from blocks, DataLoaders and torch Datasets: read right or refused."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from disentree.training.data import ArraySource, BlockSource, is_blocks

X = np.random.default_rng(0).standard_normal((1000, 6)).astype(np.float32)


class Rows(Dataset):
    """Rows by index, as a file of records has them."""

    def __init__(self, make=lambda i: X[i]):
        self.make = make

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return self.make(i)


def read(source):
    return np.concatenate(list(source.blocks()))


@pytest.mark.parametrize(
    "given",
    [
        DataLoader(torch.from_numpy(X), batch_size=300),
        DataLoader(X, batch_size=300),
        TensorDataset(torch.from_numpy(X)),
        Rows(),
        Rows(lambda i: torch.from_numpy(X[i])),
        [X[:10], X[10:]],
    ],
)
def test_rows_come_in_their_order(given):
    assert is_blocks(given)
    source = BlockSource(given)
    assert (source.n_rows, source.shape) == (1000, (6,))
    assert np.array_equal(read(source), read(ArraySource(X)))


def test_a_dataset_of_images_has_images_for_rows():
    source = BlockSource(Rows(lambda i: np.full((4, 5), i % 250, dtype=np.uint8)))
    assert (source.shape, source.dtype) == ((4, 5), np.uint8)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=250),
            "X yields tuples of 1: give the rows alone",
        ),
        (DataLoader(TensorDataset(torch.from_numpy(X), torch.arange(1000)), batch_size=9), "X yields tuples of 2"),
        (TensorDataset(torch.from_numpy(X), torch.arange(1000)), "X holds tuples of 2: give the rows alone"),
        (Rows(lambda i: {"image": X[i], "label": 1}), r"dicts with the keys image, label: .* as X\['image'\]"),
        ([{"a": X, "b": X}], "X yields dicts with the keys a, b"),
        ([X[0], X[1]], "it must yield blocks of rows"),
        ([X, X[:, :3]], r"block 1 of X has rows of shape \(3,\), those before \(6,\)"),
    ],
)
def test_what_is_not_rows_alone_is_refused(given, problem):
    with pytest.raises(ValueError, match=problem):
        BlockSource(given)


def test_a_stream_of_rows_is_no_stream_of_blocks():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(X)

    with pytest.raises(ValueError, match="it must yield blocks of rows"):
        BlockSource(Stream())


def test_rows_that_change_places_are_refused():
    shuffled = DataLoader(X, batch_size=300, shuffle=True, generator=torch.Generator().manual_seed(0))
    source = BlockSource(shuffled)
    with pytest.raises(ValueError, match=r"other rows, or in another order, .*shuffle=True"):
        read(source)
