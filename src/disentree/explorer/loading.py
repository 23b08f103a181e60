"""What the page shows, from a run folder or from a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from disentree.errors import UserError
from disentree.explorer.content import Explored
from disentree.explorer.rows import shares
from disentree.explorer.steering import steering_of
from disentree.explorer.tables import columns_of_codec, columns_of_numbers, presence, with_signs
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.code_statistics import code_statistics
from disentree.mimosa.summary.summary import Summary
from disentree.runs.models import find_model
from disentree.runs.report.findings import read_findings
from disentree.runs.report.row_map import make_map, read_map
from disentree.runs.report.summary import found_by
from disentree.runs.run import Run
from disentree.runs.stages import check_scored
from disentree.tables import Codec, Schema

ROWS_PER_PATH = 12
MOST_ROWS = 400
MOST_BYTES = 3_000_000  # of rows that a page carries
_ABOUT_DATA = ("name", "kind", "shape", "feature_names", "center", "scale")


def from_run(run: Run, other: Run | None = None, device: str = "auto") -> Explored:
    """The content of a run folder.

    Parameters
    ----------
    run : Run
        A finished run.
    other : Run, default=None
        A run of the same data to compare with.
    device : str, default="auto"
        Where the models compute: auto, cpu, cuda or mps.

    Returns
    -------
    Explored
    """
    check_scored(run)
    about = run.about_data
    samples = run.read_npz("samples.npz", "X", "rows", "paths")
    test = run.read_npz("labels.npz", "test")["test"]
    if len(samples["rows"]) and samples["rows"].max() >= len(test):
        raise run.damaged("samples.npz", "it has rows that were not held out")
    center, scale = about["center"], about["scale"]
    model, (codes, tree) = run.model(device), run.learned
    X, keep = samples["X"], _that_fit(samples["X"])
    if about["kind"] == "series" and scale is not None:  # they are kept in the units of the file
        X = (X - np.array(center)) / np.array(scale)
    first = Explored(
        title=about["name"],
        kind=about["kind"],
        shape=tuple(about["shape"]),
        models=(model,),
        names=(run.folder.name or about["name"],),
        statistics=(code_statistics(tree, codes),),
        notes=(_note(run),),
        X=X[keep],
        paths=(samples["paths"][keep] if run.is_assigned else None,),
        rows=tuple(int(row) for row in test[samples["rows"][keep]]),
        feature_names=tuple(about["feature_names"]),
        center=None if center is None else tuple(center),
        scale=None if scale is None else tuple(scale),
        commands=(run.about["command"],),
        **_about_rows(run, model.hierarchy_),
    )
    if other is None:
        return first
    second = from_run(other, device=device)
    _check_same_data(run, other)
    names = (first.names[0], second.names[0])
    if names[0] == names[1]:
        names = (f"{names[0]} (1)", f"{names[1]} (2)")
    both = (
        "models",
        "paths",
        "statistics",
        "notes",
        "commands",
        "found",
        "divisions",
        "findings",
        "shares",
        "maps",
        "presence",
    )
    return replace(
        first, names=names, steering=None, **{name: getattr(first, name) + getattr(second, name) for name in both}
    )


def _about_rows(run: Run, hierarchy: Hierarchy) -> dict[str, Any]:
    """What a run knows about its rows and about its tree, as attributes of `Explored`."""
    about = run.about_data
    findings = read_findings(run, hierarchy)
    known = hierarchy == run.hierarchy  # flat models have trees of their own
    table = getattr(run.mimosa, "table_", None) if known and about["kind"] == "table" else None
    columns: list[dict[str, Any]] = []
    if about["kind"] == "table":
        names, units, schema = tuple(about["feature_names"]), (about["center"], about["scale"]), about["table"]
        columns = columns_of_numbers(names, *units, None if schema is None else Schema.from_dict(schema))
        codec = None if table is None else table.codec
        if codec is None and schema is not None and "flags" in schema:  # tables of plain numbers have no codec
            codec = Codec.from_dict(schema)
        if codec is not None and codec.feature_names == names:
            columns = columns_of_codec(codec)
    found = read_map(run, len(hierarchy.paths)) if known else None
    is_ours = known and run.config.structure == "mimosa"
    summary = found_by(run.structure, findings, run.paths) if known else None
    return {
        "steering": steering_of(run, hierarchy, findings, run.paths) if is_ours else None,
        "columns": tuple(with_signs(columns, found)),
        "findings": (findings,),
        "found": (() if summary is None else tuple(summary.sentences),),
        "divisions": (() if summary is None else _by_weight(hierarchy, summary),),
        "shares": (shares(hierarchy, run.paths) if known else None,),
        "maps": (found,),
        "presence": (None if table is None else presence(table, hierarchy),),
    }


def _by_weight(hierarchy: Hierarchy, summary: Summary) -> tuple[int, ...]:
    """The columns of the categoricals, the one that matters most first; none if that is not known."""
    columns = [v.index for v in hierarchy.variables if v.kind == "categorical"]
    weights = [division.weight for _, division in summary.divisions()]
    if not any(weights):
        return ()
    return tuple(column for _, column in sorted(zip(weights, columns, strict=True), key=lambda one: -one[0]))


def from_model(
    model: Any,
    X: Any = None,
    *,
    title: str = "",
    feature_names: Sequence[str] = (),
) -> Explored:
    """The content for a trained model.

    Parameters
    ----------
    model : COFHAE or baseline
        A fitted model.
    X : array or DataFrame, default=None
        Rows, which give the ranges of the variables and examples to look at. Without them the ranges are the
        model's own `code_statistics_`, stored by training.
    title : str, default=""
        Heading of the page; the name of the model's class if empty.
    feature_names : sequence of str, default=()
        Names of the columns of X; those of a DataFrame are known, and stay with columns of any kind.

    Returns
    -------
    Explored
    """
    hierarchy, name = model.hierarchy_, type(model).__name__
    codec, preprocessor = codec_of_model(model), model.preprocessor_
    names, by_mimosa = _feature_names(model, codec, X, feature_names), getattr(model, "mimosa_", None) is not None
    if X is None:
        statistics = getattr(model, "code_statistics_", None)
        if statistics is None:
            raise ValueError(f"this {name} has no statistics of its codes: give rows, as in explore(model, X)")
        rows, shape = None, tuple(int(n) for n in model.input_.shape)
        keep: Int[np.ndarray, " m"] = np.zeros(0, dtype=np.int64)
        found = codes = None
    else:
        codes = model.transform(X)
        statistics = code_statistics(hierarchy, codes)
        features = Features.of(model, X, is_table=bool(names))
        rows, shape = features.X, features.X.shape[1:]
        keep = _that_fit(rows, _some_of_each(hierarchy, codes))
        found = make_map(rows, hierarchy.path_of(codes), features.cells)
    if names and list(shape) != [len(names)]:
        raise ValueError(f"feature_names must name every column of X: got {len(names)} for {shape}")
    center, scale, table = preprocessor.center, preprocessor.scale, preprocessor.table
    return Explored(
        title=title or name,
        kind="images" if len(shape) > 1 else "table" if names else "series",
        shape=tuple(shape),
        models=(model.in_features(),),
        names=(name,),
        statistics=(statistics,),
        X=None if rows is None else rows[keep],
        paths=(hierarchy.path_of(codes)[keep] if codes is not None and by_mimosa else None,),
        rows=tuple(int(row) for row in keep),
        feature_names=names,
        center=center,
        scale=scale,
        what_rows="row",
        columns=tuple(
            with_signs(
                columns_of_numbers(names, center, scale) if codec is None else columns_of_codec(codec), found
            )
        ),
        maps=(found,),
        presence=(None if table is None else presence(table, hierarchy),),
    )


def _feature_names(model: Any, codec: Codec | None, X: Any, given: Sequence[str]) -> tuple[str, ...]:
    """Of the columns that the networks take; none for data that is no table."""
    if codec is not None:
        return codec.feature_names
    if model.preprocessor_.names:
        return model.preprocessor_.names
    if len(given):
        return tuple(given)
    columns = X.columns if hasattr(X, "columns") else getattr(model, "feature_names_in_", ())
    return tuple(str(column) for column in columns)


def _some_of_each(hierarchy: Hierarchy, codes: Float[np.ndarray, "n v"]) -> Int[np.ndarray, " m"]:
    path = hierarchy.path_of(codes)
    return np.concatenate([np.flatnonzero(path == p)[:ROWS_PER_PATH] for p in np.unique(path)])


def _that_fit(X: Num[np.ndarray, "n ..."], rows: Int[np.ndarray, " m"] | None = None) -> Int[np.ndarray, " k"]:
    """Those of the rows that a page can carry, spread over all of them."""
    rows = np.arange(len(X)) if rows is None else rows
    each = max(1, math.prod(X.shape[1:]) * (1 if X.dtype == np.uint8 else X.dtype.itemsize))
    n = max(1, min(MOST_ROWS, MOST_BYTES // each))
    return rows if len(rows) <= n else rows[np.linspace(0, len(rows) - 1, n).astype(int)]


def _check_same_data(run: Run, other: Run) -> None:
    a, b = run.about_data, other.about_data
    differ = [name for name in _ABOUT_DATA if a[name] != b[name]]
    if differ or run.config.digest != other.config.digest:
        what = differ[0] if differ else "file"
        raise UserError(f"{run.folder} and {other.folder} are not runs of the same data: their {what} differs")


def _note(run: Run) -> str:
    metrics = run.metrics
    parts = [find_model(run.config.model).class_name, f"{metrics['n_test']:,} rows held out"]
    if "r4c" in metrics["scores"]:
        parts.append(f"R4c {metrics['scores']['r4c']:.3f}")
    return " · ".join([*parts, f"reconstruction R² {metrics['scores_without_truth']['reconstruction_r2']:.4f}"])


def codec_of_model(model: Any) -> Codec | None:
    """The way from a data frame to the features of a fitted model; None if it takes numbers without a gap."""
    return model.preprocessor_.mixed


@dataclass(frozen=True)
class Features:
    """Rows of a user as a model's networks take them."""

    X: Num[np.ndarray, "n ..."]
    # Of a table, in its units and in the order of the page's columns: places of levels for categories, NaN if
    # empty.
    cells: Float[np.ndarray, "n c"] | None

    @classmethod
    def of(cls, model: Any, X: Any, is_table: bool) -> Features:
        """The features of rows of the same kind as in `fit`; `is_table` if their columns have names."""
        codec, preprocessor = codec_of_model(model), model.preprocessor_
        if codec is not None:
            cells = codec.read(X)
            categories = np.where(cells.categories < 0, np.nan, cells.categories)
            return cls(codec.features(cells), np.concatenate([cells.numbers, categories], axis=1))
        rows = np.asarray(preprocessor.to_features(X))
        if rows.dtype.kind in "bO":  # columns of a frame that are numbers all the same
            rows = rows.astype(np.float64)
        if not is_table or rows.ndim != 2:
            return cls(rows, None)
        cells = rows.astype(np.float64)
        if preprocessor.scale is not None and preprocessor.center is not None:
            cells = cells * np.array(preprocessor.scale) + np.array(preprocessor.center)
        return cls(rows, cells)
