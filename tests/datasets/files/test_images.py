"""Images of unknown origin."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from disentree.datasets import load_file
from disentree.datasets.files.user_files import digest_of
from disentree.errors import UserError

GRAY = np.arange(256, dtype=np.uint8).reshape(16, 16)


def save(path, array=GRAY, **settings):
    Image.fromarray(array).save(path, **settings)


def test_only_the_formats_named_are_read(tmp_path):
    """An EPS called .png would start Ghostscript."""
    (tmp_path / "a.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 16 16\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(UserError, match=r"a\.png cannot be read as an image: it is none of PNG, JPEG"):
        load_file(tmp_path)
    content = io.BytesIO()
    Image.fromarray(GRAY).save(content, "PPM")
    (tmp_path / "a.png").write_bytes(content.getvalue())
    with pytest.raises(UserError, match="it is none of PNG, JPEG"):
        load_file(tmp_path)


def problem_of(folder):
    try:
        load_file(folder)
    except UserError as error:
        return str(error)
    return ""


def png(width, height, data):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [10_000, 100_000])
def test_bombs_are_refused(tmp_path, side):
    (tmp_path / "a.png").write_bytes(png(side, side, b"\0" * 1000))
    with pytest.raises(UserError, match=r"a\.png has too many pixels"):
        load_file(tmp_path)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif", "a.tif", "a.webp", "a.bmp"])
def test_damaged_images_are_one_sentence(tmp_path, name):
    content = io.BytesIO()
    Image.fromarray(GRAY).save(content, {"jpg": "JPEG", "tif": "TIFF"}.get(name[2:], name[2:].upper()))
    whole = content.getvalue()
    rng = np.random.default_rng(0)
    for n in range(60):
        broken = bytearray(whole)
        if n % 3 == 0:
            broken = broken[: int(rng.integers(1, len(whole)))]
        else:
            for place in rng.integers(2, len(whole), 1 + n % 7):
                broken[place] = rng.integers(256)
        (tmp_path / name).write_bytes(broken)
        sentence = problem_of(tmp_path)
        assert sentence == "" or str(tmp_path / name) in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bits_of_either_order(tmp_path, order):
    values = (GRAY.astype(np.uint16) * 257).astype(f"{order}u2")
    strip = values.tobytes()
    entries = [
        (256, 3, 16),
        (257, 3, 16),
        (258, 3, 16),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 3, 16),
        (279, 4, len(strip)),
    ]
    table = struct.pack(f"{order}H", len(entries))
    for tag, kind, value in entries:
        packed = struct.pack(f"{order}H", value) + b"\0\0" if kind == 3 else struct.pack(f"{order}I", value)
        table += struct.pack(f"{order}HHI", tag, kind, 1) + packed
    start = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8 + len(strip))
    (tmp_path / "a.tif").write_bytes(start + strip + table + b"\0\0\0\0")
    data = load_file(tmp_path)
    np.testing.assert_array_equal(data.X[0], GRAY)
    assert "1 image with more than 8 bits: values from 0 to 65535 scaled to 8 bits" in data.policy


def test_a_dark_image_stays_dark_beside_a_bright_one(tmp_path):
    save(tmp_path / "a.png", np.full((16, 16), 200, dtype=np.uint16))
    save(tmp_path / "b.png", np.full((16, 16), 60_000, dtype=np.uint16))
    assert load_file(tmp_path).X.max(axis=(1, 2)).tolist() == [0, 233]


def test_what_is_ignored_is_told(tmp_path):
    save(tmp_path / "a.png", np.dstack([GRAY, GRAY, GRAY, 255 - GRAY]))
    frames = [Image.fromarray(GRAY), Image.fromarray(255 - GRAY)]
    frames[0].save(tmp_path / "b.gif", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / "c.tif", save_all=True, append_images=frames[1:])
    data = load_file(tmp_path)
    np.testing.assert_array_equal(data.X[2, ..., 0], GRAY)
    assert abs(int(data.X[0, 8, 0, 0]) - (128 * 127 + 255 * 128) // 255) <= 1  # half of it is white
    assert data.policy == (
        "1 image with transparency: on white",
        "of 2 images with several frames the first was taken",
        "3 color images of 16x16 pixels, in order of name",
    )
    save(tmp_path / "d.tif", np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))
    told = load_file(tmp_path).policy
    assert "1 image with more than 8 bits: values from 0 to 1 scaled to 8 bits" in told
    assert "negative values of images became 0" in told


def test_a_changed_image_of_the_same_size_is_noticed(tmp_path):
    save(tmp_path / "a.bmp")
    before = digest_of(tmp_path)
    save(tmp_path / "a.bmp", 255 - GRAY)
    assert digest_of(tmp_path) != before
