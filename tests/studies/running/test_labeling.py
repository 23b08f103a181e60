"""Labels by MIMOSA and its rivals (`labeling.py`, `rivals.py`), images with classes (`battery_data.py`), and the
study of structure."""

from dataclasses import replace

import numpy as np
import pytest

from disentree.datasets import load_dataset
from disentree.errors import UserError
from disentree.mimosa.tree.codes import find_same
from disentree.runs import RunConfig
from disentree.studies import get_study
from disentree.studies.running.battery_data import read_classes
from disentree.studies.running.constants import replaced
from disentree.studies.running.labeling import _by_cosine, agreement, label_rows
from disentree.studies.running.rivals import RIVALS, cluster
from disentree.studies.running.task import Task, make_task


def task(method, dataset="blobs", n_samples=300, **more):
    return make_task(
        {"dataset": dataset, "method": method},
        dataset=dataset, seed=1, n_samples=n_samples, until="structure", method=method, **more,
    )  # fmt: skip


def test_labels_by_hand():
    true = np.array([0, 0, 1, 1])
    assert agreement(true, np.array([1, 1, 0, 0])) == {"ari": 1.0, "purity": 1.0}
    assert agreement(true, np.array([-1, -1, 0, 0])) == {"ari": 1.0, "purity": 1.0}  # noise is a cluster too
    assert agreement(true, np.zeros(4, int)) == {"ari": 0.0, "purity": 0.5}


@pytest.mark.parametrize("method", [*RIVALS, "mimosa"])
def test_two_clouds(method):
    values, seconds = label_rows(task(method))
    assert values["n_rows"] == 300
    assert values["true_components"] == 2
    if method not in ("optics", "hdbscan"):
        assert values["components"] == 2
        assert values["ari"] == 1
    assert seconds >= 0
    if method == "mimosa":
        assert values["h_error"] == 0
        assert values["dimensions"] == [5, 5]
        assert values["runner_up_bits"] >= values["bits"] - 1


def test_a_rival_that_needs_too_much_memory_is_left_out(monkeypatch):
    monkeypatch.setitem(RIVALS, "ward", replace(RIVALS["ward"], most_rows=10))
    assert cluster("ward", np.zeros((11, 2)), 2, 0) is None
    values, _ = label_rows(task("ward"))
    assert values["note"].startswith("not run on 300 rows")


def test_data_of_the_study_is_made_with_seeds_that_nothing_was_developed_on():
    options = get_study("structure").options("quick", seeds=2)
    assert options.seeds == (2000, 2001)
    methods = {one.method for one in get_study("structure").plan(options)}
    assert methods == {"mimosa", *RIVALS}


def test_the_generator_as_decoder():
    """Shared variables of curved branches are moved up; by a cosine that all pairs have, too many are."""
    values, seconds = label_rows(task("generator", "branches-4-curved"))
    assert values["placement_error"] == 0 < values["placement_error, down"]
    assert values["r4"] > 0.97 > values["r4, down"]
    assert 0 <= seconds < 1


def test_a_cosine_in_place_of_the_description_length():
    """Of 0 it moves whatever it can, of 1 nothing; and the description length is back in the end."""
    ds = load_dataset("branches-8", n_samples=600, seed=1)
    down = ds.hierarchy.pushed_down()

    def moved():
        return sum(map(len, find_same(down, ds.X, ds.paths, lambda rows: rows)[0]))

    usual = moved()
    with replaced("mimosa.tree.placing", "joined", _by_cosine(0.0)):
        assert moved() > usual > 0
    with replaced("mimosa.tree.placing", "joined", _by_cosine(1.0)):
        assert moved() == 0
    assert moved() == usual


@pytest.mark.parametrize("method", ["mimosa-graph", "k-means"])
def test_images_of_two_kinds(method, tmp_path):
    """Stripes of even and of odd columns, in noise: a folder in the format of MNIST."""
    rng, kinds = np.random.default_rng(0), np.repeat(np.arange(2, dtype=np.uint8), 100)
    images = (rng.uniform(0, 60, (200, 6, 6)) + 180 * (kinds[:, None, None] == np.arange(6) % 2)).astype(np.uint8)
    for name, array in (("images-idx3", images), ("labels-idx1", kinds)):
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        (tmp_path / f"train-{name}-ubyte").write_bytes(head + array.tobytes())
    read, classes = read_classes(tmp_path)
    assert (read == images).all()
    assert (classes == kinds).all()
    config = RunConfig(
        source=tmp_path.name, kind="file", seed=1, n_samples=180, options={"folder": str(tmp_path.parent)}
    )
    values, _ = label_rows(Task(columns={}, config=config, until="structure", method=method))
    assert values["n_rows"] == 180
    scores = ("dendrogram_purity", "accuracy", "nmi", "purity", "ari")
    assert {name: values[name] for name in scores} == dict.fromkeys(scores, 1.0)
    for damaged in (head + array.tobytes()[:-1], b"", head[:5]):
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(damaged)
        with pytest.raises(UserError, match="train-labels-idx1-ubyte is cut short or damaged"):
            read_classes(tmp_path)
