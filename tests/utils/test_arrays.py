"""npy and npz files of unknown origin: one sentence, whatever is wrong with them."""

import contextlib
import io
import struct
import zipfile

import numpy as np
import pytest

from disentree.datasets import load_file
from disentree.errors import UserError
from disentree.utils.arrays import read_array, read_arrays

X = np.arange(12.0).reshape(4, 3)


def npy(header=None, data=b"", version=1):
    """An npy file with a header of one's own."""
    text = header if isinstance(header, bytes) else repr(header).encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + b"\n" + data


def good(**change):
    return {"descr": "<f8", "fortran_order": False, "shape": (4, 3), **change}


BROKEN = {
    "huge": npy(good(shape=(2**40, 2**20)), bytes(96)),
    "huge product": npy(good(shape=(2**62, 4)), bytes(96)),
    "boolean": npy(good(shape=(True, 3)), bytes(96)),
    "negative": npy(good(shape=(-4, -3)), bytes(96)),
    "floats": npy(good(shape=(4.0, 3)), bytes(96)),
    "list": npy(good(shape=[4, 3]), bytes(96)),
    "deep": npy(b"(" * 9000),
    "deep lists": npy(b"[" * 500 + b"]" * 500),
    "long": npy(b" " * 60_000),
    "other keys": npy({"a": 1}),
    "no dict": npy(5),
    "objects": npy(good(descr="|O"), bytes(96)),
    "records": npy(good(descr=[("a", "<f8")]), bytes(96)),
    "nonsense": npy(good(descr="nonsense"), bytes(96)),
    "code": npy(b"__import__('os').system('true')"),
    "version": npy(good(), bytes(96), version=9),
    "short": npy(good(), bytes(90)),
    "magic only": b"\x93NUMPY",
    "text": b"1,2,3\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_npy(tmp_path, name):
    path = tmp_path / "x.npy"
    path.write_bytes(BROKEN[name])
    for read in (read_array, load_file):
        with pytest.raises(UserError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", BROKEN[name])
    with pytest.raises(UserError, match=r"x\.npz"):
        load_file(tmp_path / "x.npz")


def archive_of(compression, content=None):
    buffer, file = io.BytesIO(), io.BytesIO()
    np.save(file, X)
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("X.npy", file.getvalue() if content is None else content)
    return bytearray(buffer.getvalue())


def patched(content, offset_in_local, offset_in_central, value):
    """A field of the local header and of the central directory replaced."""
    content[offset_in_local : offset_in_local + 2] = struct.pack("<H", value)
    central = content.index(b"PK\x01\x02")
    content[central + offset_in_central : central + offset_in_central + 2] = struct.pack("<H", value)
    return content


def corrupt(content):
    for place in range(60, 90):
        content[place] ^= 0x5A
    return content


ARCHIVES = {
    "bytes": archive_of(zipfile.ZIP_STORED, b"plain bytes"),
    "text": archive_of(zipfile.ZIP_STORED, "plain text"),
    "deflate": corrupt(archive_of(zipfile.ZIP_DEFLATED)),
    "lzma": corrupt(archive_of(zipfile.ZIP_LZMA)),
    "bzip2": corrupt(archive_of(zipfile.ZIP_BZIP2)),
    "checksum": corrupt(archive_of(zipfile.ZIP_STORED)),
    "encrypted": patched(archive_of(zipfile.ZIP_STORED), 6, 8, 1),
    "unknown method": patched(archive_of(zipfile.ZIP_STORED), 8, 10, 77),
    "deflate64": patched(archive_of(zipfile.ZIP_STORED), 8, 10, 9),
    "cut": archive_of(zipfile.ZIP_STORED)[:100],
    "nothing in it": bytearray(b"PK\x05\x06" + bytes(18)),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_broken_npz(tmp_path, name):
    path = tmp_path / "x.npz"
    path.write_bytes(ARCHIVES[name])
    for read in (load_file, read_arrays if name != "nothing in it" else load_file):
        with pytest.raises(UserError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"variables": ' * 5000, "{}", "5", '{"variables": [5]}', "\ud800x"]
)
def test_trees_that_are_none(tmp_path, text):
    np.savez(tmp_path / "x.npz", X=X, codes=X, hierarchy=np.array(text))
    with pytest.raises(UserError, match=r"the ground truth in .* cannot be used"):
        load_file(tmp_path / "x.npz")


def test_more_than_there_is_memory_for(tmp_path, monkeypatch):
    monkeypatch.setattr("disentree.utils.arrays._physical_memory", lambda: 50)
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(UserError, match="GiB of memory"):
        read_array(tmp_path / "x.npy")


@pytest.mark.parametrize(
    "array",
    [
        X,
        np.asfortranarray(X),
        X.astype(">f4"),
        np.zeros((0, 3)),
        np.array(5.0),
        np.array("tree ü"),
        X > 3,
        X.astype("u1"),
    ],
)
def test_what_numpy_writes_is_read(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    read = read_array(tmp_path / "x.npy")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype
    np.savez_compressed(tmp_path / "x.npz", a=array, b=X)
    both = read_arrays(tmp_path / "x.npz")
    np.testing.assert_array_equal(both["a"], array)
    assert list(read_arrays(tmp_path / "x.npz", "b", optional=("c",))) == ["b"]
    with pytest.raises(UserError, match="must have an array 'c'; it has 'a', 'b'"):
        read_arrays(tmp_path / "x.npz", "c")


def test_random_damage_is_one_sentence_or_none(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", X=X, codes=X, hierarchy=np.array("{}"))
    whole = (tmp_path / "x.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 6)):
            broken[place] = rng.integers(256)
        (tmp_path / "x.npz").write_bytes(broken)
        with contextlib.suppress(UserError):
            read_arrays(tmp_path / "x.npz")
