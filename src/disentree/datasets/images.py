"""Folders of images, scaled to one size."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from disentree.datasets.user_data import UserData, optional_module
from disentree.datasets.wording import first_line, size_in_words
from disentree.errors import UserError

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")

MAX_SIDE = 128  # larger images are scaled down
SIDE = 64  # to this, which the default networks are made for


def image_files(folder: Path) -> list[Path]:
    """The images in a folder, in order of name."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in IMAGES and p.is_file())


def load_images(folder: Path, image_size: int | None) -> UserData:
    """The images of a folder, as bytes; see `disentree.datasets.load_file` for the parameters."""
    files = image_files(folder)
    if not files:
        raise UserError(f"{folder} holds no images ({', '.join(IMAGES)})")
    image = optional_module("PIL.Image", folder)
    ops = optional_module("PIL.ImageOps", folder)
    policy: list[str] = []
    sizes, color = Counter(), False
    for file in files:
        with _opened(image, file) as picture:
            sizes[picture.size] += 1
            color |= picture.mode not in ("1", "L", "LA", "I", "I;16", "F")
    (width, height), _ = sizes.most_common(1)[0]
    if image_size is not None:
        width = height = image_size
    elif len(sizes) > 1 or max(width, height) > MAX_SIDE:
        width = height = SIDE
    if set(sizes) != {(width, height)}:
        were = f"{len(sizes)} sizes" if len(sizes) > 1 else "{}x{} pixels".format(*next(iter(sizes)))
        policy.append(f"images had {were}: scaled and cut around the middle to {width}x{height} pixels")
    X = np.empty((len(files), height, width, 3) if color else (len(files), height, width), dtype=np.uint8)
    for row, file in enumerate(files):
        with _opened(image, file) as picture:
            try:
                plain = _eight_bit(picture, color)
                fitted = plain if plain.size == (width, height) else ops.fit(plain, (width, height))
            except (OSError, ValueError, SyntaxError) as error:
                raise UserError(f"{file} cannot be read as an image: {first_line(error)}") from None
            X[row] = np.asarray(fitted)
    policy.append(
        f"{len(files):,} {'color' if color else 'gray'} images of {size_in_words(X)} pixels, in order of name"
    )
    return UserData(folder.name, "images", X, tuple(policy))


def _opened(image: Any, file: Path) -> Any:
    try:
        return image.open(file)
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PermissionError):
            raise
        raise UserError(f"{file} cannot be read as an image") from None


def _eight_bit(picture: Any, color: bool) -> Any:
    if picture.mode in ("I", "I;16", "F"):  # sixteen bits: Pillow would clip them
        values = np.asarray(picture, dtype=np.float64)
        top = 255.0 if values.max() <= 255 else 65535.0
        module = importlib.import_module("PIL.Image")
        picture = module.fromarray(np.clip(values * (255 / top), 0, 255).astype(np.uint8))
    return picture.convert("RGB" if color else "L")
