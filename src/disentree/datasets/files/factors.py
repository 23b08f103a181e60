"""Data sets of the field with one row for every combination of factors: dSprites, 3D Shapes, and whatever has the
interface of disentanglement_lib's `GroundTruthData`."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from disentree.datasets.base import Dataset
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy

CHUNK_BYTES = 64e6  # of an array in an .npz that are unpacked at once
DSPRITES = ("shape", "scale", "orientation", "x", "y")  # after the color, which is always the same
SHAPES3D = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")


def load_factors(path: str | os.PathLike[str], n_samples: int | None = None, seed: int = 0) -> Dataset:
    """Read the file of dSprites (``.npz``) or 3D Shapes (``.h5``, which needs h5py) that you have downloaded.

    Parameters
    ----------
    path : str or path
        The file as published.
    n_samples : int or None, default=None
        A random subset of this many rows; None for all, which of dSprites are 3 GB.
    seed : int, default=0
        Seed of the subset.

    Returns
    -------
    Dataset
        Images, and their factors as codes of a flat hierarchy: `shape` is categorical, the others are continuous.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "dsprites.npz"
    >>> factors = np.array([[0, s, 0, 0, x, 0] for s in range(3) for x in range(4)])
    >>> images = np.zeros((12, 64, 64), np.uint8)
    >>> np.savez_compressed(file, imgs=images, latents_classes=factors, latents_values=factors / 4)
    >>> load_factors(file, n_samples=5)
    <Dataset dsprites: 5 samples of 64x64, 3 paths>
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    if path.suffix == ".npz":
        classes, values = (_rows_in(path, name, None)[:, 1:] for name in ("latents_classes", "latents_values"))
        rows = _some(len(classes), n_samples, seed)
        factors = np.where(np.array(DSPRITES) == "shape", classes, values)[rows]
        return _dataset("dsprites", _rows_in(path, "imgs", rows), factors, DSPRITES, ("shape",), seed)
    try:
        import h5py
    except ImportError:
        raise UserError("the file of 3D Shapes needs h5py: pip install h5py") from None
    with h5py.File(path) as file:
        if not {"images", "labels"} <= set(file):
            raise UserError(f"{path} is not the file of 3D Shapes: it has no images and labels")
        labels: Any = file["labels"]
        images: Any = file["images"]
        rows = _some(len(labels), n_samples, seed)
        return _dataset("3dshapes", images[rows], labels[:][rows], SHAPES3D, ("shape",), seed)


def from_ground_truth(
    data: Any, n_samples: int, seed: int = 0, *, categorical: Sequence[int] = (), names: Sequence[str] = ()
) -> Dataset:
    """Rows of an object with the interface of disentanglement_lib's `GroundTruthData`.

    Parameters
    ----------
    data : object
        With `num_factors`, `factors_num_values`, `sample_factors(n, random_state)` and
        `sample_observations_from_factors(factors, random_state)`.
    n_samples : int
        How many rows.
    seed : int, default=0
        Seed of the rows.
    categorical : sequence of int, default=()
        The factors, by their numbers, whose values have no order. The others are continuous.
    names : sequence of str, default=()
        Of the factors.

    Returns
    -------
    Dataset
        `generate` makes rows of other factors.

    Examples
    --------
    >>> class Squares:
    ...     num_factors, factors_num_values = 2, [3, 4]
    ...     def sample_factors(self, n, random_state):
    ...         return np.stack([random_state.randint(k, size=n) for k in self.factors_num_values], axis=1)
    ...     def sample_observations_from_factors(self, factors, random_state):
    ...         return np.ones((8, 8, 1)) * factors[:, :1, None, None]
    >>> from_ground_truth(Squares(), 10, categorical=[0], names=["kind", "size"])
    <Dataset Squares: 10 samples of 8x8x1, 3 paths>
    """
    rng = np.random.RandomState(seed)
    factors = np.asarray(data.sample_factors(n_samples, rng))
    names = tuple(names) or tuple(f"factor{i + 1}" for i in range(data.num_factors))

    def render(values: Float[np.ndarray, "n v"]) -> Shaped[np.ndarray, "n ..."]:
        return np.asarray(
            data.sample_observations_from_factors(values.astype(np.int64), np.random.RandomState(seed))
        )

    unordered = [names[i] for i in categorical]
    return _dataset(
        type(data).__name__, render(factors.astype(np.float64)), factors, names, unordered, seed, render
    )


def _dataset(
    name: str,
    X: Shaped[np.ndarray, "n ..."],
    factors: Shaped[np.ndarray, "n v"],
    names: Sequence[str],
    categorical: Sequence[str],
    seed: int,
    render: Any = None,
) -> Dataset:
    """A data set without factors that never change; values of categorical ones are counted from 0. `render` makes
    rows of all factors, as they are."""
    kept = [i for i in range(len(names)) if np.ptp(factors[:, i]) > 0]
    codes, variables, values = factors[:, kept].astype(np.float64), [], {}
    for j, i in enumerate(kept):
        variables.append({"kind": "continuous", "name": names[i]})
        if names[i] in categorical:
            values[j], codes[:, j] = np.unique(factors[:, i], return_inverse=True)
            options = [{"name": f"{value:g}", "variables": []} for value in values[j]]
            variables[-1] = {"kind": "categorical", "name": names[i], "options": options}
    tree = Hierarchy.from_dict({"variables": variables})

    def generate(codes: Float[np.ndarray, "n v"]) -> Shaped[np.ndarray, "n ..."]:
        given = np.tile(factors[0].astype(np.float64), (len(codes), 1))
        for j, i in enumerate(kept):
            given[:, i] = values[j][codes[:, j].astype(np.int64)] if j in values else codes[:, j]
        return render(given)

    return Dataset(name, X, codes, tree, tree.path_of(codes), seed, {}, generate if render else None)


def _some(n: int, n_samples: int | None, seed: int) -> Int[np.ndarray, " m"]:
    if n_samples is None or n_samples >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, n_samples, replace=False))


def _rows_in(path: Path, name: str, rows: Int[np.ndarray, " m"] | None) -> Shaped[np.ndarray, "m ..."]:
    """Some rows of an array in an .npz, in order, without the others in memory."""
    with zipfile.ZipFile(path) as archive:
        if f"{name}.npy" not in archive.namelist():
            raise UserError(f"{path} is not the file of dSprites: it has no {name}")
        with archive.open(f"{name}.npy") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, by_columns, dtype = read(file)
            if by_columns or dtype.hasobject:
                raise UserError(f"{path}: {name} is not an array of numbers in rows")
            each = int(np.prod(shape[1:])) * dtype.itemsize
            step = max(1, int(CHUNK_BYTES / max(1, each)))
            rows = np.arange(shape[0]) if rows is None else rows
            out = np.empty((len(rows), *shape[1:]), dtype)
            for start in range(0, shape[0], step):
                n = min(step, shape[0] - start)
                block = np.frombuffer(file.read(n * each), dtype).reshape(n, *shape[1:])
                low, high = np.searchsorted(rows, [start, start + n])
                out[low:high] = block[rows[low:high] - start]
            return out
