"""Fingerprints of data, and files of tensors."""

import numpy as np
import pytest
import torch

from disentree.training.checkpoints import fingerprint, load_tensors, save_tensors


def test_a_fingerprint_covers_all_blocks_and_not_their_borders():
    X = np.random.default_rng(0).random((100, 3))
    whole = fingerprint([X])
    assert fingerprint([X[:10], X[10:]]) == whole
    assert fingerprint([np.asfortranarray(X)]) == whole
    changed = X.copy()
    changed[99, 2] += 1e-12
    assert fingerprint([changed[:10], changed[10:]]) != whole
    for other in (X[:99], X.astype(np.float32), X.reshape(50, 6), X.astype(">f8")):
        assert fingerprint([other]) != whole
    assert fingerprint([X[:0]]) != fingerprint([X[:1]])


def test_tensors_and_notes_come_back(tmp_path):
    save_tensors(tmp_path / "a.safetensors", {"x": torch.arange(3).expand(2, 3)}, {"note": [1, None]})
    tensors, about = load_tensors(tmp_path / "a.safetensors")
    assert torch.equal(tensors["x"], torch.arange(3).expand(2, 3))
    assert about == {"note": [1, None]}
    (tmp_path / "a.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(ValueError, match=r"a\.safetensors is cut short or damaged"):
        load_tensors(tmp_path / "a.safetensors")


def test_the_same_tensors_are_the_same_bytes(tmp_path):
    contents = set()
    for i in range(20):
        save_tensors(
            tmp_path / f"{i}.safetensors", {"x": torch.arange(3.0), "a": torch.ones(2)}, {"b": 1, "c": (2, 3)}
        )
        contents.add((tmp_path / f"{i}.safetensors").read_bytes())
    assert len(contents) == 1
    content = contents.pop()
    (tmp_path / "0.safetensors").write_bytes(content.replace(b'\\"b\\": 1', b'\\"b\\": 2'))
    assert (tmp_path / "0.safetensors").read_bytes() != content
    with pytest.raises(ValueError, match="its checksum differs"):
        load_tensors(tmp_path / "0.safetensors")
