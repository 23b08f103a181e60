"""Stand-ins for MIMOSA and COFHAE that take milliseconds: every path is a flat, found by linear algebra."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import load_file, save_file

from disentree import Hierarchy
from disentree.cofhae.preprocessor import Preprocessor


class FakeMIMOSA:
    """Two leaves: rows below and above 0 in their mean."""

    table_ = None
    representation = "given"

    def fit(self, X, codec=None):
        self.codec = codec
        two = [{"name": "low", "variables": []}, {"name": "high", "variables": [{"kind": "continuous"}]}]
        tree = [{"kind": "continuous"}, {"kind": "categorical", "options": two}]
        self.hierarchy_ = self.plain_hierarchy_ = Hierarchy.from_dict({"variables": tree})
        self.labels_ = self.predict(X)
        self.core_labels_ = np.where(np.arange(len(X)) % 10 == 0, -1, self.labels_)
        sizes = np.bincount(self.labels_, minlength=2)
        self.components_ = [
            SimpleNamespace(dimension=d + 1, size=n, parent=None, parents=()) for d, n in enumerate(sizes)
        ]
        self.description_length_ = 42.0
        self.lost_, self.matches_ = [], []
        self.timings_ = {"components": 0.001}
        return self

    def predict(self, X):
        X = np.asarray(X) if self.codec is None else self.codec.features(self.codec.read(X))
        return (X.reshape(len(X), -1).mean(axis=1) > X.mean()).astype(np.int64)

    def set_params(self, **settings):
        return self

    def stability(self, n_resamples, *, X, checkpoint):
        return FakeStability(self.hierarchy_, n_resamples)

    def save(self, folder):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / "mimosa.json").write_text(self.hierarchy_.to_json())
        for name in ("mimosa", "representation"):
            save_file({"nothing": np.zeros(1)}, Path(folder) / f"{name}.safetensors")

    @classmethod
    def load(cls, folder):
        model = cls()
        model.hierarchy_ = Hierarchy.from_json((Path(folder) / "mimosa.json").read_text())
        model.plain_hierarchy_, model.matches_ = model.hierarchy_, []
        return model


class FakeStability:
    """All came back."""

    tree = 1.0

    def __init__(self, hierarchy, n_resamples):
        self.hierarchy, self.n_resamples = hierarchy, n_resamples

    def to_dict(self):
        names = [(v.name, option) for v in self.hierarchy.variables for option in v.options]
        branches = [{"categorical": name, "option": option, "support": 1.0} for name, option in names]
        components = [{"path": p.index, "support": 1.0} for p in self.hierarchy.paths]
        about = {"n_resamples": self.n_resamples, "tree": 1.0, "verdict": "Every group came back."}
        return {**about, "components": components, "branches": branches, "factors": []}


class FakeModel:
    """A mean and principal directions for each path; a row is on the path whose flat it is nearest to."""

    preprocessor_ = Preprocessor()

    def __init__(self, epochs=3, **settings):
        self.epochs = epochs
        self.settings = settings

    quick = paper = classmethod(lambda cls, images=False, **settings: cls(**settings))

    def fit(self, X, hierarchy, paths, preprocessor=None, mimosa=None):
        self.hierarchy_, self.shape = hierarchy, X.shape[1:]
        flat = X.reshape(len(X), -1).astype(np.float64)
        self.means, self.bases = [], []
        for path in hierarchy.paths:
            here = flat[paths == path.index]
            mean = here.mean(axis=0)
            self.means.append(mean)
            self.bases.append(np.linalg.svd(here - mean, full_matrices=False)[2][: path.dimension])
        self.history_ = [{"epoch": e + 1, "loss": 1 / (e + 1), "seconds": 0.0} for e in range(self.epochs)]
        return self

    def transform(self, X):
        flat = X.reshape(len(X), -1)
        parts = [(flat - m) @ b.T for m, b in zip(self.means, self.bases, strict=True)]
        back = [m + p @ b for m, b, p in zip(self.means, self.bases, parts, strict=True)]
        # one flat may lie in another: rounding must not choose between them
        extra = [1e-20 * path.dimension for path in self.hierarchy_.paths]
        off = [((flat - b) ** 2).sum(axis=1) + e for b, e in zip(back, extra, strict=True)]
        chosen = np.argmin(off, axis=0)
        codes = np.full((len(X), self.hierarchy_.n_variables), np.nan)
        for path, part in zip(self.hierarchy_.paths, parts, strict=True):
            rows = np.flatnonzero(chosen == path.index)
            codes[np.ix_(rows, np.array(path.continuous, dtype=int))] = part[rows]
            for column, option in path.choices:
                codes[rows, column] = option
        return codes

    def inverse_transform(self, codes):
        out = np.zeros((len(codes), int(np.prod(self.shape))))
        paths = self.hierarchy_.path_of(codes)
        for path, mean, basis in zip(self.hierarchy_.paths, self.means, self.bases, strict=True):
            rows = paths == path.index
            out[rows] = mean + codes[rows][:, list(path.continuous)] @ basis
        return out.reshape(len(codes), *self.shape)

    def in_features(self):
        return self

    def save(self, folder):
        arrays = {f"mean{i}": m for i, m in enumerate(self.means)}
        arrays |= {f"basis{i}": np.ascontiguousarray(b) for i, b in enumerate(self.bases)}
        save_file(arrays, Path(folder) / "model.safetensors")
        about = {"hierarchy": self.hierarchy_.to_dict(), "shape": self.shape, "history": self.history_}
        (Path(folder) / "model.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder, device="auto"):
        about = json.loads((Path(folder) / "model.json").read_text())
        arrays = load_file(Path(folder) / "model.safetensors")
        model = cls()
        model.hierarchy_ = Hierarchy.from_dict(about["hierarchy"])
        model.shape, model.history_ = tuple(about["shape"]), about["history"]
        n_paths = len(model.hierarchy_.paths)
        model.means = [arrays[f"mean{i}"] for i in range(n_paths)]
        model.bases = [arrays[f"basis{i}"] for i in range(n_paths)]
        return model
