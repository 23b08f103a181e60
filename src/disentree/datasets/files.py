"""Data sets on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from disentree._version import __version__
from disentree.datasets.base import Dataset
from disentree.utils.files import atomic_path, json_text, sha256_of, write_npz
from disentree.utils.versions import build_commit


def save_dataset(dataset: Dataset, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Write a data set to `path`, an npz file, and what it takes to make it again to `path`.json.

    The npz holds `X`, `codes`, `paths` and `hierarchy` (a string of JSON); ``numpy.load`` reads it without
    pickle. The same data set gives the same bytes. Both files appear complete or not at all. Returns what the
    JSON file says.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"a data set is written to a file that ends in .npz, got {str(path)!r}")
    with atomic_path(path) as npz, atomic_path(f"{path}.json") as sidecar:
        arrays = {"X": dataset.X, "codes": dataset.codes, "paths": dataset.paths}
        write_npz(npz, {**arrays, "hierarchy": np.array(dataset.hierarchy.to_json(indent=None))})
        about = {
            "name": dataset.name,
            "n_samples": len(dataset),
            "seed": dataset.seed,
            "options": dict(dataset.options),
            "versions": {"disentree": __version__, "commit": build_commit(), "numpy": np.__version__},
            "sha256": sha256_of(npz),
        }
        sidecar.write_text(json_text(about), encoding="utf-8")
    return about
