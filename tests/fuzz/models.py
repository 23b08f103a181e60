"""Folders of saved models: bits that flip, and files that someone has changed and sealed again."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disentree import COFHAE, MIMOSA
from disentree.datasets import load_dataset
from fuzz.driver import Failure, Target, damaged
from fuzz.folders import MARK, STRANGE, places_in, replaced_at, seal_again


class Models(Target):
    """Models of both kinds, of arrays and of tables, of which every try gets a copy. Files are changed, and vouch
    for each other again."""

    name = "models"
    flips = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows: dict[str, Any] = {}
        self.expected: dict[str, list[np.ndarray]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, (model, X) in _models().items():
                model.save(folder / "good" / name)
                self.rows[name], self.expected[name] = X, answers(model, X)

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        name = str(rng.choice(list(self.rows)))
        copy = shutil.copytree(self.folder / "good" / name, folder / name)
        if self.flips:
            flip_a_bit(copy, rng)
        else:
            for _ in range(int(rng.choice([1, 1, 1, 2]))):
                harm = HARMS[rng.integers(len(HARMS))]
                harm(copy, rng)
            seal_again(copy)
        model = load(MIMOSA if "mimosa" in name else COFHAE, copy)
        if model is None:
            return False
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = answers(model, self.rows[name])
            if self.flips and not all(_same(*both) for both in zip(found, self.expected[name], strict=True)):
                raise Failure(f"{name} gives other answers with a flipped bit and nothing is said")
            use(model, self.rows[name])
            model.save(folder / "again")
        if load(type(model), folder / "again") is None:
            raise Failure(f"{name} was read, and what it saved was not")
        return True


class Flipped(Models):
    """One bit of one file of a model is another one."""

    name = "flipped"
    flips = True


def _models() -> dict[str, tuple[Any, Any]]:
    """Fitted models by names, and rows of theirs."""
    rng, n = np.random.default_rng(0), 240
    kind = rng.integers(3, size=n)
    blobs = 5 * rng.normal(size=(3, 4))[kind] + 0.3 * rng.normal(size=(n, 4))
    sticks = load_dataset("chopsticks-depth2-slope", 200, seed=0, length=12)
    frame = pd.DataFrame({
        "kind": np.where(kind == 0, "house", "flat"),
        "area": rng.lognormal(4, 0.3, n),
        "garden": np.where(kind == 0, rng.normal(100, 20, n), np.nan),
        "rooms": rng.integers(1, 6, n),
        "day": pd.date_range("2020", periods=n),
    })  # fmt: skip
    of_blobs = MIMOSA(n_jobs=1).fit(blobs)
    network = COFHAE(epochs=1, hidden=(4,), device="cpu")
    return {
        "mimosa of sticks": (MIMOSA(n_jobs=1).fit(sticks.X), sticks.X[:9]),
        "mimosa of a table": (MIMOSA(n_jobs=1).fit(frame), frame[:9]),
        "mimosa cut": (of_blobs.cut(n_leaves=2), blobs[:9]),
        "mimosa of the paper": (MIMOSA.paper(representation="given").fit(sticks.X[:, :3]), sticks.X[:9, :3]),
        "network": (network.fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths), sticks.X[:9]),
        "maps of a table": (COFHAE(device="cpu", mimosa=MIMOSA(n_jobs=1)).fit(frame), frame[:9]),
    }


# ------------------------------------------------------------------ using


def load(cls: Any, folder: Path) -> Any:
    """The model, or None if it was refused with a sentence that names its folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return cls.load(folder)
    except (ValueError, OSError) as error:
        text = str(error)
        if str(folder) not in text or len(text.splitlines()) != 1 or len(text) > 1000:
            raise Failure(f"no sentence: {type(error).__name__}: {text[:500]}") from None
        return None


def answers(model: Any, X: Any) -> list[np.ndarray]:
    """What must be the same bits, or not be said."""
    out = [model.transform(X), model.predict_proba(X)] if hasattr(model, "transform") else []
    if hasattr(model, "predict"):
        return [model.predict(X), *out, *([model.outlier_score(X)] if out else [])]
    codes = out[0]
    usable = (np.isfinite(codes) | ~model.hierarchy_.active(codes)).all(axis=1)  # as `apply` asks
    decoded = model.inverse_transform(codes[usable])
    return [*out, decoded.to_numpy(dtype=str) if hasattr(decoded, "columns") else decoded]


def use(model: Any, X: Any) -> None:
    """Everything else that can be done with a model that was loaded."""
    if hasattr(model, "predict"):
        model.summary(), model.to_networkx(), model.factors_, model.lost_, model.explain(X)
        if hasattr(model, "levels_"):
            model.cut(n_leaves=1), model.codes_
    else:
        codes = model.transform(X)
        if (np.isfinite(codes) | ~model.hierarchy_.active(codes)).all():  # else rows are too far out to be encoded
            model.explain(X), model.predict_path(X)
    model.get_feature_names_out(), model.verdict_ if hasattr(model, "verdict_") else None, repr(model)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


# ------------------------------------------------------------------ harm


def flip_a_bit(folder: Path, rng: np.random.Generator) -> None:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".safetensors"))
    path = files[rng.integers(len(files))]
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def change_json(folder: Path, rng: np.random.Generator) -> None:
    """A value somewhere is another one, or a key is gone or new."""
    path = _one_of(folder, ".json", rng)
    value = _read(path)
    if value is None:
        return
    top = list(value)[rng.integers(len(value))] if isinstance(value, dict) and value else None
    places = list(places_in(value)) if top is None else [(top, *rest) for rest in places_in(value[top])]
    place, strange = places[rng.integers(len(places))], STRANGE[rng.integers(len(STRANGE))]

    def change(old: Any) -> Any:
        if isinstance(old, dict) and old and rng.random() < 0.5:
            return {k: v for k, v in old.items() if k != list(old)[rng.integers(len(old))]} | {"new": strange}
        if isinstance(old, list) and old and rng.random() < 0.5:
            return [*old, *old] if rng.random() < 0.5 else old[:-1]
        if isinstance(old, str) and rng.random() < 0.3:
            return MARK + old
        if isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.7:
            return type(old)(rng.choice([-old, old + 1, min(old * 1000, 2**60), 0]))
        return strange

    path.write_text(json.dumps(replaced_at(value, place, change)), errors="surrogatepass")


def change_parameters(folder: Path, rng: np.random.Generator) -> None:
    """Names that a file must not set, and sizes that take all memory or time."""
    path = _one_of(folder, ".json", rng)
    value = _read(path)
    if not isinstance(value, dict) or not isinstance(value.get("parameters"), dict):
        return
    outside = str(folder.parent / "outside")
    changes: list[dict[str, Any]] = [
        {"checkpoint": outside}, {"events": outside}, {"tensorboard": outside}, {"callbacks": [1]},
        {"hidden": [30_000, 30_000]}, {"hidden": [8] * 200_000}, {"hidden": [2**40]}, {"n_jobs": "x"},
        {"discriminator": [30_000] * 40}, {"encoder": "sharp"}, {"activation": "x"}, {"representation": 5},
    ]  # fmt: skip
    value["parameters"] |= changes[rng.integers(len(changes))]
    path.write_text(json.dumps(value))


def deep_json(folder: Path, rng: np.random.Generator) -> None:
    texts = ["[" * 100_000, '{"format": 4, "x": ' + "9" * 6000 + "}", '{"a":' * 90_000 + "1", "[]", "{}", "null"]
    _one_of(folder, ".json", rng).write_text(texts[rng.integers(len(texts))])


def change_tree(folder: Path, rng: np.random.Generator) -> None:
    """A tree with more paths than there are numbers in a computer."""
    path = _one_of(folder, ".json", rng)
    value = _read(path)
    if isinstance(value, dict):
        two = [{"variables": []}, {"variables": []}]
        value["hierarchy"] = {"variables": [{"kind": "categorical", "options": two}] * 60}
        path.write_text(json.dumps(value))


def change_numbers(folder: Path, rng: np.random.Generator) -> None:
    """An array of another shape, type or content."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = _one_of(folder, ".safetensors", rng)
    try:
        with safe_open(path, framework="numpy") as file:
            arrays, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    except Exception:  # it was harmed before
        return
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    changed: list[Callable[[], np.ndarray]] = [
        lambda: array[:-1] if array.ndim else np.zeros(3),
        lambda: array.reshape(-1),
        lambda: np.zeros(0),
        lambda: array.astype("f4") if array.dtype != np.float32 else array.astype("f8"),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full_like(array, -5),
        lambda: np.full_like(array, 10**9),
        lambda: np.full(array.shape, 1e300),
        lambda: np.full(array.shape, np.inf),
        lambda: array[::-1],
        lambda: np.zeros_like(array),
        lambda: np.concatenate([array, array]) if array.ndim else array,
    ]
    arrays[name] = np.ascontiguousarray(changed[rng.integers(len(changed))]())
    if rng.random() < 0.1:
        del arrays[name]
    if about and "about" in about:
        inner = json.loads(about["about"])
        inner.pop("sha256", None)  # which files of older versions have not
        about = {"about": json.dumps(inner)}
    save_file(arrays, path, metadata=about)


def damage_numbers(folder: Path, rng: np.random.Generator) -> None:
    path = _one_of(folder, ".safetensors", rng)
    path.write_bytes(damaged(path.read_bytes(), rng))


HARMS = [change_json] * 6 + [change_numbers] * 3 + [change_parameters, deep_json, change_tree, damage_numbers]


def _one_of(folder: Path, ending: str, rng: np.random.Generator) -> Path:
    files = sorted(folder.rglob(f"*{ending}"))
    return files[rng.integers(len(files))]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # it was harmed before
        return None
