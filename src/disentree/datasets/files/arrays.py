"""Arrays: .npy and .npz files of vectors or images, with ground truth if they have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped

from disentree.datasets.files.user_data import UserData, make_vectors, without_missing
from disentree.datasets.files.wording import first_line, size_in_words, some_of
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.utils.arrays import array_names, open_archive, read_array, read_arrays

ARRAYS = (".npy", ".npz")


def load_array(path: Path, suffix: str, max_missing: float, scaled: bool) -> UserData:
    """The array of an npy or npz file; see `disentree.datasets.load_file` for the parameters."""
    arrays = _read(path, suffix)
    X = arrays.pop("X")
    if X.dtype.kind not in "uifb":
        raise UserError(f"{path} must hold real numbers, got {X.dtype}")
    if X.ndim not in (2, 3, 4) or (X.ndim == 4 and X.shape[3] not in (1, 3)):
        raise UserError(
            f"{path} must hold vectors (n, d) or images (n, h, w) or (n, h, w, 3), got shape {X.shape}"
        )
    if not X.size:
        raise UserError(f"{path} has no rows")
    codes, hierarchy = _truth_in(arrays, len(X), path)
    policy: list[str] = []
    if X.ndim == 2 and codes is None:
        return array_data(path, X, max_missing, scaled)
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        what = "images" if X.ndim > 2 else "rows with ground truth"
        raise UserError(f"{path} has {int((~np.isfinite(X)).sum())} missing or infinite values among its {what}")
    if X.ndim == 4 and X.shape[3] == 1:
        X = X[..., 0]
    if X.ndim == 2:
        policy.append("the file has ground truth: values are taken as they are")
        return UserData(path.stem, "series", X.astype(np.float64), tuple(policy), codes=codes, hierarchy=hierarchy)
    images = X if X.dtype == np.uint8 else X.astype(np.float32)
    policy.append(f"{size_in_words(images)} images, taken as they are")
    return UserData(path.stem, "images", images, tuple(policy), codes=codes, hierarchy=hierarchy)


def array_data(path: Path, X: Shaped[np.ndarray, "n d"], max_missing: float, scaled: bool) -> UserData:
    """Rows of numbers as `UserData`: columns and rows with missing values are left out."""
    policy: list[str] = []
    width = len(str(X.shape[1] - 1))
    names = [f"column {j:0{width}d}" for j in range(X.shape[1])]
    values, kept, rows = without_missing(X.astype(np.float64), names, max_missing, policy, path)
    data = make_vectors(path, "series", values, [names[j] for j in kept], rows, scaled, policy)
    return replace(data, columns=kept, n_columns=X.shape[1])


def knows_truth(path: Path) -> bool:
    """Whether an npz has codes and their hierarchy beside the rows; it is not read for that."""
    try:
        with open_archive(path) as archive:
            return {"X", "codes", "hierarchy"} <= {*array_names(archive)}
    except UserError:
        return False


def _read(path: Path, suffix: str) -> dict[str, np.ndarray]:
    if suffix == ".npy":
        return {"X": read_array(path)}
    with open_archive(path) as archive:
        names = array_names(archive)
    key = "X" if "X" in names else names[0] if len(names) == 1 else None
    if key is None:
        raise UserError(f"{path} must have an array 'X'; it has {some_of(names)}")
    arrays = read_arrays(path, key, optional=("codes", "hierarchy"))
    return {"X": arrays.pop(key), **arrays}


def _truth_in(
    arrays: dict[str, np.ndarray], n_rows: int, path: Path
) -> tuple[Float[np.ndarray, "n v"] | None, Hierarchy | None]:
    if "codes" not in arrays or "hierarchy" not in arrays:
        return None, None
    try:
        hierarchy = Hierarchy.from_json(str(arrays["hierarchy"]))
        codes = hierarchy.validate(arrays["codes"])
    except (ValueError, RecursionError) as error:
        raise UserError(f"the ground truth in {path} cannot be used: {first_line(error)}") from None
    if len(codes) != n_rows:
        raise UserError(f"{path} has {n_rows} rows but codes for {len(codes)}")
    return codes, hierarchy
