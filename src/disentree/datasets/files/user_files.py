"""A user's own data: a table, an array or a folder of images.

Whatever is changed when a file is read is described in sentences (`UserData.policy`), which the command line
prints and the report repeats. Nothing is guessed from names, and nothing is changed silently.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from disentree.datasets.files.arrays import ARRAYS, load_array
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import image_files, load_images
from disentree.datasets.files.several import read_several
from disentree.datasets.files.table_files import TABLES, open_table, tables_at
from disentree.datasets.files.tables import load_table
from disentree.datasets.files.user_data import UserData
from disentree.errors import UserError
from disentree.utils.files import check_is_file, sha256_of

MAX_MISSING = 0.2  # columns of an array that miss more than this are left out


def load_file(
    path: str | os.PathLike[str],
    *,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    log: Sequence[str] = (),
    max_missing: float | None = None,
    standardize: bool = True,
    image_size: int | None = None,
    skip_rows: int = 0,
    table: str | None = None,
) -> UserData:
    """Read a table (.csv, .tsv, .csv.gz, .parquet, .h5ad, .xlsx, .json, .jsonl, an SQLite or DuckDB database), all
    tables of a folder or of a pattern such as "parts/*.parquet", an array (.npy, .npz) or a folder of images.

    Parameters
    ----------
    path : str or path
        Tables have a column for each feature. An npz must have an array `X`, or only one array; if it also
        has `codes` and `hierarchy`, as written by `save_dataset`, these are the ground truth. Arrays of three
        axes are gray images, of four axes images with one or three channels last.
    types : dict of str to str, default=None
        Kinds of columns of a table that are not to be inferred: "number", "integer", "date", "category",
        "ordinal", "boolean", "given" (only whether a cell is empty counts).
    drop : sequence of str, default=()
        Columns of a table to leave out.
    log : sequence of str, default=()
        Columns of a table whose logarithm is to be taken.
    max_missing : float or None, default=None
        Columns that miss a larger share of their values are left out. None for none of a table, whose empty cells
        stay empty, and for a fifth of an array, of which rows with a value missing are left out too.
    standardize : bool, default=True
        Give the columns of arrays, and of tables of numbers without empty cells, mean 0 and standard deviation 1.
        A file with ground truth is taken as it is.
    image_size : int, default=None
        Side in pixels of the square to which images of a folder are cut and scaled. Without it, images that
        all have the same size, of at most 128 pixels, stay as they are, and others become 64.
    skip_rows : int, default=0
        Rows above the header of a .csv, .tsv or .xlsx.
    table : str or None, default=None
        Of an .xlsx the sheet, of a database the table or a query that begins with SELECT; None if there is one.

    Returns
    -------
    UserData
        The rows, and sentences that say what was done to them.

    Raises
    ------
    UserError
        If the file cannot be read or has nothing that can be used.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = file.write_text("height,sex,site\\n1.5,f,a\\n2.5,m,a\\n,f,a\\n")
    >>> data = load_file(file)
    >>> data.feature_names, data.X.shape
    (('height', 'sex=f', 'sex=m', 'height exists'), (3, 4))
    >>> data.policy[0]
    "left out column 'site': 'a' in every row"
    """
    path = Path(path)
    if max_missing is not None and not 0 <= max_missing <= 1:
        raise UserError(f"max_missing must be a share from 0 to 1, got {max_missing!r}")
    if image_size is not None and image_size < 8:
        raise UserError(f"image_size must be 8 pixels or more, got {image_size}")
    files = tables_at(path)
    if path.is_dir() and not files:
        return load_images(path, image_size)
    if skip_rows < 0:
        raise UserError(f"skip_rows must be 0 or more, got {skip_rows}")
    most_empty = 1.0 if max_missing is None else max_missing
    if files:
        several = read_several(path, files, table, skip_rows)
        return load_table(several, types or {}, drop, log, most_empty, standardize)[0]
    suffix = suffix_of(path)
    if suffix not in TABLES + ARRAYS:
        known = ", ".join(TABLES + ARRAYS)
        raise UserError(f"{path} must end in {known} or be a folder of images")
    if not path.exists():
        raise UserError(f"there is no file {path}")
    check_is_file(path)
    if not path.stat().st_size:
        raise UserError(f"{path} is empty: the file has no bytes")
    if suffix in TABLES:
        return load_table(open_table(path, table, skip_rows), types or {}, drop, log, most_empty, standardize)[0]
    if drop or types or log or skip_rows or table:
        raise UserError(f"{path} has no named columns")
    return load_array(path, suffix, MAX_MISSING if max_missing is None else max_missing, standardize)


def options_of(path: str | os.PathLike[str]) -> tuple[str, tuple[str, ...]]:
    """What a file is, in words, and the options of `load_file` that apply to it."""
    path = Path(path)
    if path.is_dir() and not tables_at(path):
        return "a folder of images", ("image_size",)
    if path.suffix.lower() in ARRAYS:
        return "an array", ("max_missing", "standardize")
    return "a table", ("types", "drop", "log", "max_missing", "standardize", "skip_rows", "table")


def digest_of(path: str | os.PathLike[str]) -> str:
    """What changes when the data does: the SHA-256 of a file, or of names and contents of several."""
    path = Path(path)
    if path.is_file():
        return sha256_of(path)
    files = tables_at(path) or image_files(path)
    above = path if path.is_dir() else Path(os.path.commonpath([file.parent for file in files]))
    listing = "\n".join(f"{p.relative_to(above).as_posix()} {sha256_of(p)}" for p in files)
    return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
