"""Reading a saved MIMOSA: whatever its files hold, either a model that can be used or one sentence.

Nothing is believed that a file says: checksums, known names, the types and shapes of the annotations, indices that
exist, and at last a few rows of the model's own, which it must be able to place, describe and encode.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from disentree._version import __version__
from disentree.errors import DamagedFile
from disentree.hierarchy import Hierarchy
from disentree.mimosa.saving.folder import (
    ABOUT,
    FORMAT,
    NUMBERS,
    PARTS,
    REPRESENTATION,
    inside_folder,
)
from disentree.mimosa.saving.state import from_state
from disentree.mimosa.saving.types import check_fields
from disentree.mimosa.tree.component import Component
from disentree.rows import sampled
from disentree.utils.files import check_is_file, damage_told, read_document, sha256_of


class _About(BaseModel):
    """``mimosa.json``."""

    model_config = ConfigDict(strict=True)

    parameters: dict[str, Any]
    shape: list[PositiveInt]
    n_features_in: PositiveInt | None
    feature_names_in: list[str | int]
    hierarchy: dict[str, Any]
    plain_hierarchy: dict[str, Any]
    components: Any
    fitted: Any


def load_mimosa(folder: Path, classes: Sequence[type[Any]]) -> Any:
    """Read what `save_mimosa` wrote as one of some classes, or raise an error that says what is missing or
    damaged."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    for name in (ABOUT, NUMBERS, REPRESENTATION):
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder} holds no saved MIMOSA: it has no {name}")
        check_is_file(folder / name)
    about = read_document(folder / ABOUT, {FORMAT})
    if about["format"] != FORMAT:
        which = "is new to" if about["format"] > FORMAT else "was dropped before"
        by = f"was saved by disentree {about.get('version')}, in a format that {which} this {__version__}"
        raise ValueError(f"{folder} {by}: fit the model again")
    with damage_told(folder / ABOUT):
        checksums = {name: about["sha256"][name] for name in (NUMBERS, REPRESENTATION)}
        by_name, name = {cls.__name__: cls for cls in classes}, about["class"]
        if not isinstance(name, str):
            raise TypeError("its class must be a name")
    for file, checksum in checksums.items():
        if sha256_of(folder / file) != checksum:
            raise DamagedFile(f"{folder / file} is cut short or damaged: its checksum differs")
    if name not in by_name:
        raise ValueError(f"{folder} holds a {name[:60]}, not a {classes[0].__name__}")
    with damage_told(folder / NUMBERS):
        from safetensors.numpy import load_file

        arrays = load_file(folder / NUMBERS)
    with damage_told(folder / ABOUT):
        model = _restored(by_name[name], _About(**about), arrays, folder / REPRESENTATION)
        steering = getattr(model, "steering_", None)
        n_inside = 0 if steering is None else len(steering.splits)
    if steering is not None:
        model.split_models_ = [load_mimosa(folder / inside_folder(k), classes) for k in range(n_inside)]
    with damage_told(folder / ABOUT):
        _try(model)
    return model


def _restored(cls: type[Any], about: _About, arrays: Mapping[str, np.ndarray], representation: Path) -> Any:
    components, fitted = (from_state(state, arrays, PARTS) for state in (about.components, about.fitted))
    known = cls().get_params()
    parameters = {name: value for name, value in about.parameters.items() if name in known}
    model: Any = cls(**{name: float(value) if value == "inf" else value for name, value in parameters.items()})
    model._check_settings()
    model.shape_ = tuple(about.shape)
    if about.n_features_in is not None:  # images have none
        model.n_features_in_ = about.n_features_in
    if about.feature_names_in:
        model.feature_names_in_ = np.array(about.feature_names_in, dtype=object)
    with damage_told(representation):
        model.representation_ = cls._load_representation(representation)
        check_fields(model.representation_, ("kind", "mean", "weights", "spectrum", "pixel_scale"), "")
    for name in ("hierarchy", "plain_hierarchy"):
        hierarchy = Hierarchy.from_dict(getattr(about, name))
        if hierarchy.root.n_paths != len(components):
            raise ValueError(f"{name} has {hierarchy.root.n_paths} paths for {len(components)} components")
        setattr(model, f"{name}_", hierarchy)
    for name in cls._saved:
        if name in fitted:
            setattr(model, name, fitted[name])
    if (drawn := fitted.get("drawn_")) is not None:  # before samples were kept alone
        model.sample_, model.embedding_ = drawn, model.embedding_[drawn]
        model.features_ = sampled(model.features_, drawn) if model.features_ is not None else None
    check_fields(model, [name for name in cls._saved if name in fitted], "")
    if getattr(model, "table_", None) is not None and len(model.shape_) != 1:
        raise ValueError(f"a row of a table has no shape {model.shape_}")
    model.components_ = _components(model, components)
    return model._completed()


class _Component(BaseModel):
    """What is saved of a component, beside its rows."""

    model_config = ConfigDict(strict=True, arbitrary_types_allowed=True)

    dimension: NonNegativeInt
    parent: NonNegativeInt | None
    parents: list[NonNegativeInt]
    center: np.ndarray
    spread: np.ndarray


def _components(model: Any, saved: Any) -> list[Component]:
    n, out = len(saved), []
    for rows in (model.labels_, model.core_labels_):
        _check_indices(rows, n)
    for c, one in enumerate(_Component(**fields) for fields in saved):
        above = [*one.parents, *([] if one.parent is None else [one.parent])]
        if any(parent >= n or parent == c for parent in above):
            raise ValueError(f"component {c} has no parents {above}")
        rows = c, model.labels_, model.core_labels_
        own = (one.dimension, *rows, one.parent, one.center, one.spread, tuple(one.parents))
        out.append(Component(*own))
        check_fields(out[-1], ("center", "spread"), f"components[{c}]")
    for component in out:  # a tree has no circles
        parent, steps = component.parent, 0
        while parent is not None and steps <= n:
            parent, steps = out[parent].parent, steps + 1
        if steps > n:
            raise ValueError("components enclose each other in a circle")
    n_columns = model.hierarchy_.n_variables
    if any(not 0 <= column < n_columns for one in model.matches_ for column in one):
        raise ValueError(f"matches must be columns from 0 to {n_columns - 1}")
    if getattr(model, "candidates_", None) == []:  # the paper's has none
        raise ValueError("candidates_ must name the one that was chosen")
    return out


def _check_indices(labels: Int[np.ndarray, " n"], n: int) -> None:
    if len(labels) and not (labels.min() >= -1 and labels.max() < n):
        raise ValueError(f"labels must be from -1 to {n - 1}, got {labels.min()} to {labels.max()}")


def _try(model: Any) -> None:
    """Use a model that was read as it will be used, on a row of each leaf of its own."""
    some = np.unique(model.sample_labels_, return_index=True)[1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # about names of columns, which these rows have not
        X = _own_rows(model, some)
        paths = model.predict(X)
        _check_indices(paths, len(model.components_))
        if hasattr(model, "predict_proba"):
            shares, codes = model.predict_proba(X), model.transform(X)
            if shares.shape != (len(some), len(model.components_)) or not len(model.outlier_score(X)) == len(
                codes
            ):
                raise ValueError("it does not describe its own rows")
        model.summary()


def _own_rows(model: Any, some: Int[np.ndarray, " k"]) -> Any:
    """Rows that it was fitted to, as far as they are saved."""
    if (table := getattr(model, "table_", None)) is not None:
        steering = model.steering_
        labels = sampled(model.labels_ if steering is None else steering.labels, model.sample_)
        return table.frame(model.features_[some], model._found_hierarchy, labels[some])
    representation = model.representation_
    if representation.weights.shape[1] != model.embedding_.shape[1]:  # a network or the rows: no way back is known
        return np.zeros((len(some), *model.shape_))
    rows = representation.inverse_transform(model.embedding_[some]) * representation.pixel_scale
    return rows.reshape(len(some), *model.shape_)
