"""Files of the public clustering battery: in folders, NAME.data.gz with a row in each line, and beside it the
reference labelings NAME.labels0.gz, NAME.labels1.gz, ..., whose label 0 is noise. And images with known classes,
in the format of MNIST: folders with train-images-idx3-ubyte and train-labels-idx1-ubyte, or the same with .gz."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8

from disentree.errors import UserError

DATA = ".data.gz"
IMAGES_AND_CLASSES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


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


def folders_in(folder: Path) -> list[str]:
    """The folders in a folder that hold such images."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    names = sorted(path.name for path in folder.iterdir() if all(_file(path, name) for name in IMAGES_AND_CLASSES))
    if not names:
        raise UserError(f"{folder} holds no folders with {' and '.join(IMAGES_AND_CLASSES)}")
    return names


def read_classes(folder: Path) -> tuple[UInt8[np.ndarray, "n h w"], Int[np.ndarray, " n"]]:
    """Images, and the class of each."""
    images, classes = (_read_idx(folder, name) for name in IMAGES_AND_CLASSES)
    if images.ndim != 3 or classes.shape != (len(images),):
        raise UserError(f"{folder} has images of shape {images.shape} and classes of shape {classes.shape}")
    return images, classes.astype(np.int64)


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read_idx(folder: Path, name: str) -> np.ndarray:
    """An array: four bytes of which the last is the number of axes, the length of each, and the cells."""
    path = _file(folder, name)
    assert path is not None
    content = path.read_bytes()
    try:
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        start = 4 + 4 * content[3]
        shape = np.frombuffer(content[4:start], ">u4").tolist()
        return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
    except (OSError, EOFError, zlib.error, IndexError, ValueError):
        raise UserError(f"{path} is cut short or damaged") from None
