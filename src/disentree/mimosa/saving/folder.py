"""A fitted MIMOSA on disk: safetensors for numbers, JSON for the rest. `loading` reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from disentree._version import __version__
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.density.candidate import Choice, LeafCandidate, NoLeaf, Product
from disentree.mimosa.density.chart import Chart
from disentree.mimosa.density.framed import Frame, InnerLeaf
from disentree.mimosa.density.gaussians import Mixture
from disentree.mimosa.density.margins import Margins, MonotoneMap
from disentree.mimosa.density.mixture_leaf import GatedLeaf, MixtureLeaf, Space
from disentree.mimosa.density.parts import JoinedLeaf, PartLeaf, Parts
from disentree.mimosa.density.product import Cell, ProductCandidate, ProductSpace
from disentree.mimosa.density.sheet import Sheet
from disentree.mimosa.density.structureless import Gaussian, MarginsGaussian
from disentree.mimosa.density.tiles import Along, Leaf, Tile
from disentree.mimosa.finders.flats.sheets import SheetLeaf
from disentree.mimosa.mixed.branches import Branch, Names
from disentree.mimosa.mixed.evidence import Existence, UsualCells
from disentree.mimosa.mixed.imputation import Imputation
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.mixed.nesting import Switch
from disentree.mimosa.mixed.presence import Presence
from disentree.mimosa.saving.model_card import write_card
from disentree.mimosa.saving.state import from_state, to_state
from disentree.mimosa.stability.stability import Stability
from disentree.mimosa.tree.steering import Split, Steering
from disentree.mimosa.watching.update import Kept
from disentree.tables import Codec
from disentree.utils.files import atomic_path, json_text, sealed, sha256_of
from disentree.utils.versions import build_commit

FORMAT = 4  # of a saved MIMOSA
CLASSES = ("MIMOSA", "PaperMIMOSA")  # that can be saved
ABOUT, NUMBERS, REPRESENTATION = "mimosa.json", "mimosa.safetensors", "representation.safetensors"
# What a fitted model is made of; nothing else is made from a file.
PARTS = {
    part.__name__: part
    for part in (
        *(LeafCandidate, Leaf, Tile, Along, Chart, MixtureLeaf, GatedLeaf, Space, Mixture, Margins, MonotoneMap),
        *(Parts, PartLeaf, JoinedLeaf),
        *(Columns, Gaussian, MarginsGaussian, SheetLeaf, Sheet, Frame, InnerLeaf),
        *(NoLeaf, ProductCandidate, ProductSpace, Cell, Product, Choice),
        *(Reach, Existence, UsualCells, Kept),
        *(TableModel, Codec, Hierarchy, Imputation, Presence, Switch, Branch, Names, Stability, Steering, Split),
    )
}


def table_to_json(table: TableModel) -> dict[str, Any]:
    """A table's model as JSON alone, arrays as lists."""
    arrays: dict[str, np.ndarray] = {}
    state = to_state(table, arrays, "table")
    lists = {name: [str(a.dtype), list(a.shape), a.ravel().tolist()] for name, a in arrays.items()}
    return {"state": state, "arrays": lists}


def table_from_json(about: Mapping[str, Any]) -> TableModel:
    """What `table_to_json` gave."""
    lists = about["arrays"].items()
    arrays = {name: np.array(values, dtype=dtype).reshape(shape) for name, (dtype, shape, values) in lists}
    return from_state(about["state"], arrays, PARTS)


def save_mimosa(model: Any, folder: Path) -> None:
    """Write a fitted estimator into a folder."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}
    about = _about(model, arrays)
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
        numbers.write_bytes(save(arrays))
        model.representation_.save(representation)
        about["sha256"] = {NUMBERS: sha256_of(numbers), REPRESENTATION: sha256_of(representation)}
        text.write_text(json_text(sealed(about)), encoding="utf-8")
    for k, inside in enumerate(getattr(model, "split_models_", [])):
        save_mimosa(inside, folder / inside_folder(k))
    write_card(model, folder)


def inside_folder(k: int) -> str:
    """Of the model that was fitted to the rows of a leaf that was split."""
    return f"split{k + 1}"


def _about(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if (name := type(model).__name__) not in CLASSES:
        raise ValueError(f"only {' and '.join(CLASSES)} can be saved, got {name}")
    if getattr(model, "transformer_", None) is not None:
        advice = "save that by its own means, and fit MIMOSA to what its transform gives"
        raise ValueError(f"a MIMOSA with a transformer as representation cannot be saved: {advice}")
    own = ("dimension", "parent", "parents", "center", "spread")
    components = [{name: getattr(c, name) for name in own} for c in model.components_]
    fitted = {name: getattr(model, name) for name in model._saved if hasattr(model, name)}
    return {
        "format": FORMAT,
        "class": name,
        "version": __version__,
        "commit": build_commit(),
        "parameters": {name: _plain(name, value) for name, value in model.get_params(deep=False).items()},
        "shape": list(model.shape_),
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": list(getattr(model, "feature_names_in_", [])),
        "hierarchy": model.hierarchy_.to_dict(),
        "plain_hierarchy": model.plain_hierarchy_.to_dict(),
        "components": to_state(components, arrays, "components"),
        "fitted": to_state(fitted, arrays, "fitted"),
    }


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
