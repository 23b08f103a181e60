import json

import numpy as np
import pytest

from disentree.cli.score import score
from disentree.datasets import load_dataset
from disentree.errors import UserError


@pytest.fixture
def files(tmp_path):
    ds = load_dataset("chopsticks-depth2-slope", n_samples=400, seed=0)
    down = ds.hierarchy.pushed_down()
    true, learned = tmp_path / "true.npz", tmp_path / "learned.npz"
    np.savez(true, X=ds.X, codes=ds.codes, paths=ds.paths, hierarchy=ds.hierarchy.to_json())
    np.savez(learned, codes=ds.hierarchy.transfer(ds.codes, down), hierarchy=down.to_json())
    return ds, true, learned


def test_two_files(files, capsys, tmp_path):
    _, true, learned = files
    out = tmp_path / "deep" / "scores.json"
    score(true=true, learned=learned, out=out, n_jobs=1)
    written = json.loads(out.read_text())
    assert written["scores"]["h_error"] == 0
    assert written["scores"]["r4c"] > 0.99
    assert written["files"]["true"] == str(true)
    printed = capsys.readouterr().out
    assert "r4c" in printed
    assert "explained by" in printed
    assert "estimator: fast" in printed


def test_run_folder(files, tmp_path):
    score(run=tmp_path, metrics="r4c, h_error")
    assert set(json.loads((tmp_path / "scores.json").read_text())["scores"]) == {"r4c", "h_error"}
    score(run=tmp_path, metrics="h_error")  # again: our own file is replaced
    assert set(json.loads((tmp_path / "scores.json").read_text())["scores"]) == {"h_error"}


@pytest.mark.parametrize("name", ["learned.npz.json", "learned.json", "hierarchy.json"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_hierarchy_beside_the_file(files, tmp_path, name, wrapped):
    ds, true, learned = files
    np.savez(learned, codes=ds.codes)
    tree = ds.hierarchy.to_dict()
    (tmp_path / name).write_text(json.dumps({"hierarchy": tree, "name": "a"} if wrapped else tree))
    score(true=true, learned=learned, metrics="h_error")
    assert json.loads((tmp_path / "scores.json").read_text())["scores"] == {"h_error": 0}


def test_labels_only(files, tmp_path):
    ds, true, learned = files
    labels = ds.paths.copy()
    labels[:100] = -1
    np.savez(learned, labels=labels, hierarchy=ds.hierarchy.to_json())
    score(true=true, learned=learned)
    found = json.loads((tmp_path / "scores.json").read_text())["scores"]
    assert found == {"h_error": 0, "purity": 1.0, "coverage": 0.75}
    with pytest.raises(UserError, match="no codes"):
        score(true=true, learned=learned, metrics="r4c")


def test_mistakes(files, tmp_path):
    ds, true, learned = files
    missing = tmp_path / "missing.npz"
    empty = tmp_path / "empty"
    empty.mkdir()
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, codes=np.array([{}], dtype=object), allow_pickle=True)
    bare = empty / "bare.npz"
    np.savez(bare, codes=ds.codes)
    other = tmp_path / "other.npz"
    np.savez(other, something=ds.codes)
    broken = tmp_path / "broken.npz"
    np.savez(broken, codes=ds.codes, hierarchy="{}")
    for arguments, words in [
        ({}, "--true is missing"),
        ({"true": true}, "--learned is missing"),
        ({"run": empty}, "no true.npz"),
        ({"run": true}, "not a run folder"),
        ({"run": tmp_path, "true": true}, "not both"),
        ({"true": true, "learned": missing}, "no file"),
        ({"true": true, "learned": text}, "is not an"),
        ({"true": true, "learned": pickled}, "got Python objects"),
        ({"true": true, "learned": bare}, "hierarchy"),
        ({"true": true, "learned": other}, "'codes'"),
        ({"true": true, "learned": broken}, "hierarchy of"),
        ({"true": true, "learned": learned, "metrics": "r5"}, "--metrics"),
        ({"true": true, "learned": learned, "out": true}, "end in .json"),
    ]:
        with pytest.raises(UserError, match=words):
            score(**arguments)
    taken = tmp_path / "taken.json"
    taken.write_text("mine")
    with pytest.raises(UserError, match="--force"):
        score(true=true, learned=learned, out=taken)
    assert taken.read_text() == "mine"
