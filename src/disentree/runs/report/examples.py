"""Pictures of some images of each leaf, for the first screen of a report."""

from __future__ import annotations

import base64
import io

import numpy as np
from jaxtyping import Int, Shaped

MOST = 10  # images of a leaf
GAP = 2  # pixels between them
SIDE = 64  # pixels that a small image is enlarged towards


def leaf_examples(X: Shaped[np.ndarray, "m h w ..."], paths: Int[np.ndarray, " m"]) -> dict[int, str]:
    """By path, a row of its images as the address of a PNG; `paths` is the path of each, -1 for none."""
    high = max(1.0, float(X.max())) if X.dtype != np.uint8 else 255.0
    out = {}
    for path in np.unique(paths[paths >= 0]).tolist():
        rows = np.flatnonzero(paths == path)
        shown = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST)).astype(int)]
        out[path] = as_png(_strip(X[shown], high))
    return out


def _strip(X: Shaped[np.ndarray, "m h w ..."], high: float) -> Shaped[np.ndarray, "a b ..."]:
    """Images side by side, white between them."""
    images = np.clip(X.astype(np.float64) / high, 0, 1)
    if images.ndim == 4 and images.shape[-1] not in (3, 4):
        images = images[..., 0]
    times = max(1, SIDE // images.shape[1])
    images = images.repeat(times, axis=1).repeat(times, axis=2)
    padding = [(0, 0), (0, 0), (0, GAP), *[(0, 0)] * (images.ndim - 3)]
    padded = np.pad(images, padding, constant_values=1.0)
    return (255 * np.concatenate(list(padded), axis=1)[:, :-GAP]).round().astype(np.uint8)


def as_png(pixels: Shaped[np.ndarray, "a b ..."]) -> str:
    """The address of a picture that is part of the page."""
    from matplotlib.image import imsave

    out = io.BytesIO()
    imsave(out, pixels, cmap="gray" if pixels.ndim == 2 else None, vmin=0, vmax=255, format="png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
