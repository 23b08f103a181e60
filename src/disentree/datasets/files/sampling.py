"""The head of a file, read as the whole would be, to see in seconds what a run would work with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import image_files
from disentree.datasets.files.several import check_same
from disentree.datasets.files.table_files import TABLES, open_table, tables_at
from disentree.datasets.files.tables import load_table
from disentree.datasets.files.user_data import UserData
from disentree.datasets.files.user_files import load_file

HEAD_CELLS = 5_000_000  # of a table, that are read to look at it
MOST_IMAGES = 200


def check_file(path: str | os.PathLike[str], **options: Any) -> tuple[UserData, str]:
    """What `load_file` would read with these options, from the whole file or from the head of a large one, and a
    sentence that says how much of the file that is."""
    path = Path(path)
    files = tables_at(path)
    if path.is_dir() and not files:
        return _check_images(path, options)
    if not files and (suffix_of(path) not in TABLES or not path.is_file()):
        data = load_file(path, **options)
        return data, f"{path}: {len(data):,} rows"
    tables = [open_table(file, options.get("table"), options.get("skip_rows", 0)) for file in files or [path]]
    for other in tables[1:]:
        check_same(tables[0], other)
    table = next((one for one in tables if any(map(len, one.frames(1)))), tables[0])
    most = max(1000, HEAD_CELLS // max(1, len(table.columns)))
    limit = options.get("max_missing")
    data, n = load_table(
        table,
        options.get("types") or {},
        options.get("drop") or (),
        options.get("log") or (),
        1.0 if limit is None else limit,
        options.get("standardize", True),
        most,
    )
    size = f"{n:,} rows" if n < most and not files else f"the first {n:,} rows, which stand for all others here"
    size = f"{len(files):,} tables, {size}" if files else size
    return data, f"{path}: {size}, {len(table.columns):,} columns"


def _check_images(path: Path, options: dict[str, Any]) -> tuple[UserData, str]:
    files = image_files(path)
    if len(files) <= MOST_IMAGES:
        return load_file(path, **options), f"{path}: {len(files):,} files"
    with tempfile.TemporaryDirectory() as folder:
        for file in files[:: -(-len(files) // MOST_IMAGES)]:
            copy = Path(folder) / file.relative_to(path)
            copy.parent.mkdir(exist_ok=True, parents=True)
            copy.symlink_to(file.resolve())
        data = load_file(folder, **options)
    return data, f"{path}: {len(data):,} of {len(files):,} files, which stand for all others here"
