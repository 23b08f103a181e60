"""Arrays and images: good ones, and headers and archives that lie."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from fuzz.driver import damaged
from fuzz.tables import Made, column

HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (%d, %d)}",
    "{'descr': '<f8', 'fortran_order': 1, 'shape': (%d, %d)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-%d, %d)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (True, %d, %d)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d" + "0" * 30 + ")}",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (%d, %d)}",
    "{'descr': '<V8', 'fortran_order': False, 'shape': (%d, %d)}",
    "((((((%d, %d",
    "[" * 3000 + "%d, %d",
    "__import__('os').abort() or (%d, %d)",
    "{'descr': '<c16', 'fortran_order': False, 'shape': (%d, %d)}",
    "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (%d, %d)}",
    "{'descr': '<U4', 'fortran_order': False, 'shape': (%d, %d)}",
]
TREES = [
    '{"variables": [{"kind": "continuous"}]}',
    '{"variables": []}',
    '{"variables": ' * 2000,
    "[" * 100_000,
    '{"variables": [{"kind": "categorical", "options": []}]}',
    "\ud800",
    "5",
]


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def good_array(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray] | None]:
    """An array of any shape; the truth of its columns if it has two axes and numbers."""
    n = int(rng.choice([100, 140, 140, 150, 150, 2]))
    kind = rng.integers(8)
    if kind < 4:
        values = np.stack([column(rng, n) for _ in range(int(rng.integers(1, 6)))], axis=1)
        if rng.random() < 0.2:
            values[rng.integers(n), 0] = np.nan
        order = "F" if rng.random() < 0.2 else "C"
        dtype = str(rng.choice(["<f8", "<f8", ">f8", "<f4"])) if np.nanmax(np.abs(values)) < 1e30 else "<f8"
        array = np.asarray(values, dtype=dtype, order=order)
        width = len(str(array.shape[1] - 1))
        return array, {f"column {j:0{width}d}": array[:, j].astype(np.float64) for j in range(array.shape[1])}
    if kind == 4:
        return rng.integers(0, 255, (n, 8, 8)).astype(np.uint8), None
    if kind == 5:
        return rng.integers(0, 2, (n, 3)).astype(bool), None
    if kind == 6:
        return rng.random((n, 4, 4, int(rng.choice([1, 2, 3])))), None
    return rng.random(tuple(rng.integers(0, 12, rng.integers(0, 6)))), None


def make_npy(rng: np.random.Generator, folder: Path) -> Made:
    path = folder / "x.npy"
    if rng.random() < 0.4:
        shape = tuple(int(2.0 ** rng.integers(0, 50)) for _ in range(2))
        text = (HEADERS[rng.integers(len(HEADERS))] % shape).encode() + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", min(len(text), 65535)) + text + rng.bytes(96))
        return Made(path)
    array, truth = good_array(rng)
    path.write_bytes(npy_bytes(array))
    return Made(path, truth)


def make_npz(rng: np.random.Generator, folder: Path) -> Made:
    path, (array, truth) = folder / "x.npz", good_array(rng)
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    with zipfile.ZipFile(path, "w", methods[rng.integers(4)]) as archive:
        name = str(rng.choice(["X", "X", "X", "data", "../X"]))
        content = npy_bytes(array)
        if rng.random() < 0.2:
            content, truth = damaged(content, rng), None
        archive.writestr(f"{name}.npy", content)
        if rng.random() < 0.3:
            tree = TREES[rng.integers(len(TREES))]
            codes = rng.random((len(array) if array.ndim else 1, int(rng.integers(0, 3))))
            archive.writestr("codes.npy", npy_bytes(codes))
            archive.writestr("hierarchy.npy", npy_bytes(np.array(tree)))
            truth = None
        if rng.random() < 0.1:
            archive.writestr("notes.txt", "not an array")
    if rng.random() < 0.2:  # encrypted, by an unknown method, of another size
        content = bytearray(path.read_bytes())
        central = content.index(b"PK\x01\x02")
        at, in_central, size = [(6, 8, 2), (8, 10, 2), (22, 24, 4), (18, 20, 4)][rng.integers(4)]
        value = rng.bytes(size)
        content[at : at + size] = content[central + in_central : central + in_central + size] = value
        path.write_bytes(content)
        truth = None
    return Made(path, truth)


FORMATS = [("png", "PNG"), ("jpg", "JPEG"), ("bmp", "BMP"), ("gif", "GIF"), ("tif", "TIFF"), ("webp", "WEBP")]


def make_images(rng: np.random.Generator, folder: Path) -> Made:
    """A folder of a hundred images, some of which may be strange."""
    images = folder / "images"
    images.mkdir()
    ending, kind = FORMATS[rng.integers(len(FORMATS))]
    side = int(rng.choice([4, 8, 9]))
    for k in range(100):
        pixels = rng.integers(0, 256, (side, side)).astype(np.uint8)
        Image.fromarray(pixels).save(images / f"{k:03d}.{ending}", kind)
    for _ in range(int(rng.integers(0, 4))):
        victim = images / f"{rng.integers(100):03d}.{ending}"
        victim.write_bytes(_strange_image(rng, victim.read_bytes()))
    return Made(images)


def _strange_image(rng: np.random.Generator, content: bytes) -> bytes:
    kind = rng.integers(8)
    if kind < 3:
        return damaged(content, rng)
    buffer = io.BytesIO()
    if kind == 3:  # a bomb
        side = int(rng.choice([5000, 20_000, 100_000]))
        head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        parts = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
        chunks = (struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in parts)
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    if kind == 4:
        return b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n"
    if kind == 5:
        mode = str(rng.choice(["I;16", "F", "RGBA", "P", "CMYK", "1", "LA"]))
        Image.new(mode, (8, 8)).save(buffer, "TIFF")
    elif kind == 6:
        other = str(rng.choice(["PPM", "TGA", "ICO", "DDS", "PCX", "SGI"]))
        Image.new("RGB", (16, 16)).save(buffer, other)
    else:
        frames = [Image.new("L", (8, 8), shade) for shade in (0, 128, 255)]
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def make_structure(rng: np.random.Generator, folder: Path) -> tuple[Path, Path]:
    """A tree and labels of one's own for a hundred rows, good or not."""
    tree = {"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [{"variables": []}] * 2}]}
    text = json.dumps(tree) if rng.random() < 0.6 else TREES[rng.integers(len(TREES))]
    content = text.encode("utf-8", "surrogatepass")
    (folder / "h.json").write_bytes(damaged(content, rng) if rng.random() < 0.3 else content)
    labels = rng.integers(-1, 2 if rng.random() < 0.8 else 5, 100 if rng.random() < 0.8 else 7)
    path = folder / str(rng.choice(["l.npy", "l.npz"]))
    if path.suffix == ".npy":
        content = npy_bytes(labels if rng.random() < 0.8 else labels.astype(float))
    else:
        buffer = io.BytesIO()
        np.savez(buffer, labels=labels)
        content = buffer.getvalue()
    path.write_bytes(damaged(content, rng) if rng.random() < 0.3 else content)
    return folder / "h.json", path
