"""A user's own data: a table, an array or a folder of images, with a policy for what is not a number.

Whatever is changed on the way in is told in sentences (`UserData.policy`), which the command line prints and
the report repeats. Nothing is guessed from names, and nothing is changed silently.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.utils.files import check_numpy, sha256_of

TABLES = (".csv", ".tsv", ".parquet")
ARRAYS = (".npy", ".npz")
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")

MAX_MISSING = 0.2  # columns that miss more than this are dropped
MAX_LEVELS = 20  # text columns with more values than this are dropped even with categorical="onehot"
FEWEST_COUNTED = 10  # fewer values may be one step apart by chance
MAX_SIDE = 128  # larger images are made smaller
SIDE = 64  # to this, which the default networks are made for


@dataclass(frozen=True, eq=False)
class UserData:
    """Observations as the algorithms get them, what was done to them, and ground truth if the file has it."""

    name: str
    kind: Literal["table", "series", "images"]
    X: Num[np.ndarray, "n ..."]
    policy: tuple[str, ...]  # one sentence for everything that was changed or left out
    feature_names: tuple[str, ...] = ()  # of a table
    rows: Int[np.ndarray, " n"] | None = None  # which rows of the file are left; None for all
    centre: Float[np.ndarray, " d"] | None = None  # what standardising took off, None if it was not done
    scale: Float[np.ndarray, " d"] | None = None
    codes: Float[np.ndarray, "n v"] | None = None
    hierarchy: Hierarchy | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # values of columns made zeros and ones

    @property
    def has_truth(self) -> bool:
        return self.codes is not None and self.hierarchy is not None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: Int[np.ndarray, " m"]) -> UserData:
        """Some of the rows, with everything else as it is."""
        kept = self.rows[rows] if self.rows is not None else rows
        codes = None if self.codes is None else self.codes[rows]
        return replace(self, X=self.X[rows], rows=kept, codes=codes)


def load_file(
    path: str | os.PathLike[str],
    *,
    categorical: str = "drop",
    drop: Sequence[str] = (),
    max_missing: float = MAX_MISSING,
    standardise: bool = True,
    image_size: int | None = None,
) -> UserData:
    """Read a .csv, .tsv, .parquet, .npy or .npz file or a folder of images.

    Parameters
    ----------
    path
        Tables have a column for each feature. An npz must have an array `X`, or only one array; if it also
        has `codes` and `hierarchy`, as written by `save_dataset`, these are the ground truth. Arrays of three
        axes are grey images, of four axes images with one or three channels last.
    categorical
        What to do with columns of text or truth values: leave them out, or make a column of zeros and ones
        for each of their values.
    drop
        Columns of a table to leave out: identifiers, labels.
    max_missing
        Columns that miss a larger share of their values are left out; of the rest, rows with a value missing.
    standardise
        Give the columns of tables and of two-axis arrays mean 0 and standard deviation 1. A file with ground
        truth is taken as it is.
    image_size
        Side in pixels of the square to which images of a folder are cut and scaled. Without it, images that
        all have the same size, of at most 128 pixels, stay as they are, and others become 64.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = file.write_text("height,weight,name\\n1,2,a\\n2,4,b\\n3,9,c\\n")
    >>> data = load_file(file)
    >>> data.feature_names, data.X.shape
    (('height', 'weight'), (3, 2))
    >>> data.policy[0]
    "left out column 'name': not numbers (onehot would turn it into columns of zeros and ones)"
    """
    path = Path(path)
    if categorical not in ("drop", "onehot"):
        raise UserError(f"categorical must be 'drop' or 'onehot', got {categorical!r}")
    if not 0 <= max_missing < 1:
        raise UserError(f"max_missing must be a share of 0 or more and less than 1, got {max_missing!r}")
    if image_size is not None and image_size < 8:
        raise UserError(f"image_size must be 8 pixels or more, got {image_size}")
    if path.is_dir():
        return _from_images(path, image_size)
    suffix = path.suffix.lower()
    if suffix not in TABLES + ARRAYS:
        known = ", ".join(TABLES + ARRAYS)
        raise UserError(f"{path} must end in {known} or be a folder of images")
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    if suffix in TABLES:
        return _from_table(path, suffix, categorical, tuple(drop), max_missing, standardise)
    if drop:
        raise UserError(f"{path} has no named columns to drop")
    return _from_array(path, suffix, max_missing, standardise)


def digest_of(path: str | os.PathLike[str]) -> str:
    """What changes when the data does: of a file its SHA-256, of a folder that of its images' names and
    sizes."""
    path = Path(path)
    if not path.is_dir():
        return sha256_of(path)
    listing = "\n".join(f"{p.name} {p.stat().st_size}" for p in _pictures(path))
    return hashlib.sha256(listing.encode()).hexdigest()


# ------------------------------------------------------------------ tables


def _from_table(
    path: Path,
    suffix: str,
    categorical: str,
    drop: tuple[str, ...],
    max_missing: float,
    scaled: bool,
) -> UserData:
    frame = _read_table(path, suffix)
    policy: list[str] = []
    for name in drop:
        if name not in frame.columns:
            raise UserError(f"{path} has no column {name!r} to drop; it has {_some(map(str, frame.columns))}")
    if drop:
        frame = frame.drop(columns=list(drop))
        policy.append(f"left out {_columns(drop)}: as asked")
    columns, names, levels = _numeric_columns(frame, categorical, policy)
    if not columns:
        raise UserError(f"{path} has no numeric column{'; ' + policy[-1] if policy else ''}")
    values = np.stack(columns, axis=1)
    X, kept, rows = _without_missing(values, names, max_missing, policy, path)
    policy.extend(
        f"column {names[j]!r} counts the rows: leave it out with --drop {names[j]}"
        for j in kept
        if _counts_rows(values[:, j])
    )
    data = _vectors(path, "table", X, [names[i] for i in kept], rows, scaled, policy)
    return replace(data, levels=levels)


def _read_table(path: Path, suffix: str) -> Any:
    pandas = need("pandas", path)
    if suffix == ".parquet":
        need("pyarrow", path)
    try:
        frame = pandas.read_parquet(path) if suffix == ".parquet" else pandas.read_csv(path, **csv_style(path))
    except OSError as error:
        if error.errno is not None:
            raise
        raise UserError(f"{path} cannot be read: {_first_line(error)}") from None
    except Exception as error:  # pandas and pyarrow raise errors of many kinds for damaged files
        raise UserError(table_problem(path, error)) from None
    if not len(frame.columns) or not len(frame):
        raise UserError(f"{path} has no rows")
    frame.columns = [str(c) for c in frame.columns]
    return frame


def table_problem(path: Path, error: Exception) -> str:
    """Why a table cannot be read, in a sentence."""
    if isinstance(error, UnicodeDecodeError):
        return f"{path} is not UTF-8 text: save it as UTF-8"
    if ragged := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
        expected, line, found = ragged.groups()
        return f"{path}: line {line} has {found} fields where {expected} are expected"
    return f"{path} cannot be read as {path.suffix[1:].lower()}: {_first_line(error)}"


def csv_style(path: Path) -> dict[str, str]:
    """What pandas must know to read a .csv or .tsv: the separator, by the first line, and the decimal mark."""
    if path.suffix.lower() == ".tsv":
        return {"sep": "\t"}
    with path.open(encoding="utf-8") as file:
        head = file.readline()
    sep = max(",;\t", key=head.count)  # the comma if none of them is there
    return {"sep": sep, "decimal": "," if sep == ";" and "," not in head else "."}


def _numeric_columns(
    frame: Any, categorical: str, policy: list[str]
) -> tuple[list[Float[np.ndarray, " n"]], list[str], dict[str, tuple[str, ...]]]:
    """Columns, their names, and the values of those that became zeros and ones."""
    from pandas.api import types

    columns: list[np.ndarray] = []
    names: list[str] = []
    skipped: list[str] = []
    hot: dict[str, tuple[str, ...]] = {}
    for name, column in frame.items():
        if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
            if types.is_complex_dtype(column):
                raise UserError(f"column {name!r} holds complex numbers; give real and imaginary parts")
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
            names.append(name)
        elif categorical == "onehot" and not types.is_datetime64_any_dtype(column):
            levels = sorted(map(str, column.dropna().unique()))
            if len(levels) > MAX_LEVELS:
                policy.append(f"left out column {name!r}: {len(levels)} different values, more than {MAX_LEVELS}")
                continue
            hot[name] = tuple(levels)
            # two values need one column: the other would be its mirror image
            shown = levels[1:] if len(levels) == 2 else levels
            made = zeros_and_ones(column, shown)
            columns.extend(made.values())
            names.extend(made)
            policy.append(f"column {name!r} became {len(shown)} column{'s' * (len(shown) != 1)} of zeros and ones")
        else:
            skipped.append(name)
    if skipped:
        hint = "" if categorical == "onehot" else " (onehot would turn {} into columns of zeros and ones)"
        hint = hint.format("it" if len(skipped) == 1 else "them")
        policy.append(f"left out {_columns(skipped)}: not numbers{hint}")
    return columns, names, hot


def _counts_rows(column: Float[np.ndarray, " n"]) -> bool:
    """Whether these are whole numbers one step apart, in any order, as an identifier's are."""
    there = np.sort(column[np.isfinite(column)])
    if len(there) < FEWEST_COUNTED or (there != np.round(there)).any():
        return False
    steps = np.diff(there)
    return bool(steps[0] > 0 and (steps == steps[0]).all())


def zeros_and_ones(column: Any, levels: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    """A column for each of these values of a pandas column, by name; NaN where the value is missing."""
    missing = column.isna().to_numpy()
    text = column.astype(str).to_numpy()
    return {
        f"{column.name}={level}": np.where(missing, np.nan, (text == level).astype(np.float64)) for level in levels
    }


# ------------------------------------------------------------------ arrays


def _from_array(path: Path, suffix: str, max_missing: float, scaled: bool) -> UserData:
    arrays = _read_arrays(path, suffix)
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
        if X.dtype.kind == "b":
            X = X.astype(np.float64)
        width = len(str(X.shape[1] - 1))
        names = [f"column {j:0{width}d}" for j in range(X.shape[1])]
        values, _, rows = _without_missing(X.astype(np.float64), names, max_missing, policy, path)
        return _vectors(path, "series", values, names, rows, scaled, policy)
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        what = "images" if X.ndim > 2 else "rows with ground truth"
        raise UserError(f"{path} has {int((~np.isfinite(X)).sum())} missing or infinite values among its {what}")
    if X.ndim == 4 and X.shape[3] == 1:
        X = X[..., 0]
    if X.ndim == 2:
        policy.append("the file has ground truth: values are taken as they are")
        return UserData(path.stem, "series", X.astype(np.float64), tuple(policy), codes=codes, hierarchy=hierarchy)
    images = X if X.dtype == np.uint8 else X.astype(np.float32)
    policy.append(f"{_size(images)} images, taken as they are")
    return UserData(path.stem, "images", images, tuple(policy), codes=codes, hierarchy=hierarchy)


def _read_arrays(path: Path, suffix: str) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file:  # opened here: numpy would leave a damaged file open
            check_numpy(file, path)
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                if suffix != ".npy":
                    raise UserError(f"{path} is not an npz file")
                return {"X": loaded}
            found = list(loaded)
            key = "X" if "X" in found else found[0] if len(found) == 1 else None
            if key is None:
                raise UserError(f"{path} must have an array 'X'; it has {_some(found)}")
            arrays = {name: loaded[name] for name in ("codes", "hierarchy") if name in found}
            return {"X": loaded[key], **arrays}
    except UserError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise UserError(f"{path} must hold real numbers, got Python objects") from None
        raise UserError(f"{path} cannot be read as {suffix[1:]}: {_first_line(error)}") from None


def _truth_in(
    arrays: dict[str, np.ndarray], n_rows: int, path: Path
) -> tuple[Float[np.ndarray, "n v"] | None, Hierarchy | None]:
    if "codes" not in arrays or "hierarchy" not in arrays:
        return None, None
    try:
        hierarchy = Hierarchy.from_json(str(arrays["hierarchy"]))
        codes = hierarchy.validate(arrays["codes"])
    except ValueError as error:
        raise UserError(f"the ground truth in {path} cannot be used: {error}") from None
    if len(codes) != n_rows:
        raise UserError(f"{path} has {n_rows} rows but codes for {len(codes)}")
    return codes, hierarchy


# ------------------------------------------------------------------ vectors of either origin


def _without_missing(
    values: Float[np.ndarray, "n d"], names: list[str], max_missing: float, policy: list[str], path: Path
) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, " k"], Int[np.ndarray, " m"]]:
    """The values that are left, and their columns and rows in the file."""
    missing = ~np.isfinite(values)
    share = missing.mean(axis=0)
    sparse = share > max_missing
    if sparse.all():
        raise UserError(f"{path} misses more than {max_missing:.0%} of the values in every numeric column")
    if sparse.any():
        gone = [names[j] for j in np.flatnonzero(sparse)]
        policy.append(f"left out {_columns(gone)}: more than {max_missing:.0%} of the values missing")
    kept = np.flatnonzero(~sparse)
    complete = ~missing[:, kept].any(axis=1)
    if not complete.any():
        raise UserError(f"{path} has no row without a missing value")
    if not complete.all():
        policy.append(f"left out {int((~complete).sum()):,} of {len(values):,} rows: a value missing")
    values = values[np.ix_(complete, kept)]
    constant = _is_constant(values)
    if constant.all():
        raise UserError(f"{path} has no column with more than one value")
    if constant.any():
        policy.append(f"left out {_columns([names[j] for j in kept[constant]])}: the same value in every row")
    return values[:, ~constant], kept[~constant], np.flatnonzero(complete)


def _is_constant(values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " d"]:
    return np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)


def _vectors(
    path: Path,
    kind: Literal["table", "series"],
    X: Float[np.ndarray, "n d"],
    names: list[str],
    rows: Int[np.ndarray, " n"],
    scaled: bool,
    policy: list[str],
) -> UserData:
    centre = scale = None
    what = f"{X.shape[1]} column{'s' * (X.shape[1] != 1)}"
    if scaled:
        centre, scale = X.mean(axis=0), X.std(axis=0)
        X = (X - centre) / scale
        policy.append(f"{what} standardised: mean 0, standard deviation 1")
    else:
        policy.append(f"{what} taken as they are")
    given = tuple(names) if kind == "table" else ()
    return UserData(path.stem, kind, X, tuple(policy), given, rows, centre, scale)


# ------------------------------------------------------------------ folders of images


def _pictures(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())


def _from_images(folder: Path, image_size: int | None) -> UserData:
    files = _pictures(folder)
    if not files:
        raise UserError(f"{folder} holds no images ({', '.join(PICTURES)})")
    image = need("PIL.Image", folder)
    ops = need("PIL.ImageOps", folder)
    policy: list[str] = []
    sizes, colour = Counter(), False
    for file in files:
        with _opened(image, file) as picture:
            sizes[picture.size] += 1
            colour |= picture.mode not in ("1", "L", "LA", "I", "I;16", "F")
    (width, height), _ = sizes.most_common(1)[0]
    if image_size is not None:
        width = height = image_size
    elif len(sizes) > 1 or max(width, height) > MAX_SIDE:
        width = height = SIDE
    if set(sizes) != {(width, height)}:
        were = f"{len(sizes)} sizes" if len(sizes) > 1 else "{}x{} pixels".format(*next(iter(sizes)))
        policy.append(f"images had {were}: scaled and cut around the middle to {width}x{height} pixels")
    X = np.empty((len(files), height, width, 3) if colour else (len(files), height, width), dtype=np.uint8)
    for row, file in enumerate(files):
        with _opened(image, file) as picture:
            try:
                plain = _eight_bit(picture, colour)
                fitted = plain if plain.size == (width, height) else ops.fit(plain, (width, height))
            except (OSError, ValueError, SyntaxError) as error:
                raise UserError(f"{file} cannot be read as an image: {_first_line(error)}") from None
            X[row] = np.asarray(fitted)
    policy.append(f"{len(files):,} {'colour' if colour else 'grey'} images of {_size(X)} pixels, in order of name")
    return UserData(folder.name, "images", X, tuple(policy))


def _opened(image: Any, file: Path) -> Any:
    try:
        return image.open(file)
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PermissionError):
            raise
        raise UserError(f"{file} cannot be read as an image") from None


def _eight_bit(picture: Any, colour: bool) -> Any:
    if picture.mode in ("I", "I;16", "F"):  # sixteen bits: Pillow would clip them
        values = np.asarray(picture, dtype=np.float64)
        top = 255.0 if values.max() <= 255 else 65535.0
        module = importlib.import_module("PIL.Image")
        picture = module.fromarray(np.clip(values * (255 / top), 0, 255).astype(np.uint8))
    return picture.convert("RGB" if colour else "L")


# ------------------------------------------------------------------ words


def _size(images: np.ndarray) -> str:
    return f"{images.shape[1]}x{images.shape[2]}"


def need(module: str, path: Path) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = "pillow" if module.startswith("PIL") else module
        raise UserError(f"{path} needs {package}: pip install 'disentree[files]'") from None


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) != 1)} {_some(map(repr, names))}"


def _some(names: Any, at_most: int = 6) -> str:
    names = list(names)
    rest = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
