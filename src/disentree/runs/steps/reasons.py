"""The stage that says why the tree branches where it does, and gives names to branches and variables.

``names.json`` is made once and then belongs to the user: a run that is repeated or goes on leaves it as it is,
unless it still is what an earlier version of this stage proposed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from disentree.cofhae.explain import explain_variables
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import with_names
from disentree.mimosa.explain.columns import Columns, read_columns
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.reasons import explain_tree, with_lost
from disentree.runs.models import find_model
from disentree.runs.options import StageOptions
from disentree.runs.run import Run
from disentree.tables import Codec

MOST_ROWS = 20_000  # that variables are explained by
EXPLANATION, NAMES = "explanation.json", "names.json"


def explain_run(run: Run, options: StageOptions) -> str:
    """Write the reasons, and names if there are none yet."""
    found = explain_structure(run)
    if run.config.model == "cofhae":
        found = replace(found, variables=_variables(run, options))
        for about in found.variables:
            if about["label"] != about["name"]:
                found.names["variables"][about["name"]] = about["label"]
    proposed = _names_in(run, EXPLANATION)
    own = run.read_json(NAMES) if (run.folder / NAMES).is_file() else None
    run.write_json(EXPLANATION, found.to_dict())
    if own is None or own == proposed:
        run.write_json(NAMES, found.names)
    told = sum(bool(split["columns"]) for split in found.splits)
    return f"{told} of {len(found.splits)} branches have a reason" if found.splits else "one leaf"


def explain_structure(run: Run) -> Explanation:
    """The reasons for the tree of a run, by its training rows in the units of its data."""
    rows = run.read_npz("labels.npz", "train", "labels")
    columns = data_columns(run)
    train = None if columns is None else columns.take(rows["train"])  # images have no columns
    found, structure = explain_tree(train, run.hierarchy, rows["labels"]), run.structure
    return with_lost(found, run.hierarchy, structure["lost"], structure["matches"])


def _variables(run: Run, options: StageOptions) -> list[dict[str, Any]]:
    """What each variable of the model does, by some of the training rows."""
    data, rows = run.data, run.read_npz("labels.npz", "train")["train"][:MOST_ROWS]
    in_features = run.model(options.device)
    codes = in_features.transform(data.X[rows])
    columns = data_columns(run)
    if columns is None:
        return explain_variables(in_features.hierarchy_, codes, in_features.inverse_transform, None, read_columns)
    in_units = find_model(run.config.model).load_class().load(run.folder, device=options.device)

    def read(decoded: Any) -> Columns:
        if data.frame is not None:
            return read_columns(decoded, codec=data.codec or Codec(data.schema) if data.schema else None)
        return read_columns(decoded, columns.number_names)

    hierarchy = in_features.hierarchy_
    return explain_variables(hierarchy, codes, in_units.inverse_transform, columns.take(rows), read)


def data_columns(run: Run) -> Columns | None:
    """The columns of all rows of a run; None for images."""
    data = run.data
    if data.frame is not None:
        return read_columns(data.frame, codec=data.codec)
    if data.X.ndim > 2:
        return None
    X = data.X
    if data.scale is not None and data.center is not None:
        X = X * data.scale + data.center
    names = list(data.feature_names) or None
    if names is None and data.columns is not None:  # some columns of the file were left out
        names = [f"x{j + 1}" for j in data.columns]
    return read_columns(X, names, are_named=bool(data.feature_names))


# -------------------------------------------------------------------- names


class _Names(BaseModel):
    """``names.json``."""

    model_config = ConfigDict(extra="allow")

    variables: dict[str, str] = {}
    options: dict[str, dict[str, str]] = {}


def read_names(run: Run) -> dict[str, Any]:
    """The names in ``names.json``, by the names in ``hierarchy.json``; empty if there is no such file.

    Raises
    ------
    UserError
        If it is not of the form ``{"variables": {"c1": "garage"}, "options": {"c1": {"branch1": "no garage"}}}``.
    """
    if not (run.folder / NAMES).is_file():
        return {"variables": {}, "options": {}}
    try:
        return _Names.model_validate(run.read_json(NAMES)).model_dump()
    except ValidationError:
        form = '{"variables": {"c1": "garage"}, "options": {"c1": {"branch1": "no garage"}}}'
        raise UserError(f"{run.folder / NAMES} must be of the form {form}, with names as text") from None


def named_hierarchy(run: Run, hierarchy: Hierarchy | None = None) -> Hierarchy:
    """The tree of a run with the names that ``names.json`` gives.

    Parameters
    ----------
    run : Run
    hierarchy : Hierarchy, default=None
        The tree with the names of ``hierarchy.json``; None for the run's.

    Returns
    -------
    Hierarchy
    """
    return with_names(run.hierarchy if hierarchy is None else hierarchy, read_names(run))


def _names_in(run: Run, name: str) -> Any:
    """The names that this stage proposed before; None if it did not, or its file cannot be read."""
    try:
        about = run.read_json(name)
    except UserError:
        return None
    return about.get("names") if isinstance(about, dict) else None
