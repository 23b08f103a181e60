"""Minibatches of rows that are in memory, or read again in every epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from disentree.training.data import ArraySource, Source

_IN_MEMORY_BYTES = 4e9  # prepared rows up to this size are kept; more are read again in every epoch
_CHUNK_ROWS = 1024  # consecutive rows that are read at once from an array on disk
_SHUFFLED_BYTES = 128e6  # of such chunks that are shuffled together

Prepare = Callable[[Shaped[np.ndarray, "n ..."]], Tensor]
Labels = Callable[[Int[Tensor, " batch"]], tuple[Tensor, ...]]  # tensors to go with the rows of these indices


class TensorBatches:
    """Minibatches of a tensor in memory, with the labels of their rows. The last one of an epoch may have fewer
    rows, or is left out if it has."""

    def __init__(self, data: Tensor, batch_size: int, labels: Labels = lambda rows: (), drop_last: bool = False):
        self.data, self.batch_size, self.labels = data, batch_size, labels
        self.n_batches = len(data) // batch_size if drop_last else math.ceil(len(data) / batch_size)

    def without(self, rows: Int[Tensor, " m"]) -> TensorBatches:
        """The same without some rows."""
        kept = torch.ones(len(self.data), dtype=torch.bool, device=self.data.device)
        kept[rows] = False
        left = kept.nonzero()[:, 0]
        return TensorBatches(self.data[left], self.batch_size, lambda some: self.labels(left[some]))

    def epoch(self, generator: torch.Generator) -> Iterator[tuple[Tensor, ...]]:
        """(x, *labels) of each minibatch."""
        order = torch.randperm(len(self.data), generator=generator).to(self.data.device)
        for rows in order.split(self.batch_size)[: self.n_batches]:
            yield self.data[rows], *self.labels(rows)


class StreamedBatches:
    """Minibatches of data that does not fit in memory.

    An array is read in chunks in random order, some tens of megabytes shuffled together. Blocks are read in their
    own order and shuffled within. Rows left over from a block go into the first minibatch of the next, so that
    an epoch has as many minibatches as it would have in memory.
    """

    def __init__(self, source: Source, prepare: Prepare, batch_size: int, labels: Labels = lambda rows: ()):
        self.source, self.prepare, self.batch_size, self.labels = source, prepare, batch_size, labels
        self.n_batches = math.ceil(source.n_rows / batch_size)

    def epoch(self, generator: torch.Generator) -> Iterator[tuple[Tensor, ...]]:
        """(x, *labels) of each minibatch."""
        rest: tuple[Tensor, Tensor] | None = None
        for rows, block in self._blocks(generator):
            order = torch.randperm(len(rows), generator=generator)
            rows, x = rows[order], self.prepare(block)[order]
            if rest is not None:
                rows, x = torch.cat([rest[0], rows]), torch.cat([rest[1], x])
            whole = len(rows) - len(rows) % self.batch_size
            for start in range(0, whole, self.batch_size):
                stop = start + self.batch_size
                yield x[start:stop], *self.labels(rows[start:stop])
            rest = rows[whole:], x[whole:]
        if rest is not None and len(rest[0]):
            yield rest[1], *self.labels(rest[0])

    def _blocks(
        self, generator: torch.Generator
    ) -> Iterator[tuple[Int[Tensor, " n"], Shaped[np.ndarray, "n ..."]]]:
        """The indices of some rows, and the rows."""
        if isinstance(self.source, ArraySource):
            n = self.source.n_rows
            chunks = torch.randperm(math.ceil(n / _CHUNK_ROWS), generator=generator)
            chunk_bytes = _CHUNK_ROWS * 4 * math.prod(self.source.shape)
            for some in chunks.split(max(1, int(_SHUFFLED_BYTES / chunk_bytes))):
                starts = (some * _CHUNK_ROWS).tolist()
                parts = [np.asarray(self.source.X[s : s + _CHUNK_ROWS]) for s in starts]
                rows = torch.cat([torch.arange(s, min(s + _CHUNK_ROWS, n)) for s in starts])
                yield rows, np.concatenate(parts)
            return
        start = 0
        for block in self.source.blocks():
            yield torch.arange(start, start + len(block)), block
            start += len(block)


def batches_of(
    source: Source, prepare: Prepare, n_numbers: int, batch_size: int, labels: Labels = lambda rows: ()
) -> TensorBatches | StreamedBatches:
    """Minibatches of a source whose prepared rows have `n_numbers` each: in memory if they fit."""
    if source.n_rows * 4 * n_numbers > _IN_MEMORY_BYTES:
        return StreamedBatches(source, prepare, batch_size, labels)
    return TensorBatches(torch.cat([prepare(block) for block in source.blocks()]), batch_size, labels)
