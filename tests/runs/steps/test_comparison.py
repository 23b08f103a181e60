"""PCA and a flat autoencoder beside every R2, and what is below PCA is said first; covers `scores.py` too."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA

from disentree import Hierarchy
from disentree.cofhae.constants import Pace
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.steps.comparison import compare, mean_dimension, pca_r2, warning
from disentree.runs.steps.scores import reconstruction_errors
from shell import invoke


def test_the_mean_dimension_counts_active_variables():
    h = Hierarchy.flat(2, (2,))
    codes = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])
    assert mean_dimension(codes, h) == 2
    tree = Hierarchy.from_dict(
        {
            "variables": [
                {"kind": "continuous"},
                {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]},
            ]
        }
    )
    assert mean_dimension(np.array([[0.5, 0, np.nan], [0.5, 1, 2.0]]), tree) == 1.5


def test_pca_by_hand():
    """Variances of 4 and 1: one component explains four fifths, none nothing, one and a half nine tenths."""
    X = np.array([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]])
    assert [pca_r2(X, X, d) for d in (0, 1, 1.5, 2, 7)] == pytest.approx([0, 0.8, 0.9, 1, 1])


def test_the_overlap_of_images_by_hand():
    X = np.zeros((3, 2, 2), dtype=np.uint8)
    X[0, 0] = 255, 128  # 128 is bright, 127 is not
    X[1, 0] = 255, 127
    again = np.zeros((3, 2, 2), dtype=np.float32)
    again[0, 0, 0] = 200.0
    again[1, 0] = 200.0, 129.0
    found = reconstruction_errors(X, again)["reconstruction_overlap"]
    assert found == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)  # two black images are the same
    assert "reconstruction_overlap" not in reconstruction_errors(X.reshape(3, 4), again.reshape(3, 4))


def test_pca_is_scikit_learns():
    X = load_wine().data
    train, test = X[::2], X[1::2]
    pca = PCA(3).fit(train)
    error = np.square(test - pca.inverse_transform(pca.transform(test))).sum()
    expected = 1 - error / np.square(test - test.mean(axis=0)).sum()
    assert pca_r2(train, test, 3) == pytest.approx(expected)


def test_a_warning_names_both_numbers():
    scores = {"reconstruction_r2": 0.8, "pca_r2": 0.83, "mean_dimension": 2.5}
    sentence = warning(scores)
    assert sentence is not None
    assert "R² 0.800" in sentence
    assert "R² 0.830" in sentence
    assert "2.5 on average" in sentence
    assert warning({**scores, "pca_r2": 0.815}) is None


class Stub:
    hierarchy_, pace, history_ = Hierarchy.flat(1, (2,)), Pace(50, 1e-3), tuple(range(10))

    def __init__(self, maps):
        self.maps_ = maps


def test_an_autoencoder_is_trained_beside_networks_only():
    X = load_iris().data
    codes = np.zeros((50, 2))
    train, test = np.arange(100), np.arange(100, 150)
    assert "autoencoder_r2" not in compare(Stub("linear"), X, train, test, codes, 0)
    found = compare(Stub("network"), X, train, test, codes, 0, "cpu")
    assert np.isfinite(found["autoencoder_r2"])


@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, load_diabetes], ids=lambda load: load.__name__
)
def test_runs_on_real_tables_are_not_below_pca(load, tmp_path):
    load(as_frame=True).data.to_csv(tmp_path / "data.csv", index=False)
    run = start_run(RunConfig.of(str(tmp_path / "data.csv")), tmp_path / "run")
    finish_run(run, device="cpu", until="scores", n_jobs=1)
    own = run.metrics["scores_without_truth"]
    assert own["reconstruction_r2"] >= own["pca_r2"] - 0.02
    assert run.metrics["warnings"] == []


def test_what_is_below_pca_is_said_in_the_first_line(tmp_path):
    """A model that was hardly trained."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 4)) + 0.01 * rng.normal(size=(150, 4))
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "tree.json").write_text(json.dumps(Hierarchy.flat(2).to_dict()))
    np.save(tmp_path / "labels.npy", np.zeros(150, dtype=np.int64))
    given = ["--hierarchy", tmp_path / "tree.json", "--labels", tmp_path / "labels.npy"]
    settings = ["--set", "learning_rate=1e-9", "--epochs", "1"]
    result = invoke("run", tmp_path / "data.csv", "--out", tmp_path / "run", *given, *settings)
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.startswith("warning: the codes explain less of the held-out rows")
    page = (tmp_path / "run" / "report.html").read_text()
    body = page[page.index("<body") :]
    assert "the codes explain less" in body[: body.index("<h1>")]
    assert "the same by PCA" in body
