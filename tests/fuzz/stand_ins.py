"""Stand-ins for MIMOSA and COFHAE whose codes change with every column, and that take milliseconds."""

from __future__ import annotations

import copy
import json
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import load_file, save_file

from disentree import Hierarchy
from disentree.cofhae.preprocessor import Preprocessor
from disentree.runs import run
from disentree.runs.models import MODELS, Model
from disentree.runs.steps import figures, structure

TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous"},
            {"kind": "categorical", "options": [{"variables": []}, {"variables": []}]},
        ]
    }
)


def weights(n: int) -> np.ndarray:
    """Another weight for each column: columns that change places change the sum."""
    return np.sqrt(np.arange(2, n + 2)) % 1 + 0.25


class QuickMIMOSA:
    """Rows below and above 0."""

    table_ = None
    representation = "given"

    def fit(self, X, codec=None):
        self.codec = codec
        self.hierarchy_ = self.plain_hierarchy_ = TREE
        self.labels_ = self.predict(X)
        self.core_labels_ = self.labels_
        sizes = np.bincount(self.labels_, minlength=2)
        self.components_ = [SimpleNamespace(dimension=1, size=int(n), parent=None, parents=()) for n in sizes]
        self.description_length_, self.timings_ = 1.0, {}
        self.lost_, self.matches_ = [], []
        return self

    def predict(self, X):
        X = np.asarray(X) if self.codec is None else self.codec.features(self.codec.read(X))
        return (X.reshape(len(X), -1) @ weights(int(np.prod(X.shape[1:]))) > 0).astype(np.int64)

    def summary(self):
        return "two halves"

    def set_params(self, **settings):
        return self

    def save(self, folder):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / "mimosa.json").write_text("{}")
        for name in ("mimosa", "representation"):
            save_file({"nothing": np.zeros(1)}, Path(folder) / f"{name}.safetensors")

    @classmethod
    def load(cls, folder):
        model = cls()
        for name in ("mimosa", "representation"):
            load_file(Path(folder) / f"{name}.safetensors")
        model.hierarchy_, model.plain_hierarchy_, model.matches_ = TREE, TREE, []
        return model


class QuickModel:
    """The code of a row is the weighted sum of its columns."""

    def __init__(self, **settings):
        self.history_ = [{"epoch": 1, "loss": 1.0, "seconds": 0.0}]

    quick = paper = classmethod(lambda cls, images=False, **settings: cls(**settings))

    def fit(self, X, hierarchy, paths, preprocessor=None, mimosa=None):
        self.hierarchy_, self.shape = TREE, X.shape[1:]
        self.preprocessor_ = preprocessor or Preprocessor()
        return self

    def transform(self, X):
        X = self.preprocessor_.to_features(X)
        sums = np.asarray(X, dtype=np.float64).reshape(len(X), -1) @ weights(int(np.prod(self.shape)))
        return np.stack([sums, (sums > 0).astype(np.float64)], axis=1)

    def inverse_transform(self, codes):
        direction = weights(int(np.prod(self.shape)))
        features = (codes[:, :1] * direction / (direction @ direction)).reshape(len(codes), *self.shape)
        return self.preprocessor_.from_features(features, TREE, codes)

    def in_features(self):
        plain = copy.copy(self)
        plain.preprocessor_ = Preprocessor()
        return plain

    def save(self, folder):
        save_file({"nothing": np.zeros(1)}, Path(folder) / "model.safetensors")
        about = {"shape": self.shape, "preprocessor": self.preprocessor_.to_dict()}
        (Path(folder) / "model.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder, device="auto"):
        model = cls()
        load_file(Path(folder) / "model.safetensors")
        about = json.loads((Path(folder) / "model.json").read_text())
        model.hierarchy_, model.shape = TREE, tuple(about["shape"])
        model.preprocessor_ = Preprocessor.from_dict(about["preprocessor"])
        return model


@contextmanager
def replaced(place, name, value):
    """An attribute, or the item of a dict, replaced for a while."""
    if isinstance(place, dict):
        before, place[name] = place[name], value
    else:
        before = getattr(place, name)
        setattr(place, name, value)
    try:
        yield
    finally:
        if isinstance(place, dict):
            place[name] = before
        else:
            setattr(place, name, before)


@contextmanager
def quick_models():
    """Runs use the stand-ins."""
    with (
        replaced(MODELS, "cofhae", Model("quick", __name__, "QuickModel", "cofhae")),
        replaced(structure, "make_mimosa", lambda config, options: QuickMIMOSA()),
        replaced(run, "load_mimosa", QuickMIMOSA.load),
    ):
        yield


@contextmanager
def small_pictures():
    """Drawing takes longer than all the rest of a small run."""
    from matplotlib import pyplot

    def draw():
        return pyplot.figure(figsize=(1, 1))

    names = ("tree", "traversals", "reconstructions")
    with replaced(figures, "figures", lambda run, device: dict.fromkeys(names, draw)):
        yield
