"""A fitted MIMOSA on disk: safetensors for numbers, JSON for the rest."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from disentree._version import __version__
from disentree.hierarchy import Hierarchy
from disentree.mimosa.assign import Sheet
from disentree.mimosa.component import Component
from disentree.utils.files import atomic_path, json_text, sha256_of
from disentree.utils.versions import build_commit

FORMAT = 1  # of a saved MIMOSA
CLASSES = ("MIMOSA", "PaperMIMOSA")  # that can be saved
ABOUT, NUMBERS, REPRESENTATION = "mimosa.json", "mimosa.safetensors", "representation.safetensors"
ARRAYS = ("embedding", "labels", "core_labels", "local_dimensions")  # fitted attributes, without the underscore


def save_mimosa(model: Any, folder: Path) -> None:
    """Write a fitted estimator into a folder."""
    from safetensors.numpy import save

    about = _about(model)
    if not (folder / ABOUT).exists():
        for name in (NUMBERS, REPRESENTATION):
            if (folder / name).exists():
                raise FileExistsError(f"{folder} has a {name} of something else: choose another folder")
    # All is written before any file takes its name, mimosa.json last.
    with (
        atomic_path(folder / ABOUT) as text,
        atomic_path(folder / REPRESENTATION) as representation,
        atomic_path(folder / NUMBERS) as numbers,
    ):
        numbers.write_bytes(save({name: np.ascontiguousarray(array) for name, array in _arrays(model).items()}))
        model.representation_.save(representation)
        about["sha256"] = {NUMBERS: sha256_of(numbers), REPRESENTATION: sha256_of(representation)}
        text.write_text(json_text(about), encoding="utf-8")


def load_mimosa(folder: Path, classes: Sequence[type[Any]]) -> Any:
    """Read what `save_mimosa` wrote as one of some classes, or raise an error that says what is missing or
    damaged."""
    from safetensors.numpy import load_file

    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    for name in (ABOUT, NUMBERS, REPRESENTATION):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} holds no saved MIMOSA: it has no {name}")
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] > FORMAT:
            newer = f"was saved by disentree {about.get('version')}, in a format that is new to this {__version__}"
            raise ValueError(f"{folder} {newer}")
        for name in (NUMBERS, REPRESENTATION):
            if sha256_of(folder / name) != about["sha256"][name]:
                raise ValueError(f"{folder / name} is cut short or damaged: its checksum differs")
        by_name = {cls.__name__: cls for cls in classes}
        if about["class"] not in by_name:
            raise ValueError(f"{folder} holds a {about['class']}, not a {classes[0].__name__}")
        return _restore(by_name[about["class"]], about, load_file(folder / NUMBERS), folder / REPRESENTATION)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{folder / ABOUT} is cut short or damaged ({error!r})") from None


def _about(model: Any) -> dict[str, Any]:
    if (name := type(model).__name__) not in CLASSES:
        raise ValueError(f"only {' and '.join(CLASSES)} can be saved, got {name}")
    about = {
        "format": FORMAT,
        "class": name,
        "version": __version__,
        "commit": build_commit(),
        "parameters": {name: _plain(name, value) for name, value in model.get_params(deep=False).items()},
        "shape": list(model.shape_),
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
        "hierarchy": model.hierarchy_.to_dict(),
        "components": [
            {"dimension": c.dimension, "parent": c.parent, "curved": sheet.curved}
            for c, sheet in zip(model.components_, model.sheets_, strict=True)
        ],
        "tolerance": model.tolerance_,
        "description_length": model.description_length_,
        "timings": model.timings_,
    }
    return about | ({"n_pieces": model.n_pieces_} if hasattr(model, "n_pieces_") else {})


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it; JSON has no infinity, which is saved by its name."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} cannot be saved, being {value!r}: "
            f"predict does not need it any more, so set_params({name}=None) helps"
        ) from None
    return value


def _arrays(model: Any) -> dict[str, np.ndarray]:
    arrays = {name: getattr(model, f"{name}_") for name in ARRAYS}
    arrays["centers"] = np.stack([c.center for c in model.components_])
    arrays["spreads"] = np.stack([c.spread for c in model.components_])
    if (noise := model.sheets_[0].noise) is not None:
        arrays["noise"] = noise
    for c, sheet in enumerate(model.sheets_):
        single = (sheet.bases == sheet.bases[0]).all()  # one flat for all
        arrays[f"sheets.{c}.points"] = sheet.points
        arrays[f"sheets.{c}.bases"] = sheet.bases[:1] if single else sheet.bases
    return arrays


def _restore(cls: type[Any], about: dict[str, Any], arrays: dict[str, np.ndarray], representation: Path) -> Any:
    known = cls().get_params()
    parameters = {name: value for name, value in about["parameters"].items() if name in known}
    model: Any = cls(**{name: float(value) if value == "inf" else value for name, value in parameters.items()})
    model.shape_ = tuple(about["shape"])
    if about["n_features_in"] is not None:  # images have none
        model.n_features_in_ = about["n_features_in"]
    if about["feature_names_in"]:
        model.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    model.representation_ = cls._load_representation(representation)
    for name in ARRAYS:
        setattr(model, f"{name}_", arrays[name])
    model.hierarchy_ = Hierarchy.from_dict(about["hierarchy"])
    model.sheets_, model.components_ = [], []
    for c, component in enumerate(about["components"]):
        points, bases = arrays[f"sheets.{c}.points"], arrays[f"sheets.{c}.bases"]
        if len(bases) < len(points):
            bases = np.repeat(bases, len(points), axis=0)
        model.sheets_.append(Sheet(points, bases, component["curved"], arrays.get("noise")))
        rows, core = np.flatnonzero(model.labels_ == c), np.flatnonzero(model.core_labels_ == c)
        place = arrays["centers"][c], arrays["spreads"][c]
        model.components_.append(Component(component["dimension"], rows, core, component["parent"], *place))
    for name in ("tolerance", "description_length", "timings", "n_pieces"):
        if name in about:
            setattr(model, f"{name}_", about[name])
    return model
