"""`disentree apply` to images; covers `apply.py` and `reading.py`."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from disentree import COFHAE
from disentree.datasets import load_file
from disentree.runs import Run
from disentree.runs.files.reading import read_blocks
from shell import invoke

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_dask_arrays_of_images():
    X = np.random.default_rng(0).random((60, 8, 8))
    model = COFHAE.quick(epochs=1, device="cpu").fit(X)
    codes = model.transform(da.from_array(X, chunks=(20, 4, 8))).compute(scheduler="synchronous")
    np.testing.assert_allclose(codes, model.transform(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_images_are_numbers_as_in_training(tmp_path, dtype):
    """Of any type, and also with an axis for their only channel."""
    X = np.random.default_rng(0).integers(0, 255, (120, 4, 4, 1)).astype(dtype) / (7 if dtype == np.float64 else 1)
    np.save(tmp_path / "x.npy", X.astype(dtype))
    data = load_file(tmp_path / "x.npy")
    about = {"kind": "images", "shape": [4, 4], "columns": None, "n_columns": None, "scale": None}
    block = next(read_blocks(tmp_path / "x.npy", about)).rows
    assert block.dtype == data.X.dtype
    np.testing.assert_array_equal(block, data.X)


@pytest.fixture
def classes(tmp_path):
    """Two classes of images: bright above, and bright below."""
    rng = np.random.default_rng(0)
    for i in range(120):
        picture = rng.integers(0, 40, (8, 8)).astype(np.uint8)
        picture[slice(0, 4) if i % 2 else slice(4, 8)] += np.uint8(rng.integers(100, 200))
        folder = tmp_path / "images" / ("above" if i % 2 else "below")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / f"{i:03}.png")
    (tmp_path / "images" / "below" / "broken.png").write_bytes(b"\x89PNG and then nothing")
    whole = (tmp_path / "images" / "above" / "001.png").read_bytes()
    (tmp_path / "images" / "above" / "cut.png").write_bytes(whole[: len(whole) // 2])
    return tmp_path / "images"


def test_images_in_class_folders(classes, tmp_path, fakes):
    data = load_file(classes)
    assert data.X.shape == (120, 8, 8)
    assert data.labels[:2].tolist() == ["above", "above"]
    assert data.policy[0] == "left out 2 images that could not be read: below/broken.png, above/cut.png"
    assert data.policy[1].startswith("the 2 subfolders (above, below) are classes")
    result = invoke("run", classes, "--out", tmp_path / "r", "--no-report")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert 0 <= run.metrics["scores"]["purity"] <= 1
    assert "agreement with the classes" in result.stdout
    counted = [sum(leaf["n_rows"].values()) for leaf in run.read_json("metrics.json")["classes"]]
    assert sum(counted) == 108
    result = invoke("apply", run.folder, classes, "--out", tmp_path / "z.csv")
    assert result.exit_code == 0, result.stderr
    assert "2 rows without a path: the image cannot be read" in result.stdout
    found = pd.read_csv(tmp_path / "z.csv")
    assert len(found) == 122
    assert found["file"][0] == "above/001.png"
    assert found["file"][found["path"] < 0].tolist() == ["above/cut.png", "below/broken.png"]
    model = run.model()
    expected = model.hierarchy_.path_of(model.transform(data.X))
    np.testing.assert_array_equal(found["path"][found["path"] >= 0], expected)
