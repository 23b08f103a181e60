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
    """Write a data set to an npz file, and its recipe to a JSON file beside it.

    The npz holds `X`, `codes`, `paths` and `hierarchy` (a string of JSON); ``numpy.load`` reads it without
    pickle. The same data set gives the same bytes. Both files appear complete or not at all.

    Parameters
    ----------
    dataset : Dataset
        The data set.
    path : str or path
        The npz file; the recipe goes to the same name with ``.json`` appended.

    Returns
    -------
    dict
        The recipe: name, options, seed and versions, and the SHA-256 of the npz file.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.datasets import load_dataset, load_file
    >>> file = Path(tempfile.mkdtemp()) / "sticks.npz"
    >>> save_dataset(load_dataset("chopsticks-depth2-inter", n_samples=10), file)["n_samples"]
    10
    >>> load_file(file).codes.shape
    (10, 3)
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"a data set is written to a file that ends in .npz, got {str(path)!r}")
    if dataset.codes is None or dataset.hierarchy is None or dataset.paths is None:
        raise ValueError(f"{dataset.name} is real data without ground truth, and is written by DataFrame.to_csv")
    with atomic_path(path) as npz, atomic_path(f"{path}.json") as sidecar:
        arrays = {"X": np.asarray(dataset.X), "codes": dataset.codes, "paths": dataset.paths}
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
