"""Files of the public clustering battery: in folders, NAME.data.gz with a row in each line, and beside it the
reference labelings NAME.labels0.gz, NAME.labels1.gz, ..., whose label 0 is noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from disentree.errors import UserError

DATA = ".data.gz"


def names_in(folder: Path) -> list[str]:
    """The sets in a folder that have reference labelings, as FOLDER/NAME."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    names = [str(path.relative_to(folder)).removesuffix(DATA) for path in sorted(folder.rglob(f"*{DATA}"))]
    names = [name for name in names if _references(folder, name)]
    if not names:
        raise UserError(f"{folder} holds no sets: files NAME.data.gz with NAME.labels0.gz beside them")
    return names


def _references(folder: Path, name: str) -> list[Path]:
    path = folder / f"{name}{DATA}"
    return sorted(path.parent.glob(f"{path.name.removesuffix(DATA)}.labels*.gz"))


def read_set(folder: Path, name: str) -> tuple[Float[np.ndarray, "n p"], list[Int[np.ndarray, " n"]]]:
    """The rows of a set, and each of its reference labelings."""
    X = np.loadtxt(folder / f"{name}{DATA}", ndmin=2)
    references = [np.loadtxt(path, dtype=np.int64) for path in _references(folder, name)]
    for labels in references:
        if labels.shape != (len(X),):
            raise UserError(f"{name} has {len(X)} rows and {labels.size} labels")
    return X, references


def count_rows(folder: Path, name: str) -> int:
    return len(np.loadtxt(folder / f"{name}{DATA}", usecols=0, ndmin=1))
