"""Folders of images, scaled to one size."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from disentree.datasets.files.user_data import UserData
from disentree.datasets.files.wording import first_line, name_in_words, size_in_words, some_of
from disentree.errors import UserError
from disentree.utils.files import naming

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
# Whatever a file is called, nothing else is read: some formats of Pillow start other programs.
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")

MAX_SIDE = 128  # larger images are scaled down
SIDE = 64  # to this, which the default networks are made for

GRAY_MODES = ("1", "L", "LA", "La", "F")  # and the deep ones
ALPHA_MODES = ("LA", "La", "RGBA", "RGBa", "PA")


@dataclass
class _Folder:
    """What is known of the images once each was looked at."""

    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    color: bool = False
    lowest: float = 0.0  # of images with more than 8 bits
    highest: float = 0.0
    n_deep: int = 0
    n_alpha: int = 0
    n_animated: int = 0

    @property
    def top(self) -> float:
        """The value of white in images with more than 8 bits."""
        return next((top for top in (1.0, 255.0, 65535.0) if self.highest <= top), self.highest)

    def sentences(self) -> list[str]:
        """What is ignored, or scaled, one sentence each."""
        out = []
        if self.n_deep:
            out.append(
                f"{_images(self.n_deep)} with more than 8 bits: values from 0 to {self.top:g} scaled to 8 bits"
            )
        if self.lowest < 0:
            out.append("negative values of images became 0")
        if self.n_alpha:
            out.append(f"{_images(self.n_alpha)} with transparency: on white")
        if self.n_animated:
            out.append(f"of {_images(self.n_animated)} with several frames the first was taken")
        return out


def image_files(folder: Path) -> list[Path]:
    """The images in a folder and in its subfolders, in order of name; hidden ones are not looked at."""
    inside = [folder, *(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))]
    found = (p for place in inside for p in place.iterdir() if p.suffix.lower() in IMAGES and p.is_file())
    return sorted(found, key=lambda p: p.relative_to(folder).parts)


def is_image_folder(path: Path) -> bool:
    """Whether it is a folder with images, whatever else is in it."""
    return path.is_dir() and bool(image_files(path))


def load_images(folder: Path, image_size: int | None) -> UserData:
    """The images of a folder, as bytes; see `disentree.datasets.load_file` for the parameters."""
    files = image_files(folder)
    if not files:
        raise UserError(f"{folder} holds no images ({', '.join(IMAGES)})")
    seen, bad = look_at_images(files)
    policy = seen.sentences()
    (width, height), _ = seen.sizes.most_common(1)[0]
    if image_size is not None:
        width = height = image_size
    elif len(seen.sizes) > 1 or max(width, height) > MAX_SIDE:
        width = height = SIDE
    if set(seen.sizes) != {(width, height)}:
        several = len(seen.sizes) > 1
        were = f"{len(seen.sizes):,} sizes" if several else "{}x{} pixels".format(*next(iter(seen.sizes)))
        policy.append(f"images had {were}: scaled and cut around the middle to {width}x{height} pixels")
    shape = (height, width, 3) if seen.color else (height, width)
    X = np.empty((len(files), *shape), dtype=np.uint8)
    kept: list[int] = []
    for row, file in enumerate(files):
        try:
            if file not in bad:
                X[len(kept)] = read_image(file, shape, seen)
                kept.append(row)
        except UserError as error:  # its header was readable
            bad[file] = str(error)
    if not kept:
        raise UserError(next(iter(bad.values())))
    if bad:
        names = some_of((name_in_words(file.relative_to(folder)) for file in bad), 3)
        policy.append(f"left out {_images(len(bad))} that could not be read: {names}")
    X, rows = X[: len(kept)], np.array(kept) if bad else None
    labels = _classes(folder, [files[row] for row in kept], policy)
    kind = "color" if seen.color else "gray"
    policy.append(f"{len(kept):,} {kind} images of {size_in_words(X)} pixels, in order of name")
    return UserData(folder.name, "images", X, tuple(policy), rows=rows, labels=labels)


def look_at_images(files: Sequence[Path]) -> tuple[_Folder, dict[Path, str]]:
    """What is known of images once each was looked at, and what is wrong with those that cannot be read; an error
    if none can be."""
    seen, bad = _Folder(), {}
    for file in files:
        try:
            with _opened(file) as picture:
                _look_at(picture, seen)
        except UserError as error:
            bad[file] = str(error)
    if len(bad) == len(files):
        raise UserError(next(iter(bad.values())))
    return seen, bad


def read_image(file: Path, shape: tuple[int, ...], seen: _Folder) -> UInt8[np.ndarray, "h w ..."]:
    """An image of a height and width, in color if it has three axes."""
    from PIL import ImageOps

    size = (shape[1], shape[0])
    with _opened(file) as picture:
        plain = _eight_bit(picture, seen, color=len(shape) == 3)
        return np.asarray(plain if plain.size == size else ImageOps.fit(plain, size))


def _classes(folder: Path, files: Sequence[Path], policy: list[str]) -> Any:
    """The subfolder that each image is in, if there are several."""
    classes = ["" if file.parent == folder else name_in_words(Path(file.parent.name)) for file in files]
    names = sorted({*classes} - {""})
    if len(names) < 2:
        return None
    policy.append(
        f"the {len(names)} subfolders ({some_of(names)}) are classes, which the tree is compared with and not told"
    )
    return np.array(classes)


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """An image; every error of a damaged file is one sentence, of which Pillow has many kinds."""
    from PIL import Image, UnidentifiedImageError

    try:
        with naming(file), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about metadata
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=FORMATS) as picture:
                yield picture
    except (UserError, MemoryError):
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UserError(f"{file} has too many pixels: more than {Image.MAX_IMAGE_PIXELS:,}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        if isinstance(error, UnidentifiedImageError):
            raise UserError(f"{file} cannot be read as an image: it is none of {', '.join(FORMATS)}") from None
        raise UserError(f"{file} cannot be read as an image: {first_line(error)}") from None


def _look_at(picture: Any, seen: _Folder) -> None:
    seen.sizes[picture.size] += 1
    deep = _is_deep(picture)
    seen.color |= picture.mode not in GRAY_MODES and not deep
    seen.n_alpha += _has_alpha(picture)
    seen.n_animated += getattr(picture, "n_frames", 1) > 1
    if deep:
        values = _values(picture)
        seen.n_deep += 1
        seen.lowest, seen.highest = min(seen.lowest, float(values.min())), max(seen.highest, float(values.max()))


def _has_alpha(picture: Any) -> bool:
    return picture.mode in ALPHA_MODES or "transparency" in picture.info


def _is_deep(picture: Any) -> bool:
    """Whether it has more than 8 bits: Pillow would clip them."""
    return picture.mode in ("I", "F") or picture.mode.startswith("I;16")


def _values(picture: Any) -> Float[np.ndarray, "h w"]:
    values = np.asarray(picture).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it has pixels that are no numbers")
    return values


def _eight_bit(picture: Any, seen: _Folder, color: bool) -> Any:
    """The first frame with 8 bits."""
    if getattr(picture, "n_frames", 1) > 1:
        picture.seek(0)
    if _is_deep(picture):
        from PIL import Image

        picture = Image.fromarray(np.clip(_values(picture) * (255 / seen.top), 0, 255).astype(np.uint8))
    elif _has_alpha(picture):  # what is under transparent pixels is anything
        from PIL import Image

        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture.convert("RGBA"))
    return picture.convert("RGB" if color else "L")


def _images(n: int) -> str:
    return f"{n:,} image{'s' * (n != 1)}"
