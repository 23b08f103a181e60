"""Finders of flat leaves: exact subspaces, subspaces in noise, and sheets in a latent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.finders.flats import noisy, sheets, subspaces
from disentree.mimosa.finders.protocol import FindsAgain, Rows


@dataclass(frozen=True)
class ExactSubspaces(FindsAgain):
    name: str = "subspaces"

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        found = subspaces.find(rows.Z, rows.floor, rng, rows.n_neighbors, rows.n_jobs)
        return [] if found is None else [found]


@dataclass(frozen=True)
class NoisySubspaces(FindsAgain):
    name: str = "noisy subspaces"

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        if rows.noise is None:
            return []
        found = noisy.find(rows.Z, rows.floor, rng, rows.noise, rows.n_neighbors, rows.n_jobs)
        return [] if found is None else [found]


@dataclass(frozen=True)
class Sheets(FindsAgain):
    name: str = "sheets"

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        found = sheets.find(rows.Z, rows.n_neighbors, seed, rows.n_jobs)
        return [] if found is None else [found]
