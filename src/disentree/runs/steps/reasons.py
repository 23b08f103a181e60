"""The stage that says why the tree branches where it does, and gives names to branches and variables.

``names.json`` is made once and then belongs to the user: a run that is repeated or goes on leaves it as it is,
unless it still is what an earlier version of this stage proposed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from disentree.cofhae.explain import explain_variables
from disentree.errors import UserError
from disentree.mimosa.explain.columns import Columns, read_columns
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.reasons import explain_tree, with_lost
from disentree.mimosa.tree.lost_enclosures import lost_enclosures
from disentree.runs.files.schemas import EXPLANATION, NAMES
from disentree.runs.models import load_model
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.tables import Codec

MOST_ROWS = 20_000  # that variables are explained by


def explain_run(run: Run, options: StageOptions) -> str:
    """Write the reasons, and names if there are none yet."""
    found = explain_structure(run)
    variables = _variables(run, options)
    proposed = _names_in(run, EXPLANATION)
    own = run.read_json(NAMES) if (run.folder / NAMES).is_file() else None
    run.write_json(EXPLANATION, replace(found, variables=variables).to_dict())
    if own is None or own == proposed:
        run.write_json(NAMES, found.names)
    told = sum(bool(split["columns"]) for split in found.splits)
    return f"{told} of {len(found.splits)} branches have a reason" if found.splits else "one leaf"


def explain_structure(run: Run) -> Explanation:
    """The reasons for the tree of a run, by its rows in the units of its data: those of `MIMOSA.explain`."""
    hierarchy, structure = run.hierarchy, run.structure
    table = getattr(run.mimosa, "table_", None)
    columns = data_columns(run, None if table is None else table.codec)  # images have none
    found = explain_tree(columns, hierarchy, run.paths)
    lost, matches, move = structure["lost"], structure["matches"], run.move
    if move is not None:
        lost = lost_enclosures(hierarchy, [component["parents"] for component in structure["components"]])
        matches = [columns for one in matches if len(columns := move.columns(one)) > 1]
    return with_lost(found, hierarchy, lost, matches)


def _variables(run: Run, options: StageOptions) -> list[dict[str, Any]]:
    """What each variable of a model that follows the tree does, by some of the training rows."""
    data, rows = run.data, run.read_npz("labels.npz", "train")["train"][:MOST_ROWS]
    in_features = run.model(options.device)
    if in_features.hierarchy_ != run.hierarchy:  # a flat model
        return []
    codes = run.encode(in_features, rows)
    columns = data_columns(run)
    if columns is None:
        return explain_variables(run.hierarchy, codes, in_features.inverse_transform, None, read_columns)
    decode = load_model(run.config.model, run.folder, options.device).inverse_transform
    columns = columns.take(rows)
    read = partial(read_columns, names=columns.number_names)
    if data.frame is not None:
        read = partial(read_columns, codec=data.codec or Codec(data.schema) if data.schema else None)
    return explain_variables(run.hierarchy, codes, decode, columns, read)


def data_columns(run: Run, codec: Codec | None = None) -> Columns | None:
    """The columns of all rows of a run; None for images. `codec` is what MIMOSA has learned about them."""
    data = run.data
    if data.frame is not None:
        return read_columns(data.frame, codec=codec or data.codec)
    if data.X.ndim > 2:
        return None
    X = data.X
    if data.scale is not None and data.center is not None:
        X = X * data.scale + data.center
    names = list(data.feature_names) or None
    if names is None and data.columns is not None:  # some columns of the file were left out
        names = [f"x{j + 1}" for j in data.columns]
    return read_columns(X, names, are_named=bool(data.feature_names))


def _names_in(run: Run, name: str) -> Any:
    """The names that this stage proposed before; None if it did not, or its file cannot be read."""
    try:
        about = run.read_json(name)
    except UserError:
        return None
    return about.get("names") if isinstance(about, dict) else None
