"""What the page shows: the tree, what is known of each variable, and some rows with their codes."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Num

from disentree._version import __version__
from disentree.errors import UserError
from disentree.explorer.features import Features, codec_of_model, without_units
from disentree.explorer.rows import map_to_json, shares
from disentree.explorer.tables import columns_of_codec, columns_of_numbers, presence
from disentree.hierarchy import Hierarchy, Variable
from disentree.hierarchy.code_statistics import code_statistics
from disentree.mimosa.saving.folder import table_from_json
from disentree.runs.models import MODELS
from disentree.runs.report.columns import codec_of, schema_of
from disentree.runs.report.findings import Findings, read_findings
from disentree.runs.report.row_map import RowMap, make_map
from disentree.runs.stages import check_scored
from disentree.runs.steps.describing import read_map
from disentree.runs.steps.structure import TABLE
from disentree.tables import Codec

if TYPE_CHECKING:
    from disentree.runs.run import Run

ROWS_PER_PATH = 12
MOST_ROWS = 400
MOST_BYTES = 3_000_000  # of rows that a page carries
_ABOUT_DATA = ("name", "kind", "shape", "feature_names", "center", "scale")


@dataclass(frozen=True)
class Explored:
    """One or two models of the same data, and rows to show them with.

    Attributes
    ----------
    title : str
        Heading of the page.
    kind : {"series", "images", "table"}
        Kind of the data.
    shape : tuple of int
        Shape of one row of X.
    models : tuple
        The fitted models.
    names : tuple of str
        Their names.
    statistics : tuple of dict
        `code_statistics` of each model's codes.
    notes : tuple of str
        A line about each model.
    X : ndarray or None
        Rows, as the models take them.
    rows : tuple of int
        Their numbers in the data.
    feature_names : tuple of str
        Names of the columns of a table.
    center, scale : tuple of float or None
        Columns of X times `scale` plus `center` are in the units of the file.
    what_rows : str
        How the page calls a row.
    commands : tuple of str
        The commands that made the runs.
    columns : tuple of dict
        The columns of a table, as `disentree.explorer.tables` gives them.
    findings : tuple of Findings
        Names, reasons and support of each model's tree; none if nothing is known.
    shares : tuple of dict or None
        How many rows are on each path of each model; None takes those of `statistics`.
    maps : tuple of RowMap or None
        Where rows lie in two dimensions, and the leaves of each model's tree that they are on.
    presence : tuple of dict or None
        What exists on which branch of each model's tree.
    """

    title: str
    kind: str  # of the data: "series", "images" or "table"
    shape: tuple[int, ...]
    models: tuple[Any, ...]
    names: tuple[str, ...]  # of the models
    statistics: tuple[dict[str, Any], ...]  # of each model's codes
    notes: tuple[str, ...] = ()  # a line about each model
    X: Num[np.ndarray, "n ..."] | None = None  # a few rows, as the models take them
    rows: tuple[int, ...] = ()  # their numbers in the data
    feature_names: tuple[str, ...] = ()
    center: tuple[float, ...] | None = None  # columns of X times scale plus center are in their own units
    scale: tuple[float, ...] | None = None
    what_rows: str = "held-out row"
    commands: tuple[str, ...] = field(default=())
    columns: tuple[dict[str, Any], ...] = ()
    findings: tuple[Findings, ...] = ()
    shares: tuple[dict[str, Any] | None, ...] = ()
    maps: tuple[RowMap | None, ...] = ()
    presence: tuple[dict[str, Any] | None, ...] = ()

    def codes(self) -> list[Float[np.ndarray, "n v"]]:
        """The codes of the rows, by each model.

        Returns
        -------
        list of ndarray
        """
        if self.X is None:
            return [np.zeros((0, model.hierarchy_.n_variables)) for model in self.models]
        return [np.asarray(model.transform(self.X), dtype=np.float64) for model in self.models]

    def to_json(self) -> dict[str, Any]:
        """Everything that the page shows, except the networks.

        Returns
        -------
        dict
            Ready for JSON.
        """
        codes = self.codes()
        return {
            "version": __version__,
            "title": self.title,
            "data": {"kind": self.kind, "shape": list(self.shape), **self._units(), **self._range()},
            "rows": {
                "what": self.what_rows,
                "numbers": list(self.rows),
                "X": None if self.X is None else _packed(self.X),
            },
            "models": [
                {
                    "name": name,
                    "note": note,
                    "variables": variables(model.hierarchy_, self.findings[i] if self.findings else None),
                    "statistics": statistics,
                    "shares": self.shares[i] if self.shares else None,
                    "map": self._map(i),
                    "presence": self.presence[i] if self.presence else None,
                    "verdict": self.findings[i].stability.get("verdict", "") if self.findings else "",
                    "codes": [[None if np.isnan(v) else float(f"{v:.9g}") for v in row] for row in own],
                }
                for i, (model, name, note, statistics, own) in enumerate(zip(
                    self.models, self.names, self.notes or [""] * len(self.models), self.statistics, codes,
                    strict=True,
                ))
            ],
        }  # fmt: skip

    def _map(self, i: int) -> dict[str, Any] | None:
        found = self.maps[i] if self.maps else None
        return None if found is None else map_to_json(found, self.models[i].hierarchy_)

    def _units(self) -> dict[str, Any]:
        return {
            "names": list(self.feature_names),
            "columns": list(self.columns),
            "center": None if self.center is None else list(self.center),
            "scale": None if self.scale is None else list(self.scale),
        }

    def _range(self) -> dict[str, Any]:
        """Of values to draw, in the units that the page shows; and the unit of a pixel."""
        layer = getattr(self.models[0], "input_", None)
        top = float(getattr(layer, "pixel_scale", 1.0))
        if self.kind == "images":
            return {"low": 0.0, "high": top if layer is not None or self.X is None else float(self.X.max() or 1)}
        shown = self.X if self.X is not None else self.models[0].inverse_transform(_middles(self))
        shown = np.asarray(shown, dtype=np.float64)
        out: dict[str, Any] = {}
        if self.kind == "table" and self.scale is None:  # bars are drawn in deviations from the mean
            spread = shown.std(axis=0)
            out["middle"] = shown.mean(axis=0).tolist()
            out["spread"] = np.where(spread > 0, spread, 1.0).tolist()
        if self.scale is not None and self.center is not None:
            shown = shown * np.array(self.scale) + np.array(self.center)
        low, high = float(shown.min()), float(shown.max())
        return {**out, "low": low, "high": high if high > low else low + 1.0}


def variables(hierarchy: Hierarchy, findings: Findings | None = None) -> list[dict[str, Any]]:
    """The columns of codes for the page.

    The id of each is its name in the hierarchy, or its number where names are not unique; it is shown by the name
    that findings give it.
    """
    names = Counter(v.name for v in hierarchy.variables)
    out = []
    for v in hierarchy.variables:
        about: dict[str, Any] = {
            "id": v.name if names[v.name] == 1 and v.name and v.name[0] not in "_#" else f"#{v.index}",
            "name": v.name,
            "kind": v.kind,
            "parent": v.parent,
            "option": v.option,
            "depth": v.depth,
            "options": list(v.options),
        }
        if findings is not None:
            about |= _told(v, findings)
        out.append(about)
    return out


def _told(v: Variable, findings: Findings) -> dict[str, Any]:
    """What findings say about a variable: its shown name, and reasons and support of its options."""
    name = findings.variable_name(v.name)
    if v.kind == "continuous":
        paths = range(len(findings.hierarchy.paths))
        still = [p for p in paths if findings.is_still(v.name, p)]
        return {"name": name, "text": findings.moves.get(v.name, {}).get("text", ""), "still": still}
    if not findings.says_something(v.name):
        name = "Which group?"
    return {
        "name": name,
        "options": [findings.option_name(v.name, option) for option in v.options],
        "reasons": [findings.reason(v.name, option) for option in v.options],
        "support": [findings.option_support(v.index, k) for k in range(v.n_options)],
        "own_support": findings.factor_support(v.name),
    }


def _middles(explored: Explored) -> Float[np.ndarray, "n v"]:
    """A code half way along every variable, on every path that rows are on."""
    hierarchy, statistics = explored.models[0].hierarchy_, explored.statistics[0]
    categorical = np.flatnonzero(hierarchy.is_categorical)
    codes = np.full((max(1, len(statistics["paths"])), hierarchy.n_variables), np.nan)
    for row, path in zip(codes, statistics["paths"], strict=False):
        row[categorical] = [np.nan if k is None else k for k in path["choices"]]
        for column, about in path["variables"].items():
            row[int(column)] = about["percentiles"][1]
    if not statistics["paths"]:
        codes = hierarchy.sample(1)
    return codes


def _packed(X: Num[np.ndarray, "n ..."]) -> dict[str, str]:
    """Rows as the page reads them: bytes where they are whole numbers of one byte, else floats."""
    flat = X.reshape(len(X), -1)
    small = flat.size and flat.min() >= 0 and flat.max() <= 255 and (flat == np.rint(flat)).all()
    array = flat.astype(np.uint8) if small else flat.astype("<f8" if X.dtype == np.float64 else "<f4")
    kind = {"u1": "uint8", "f8": "float64", "f4": "float32"}[array.dtype.str[1:]]
    return {"dtype": kind, "base64": base64.b64encode(array.tobytes()).decode("ascii")}


# ------------------------------------------------------------------ from a run, from a model


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
    samples = run.read_npz("samples.npz", "X", "rows")
    test = run.read_npz("labels.npz", "test")["test"]
    if len(samples["rows"]) and samples["rows"].max() >= len(test):
        raise UserError(
            f"{run.folder / 'samples.npz'} is damaged: it has rows that were not held out: {run.advice}"
        )
    center, scale = about["center"], about["scale"]
    model = _model_of(run, device)
    X, keep = samples["X"], _that_fit(samples["X"])
    if about["kind"] == "series" and scale is not None:  # they are kept in the units of the file
        X = (X - np.array(center)) / np.array(scale)
    first = Explored(
        title=about["name"],
        kind=about["kind"],
        shape=tuple(about["shape"]),
        models=(model,),
        names=(run.folder.name or about["name"],),
        statistics=(_statistics_of(run),),
        notes=(_note(run),),
        X=X[keep],
        rows=tuple(int(row) for row in test[samples["rows"][keep]]),
        feature_names=tuple(about["feature_names"]),
        center=center,
        scale=scale,
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
    return replace(
        first,
        models=first.models + second.models,
        names=names,
        statistics=first.statistics + second.statistics,
        notes=first.notes + second.notes,
        commands=first.commands + second.commands,
        findings=first.findings + second.findings,
        shares=first.shares + second.shares,
        maps=first.maps + second.maps,
        presence=first.presence + second.presence,
    )


def _about_rows(run: Run, hierarchy: Hierarchy) -> dict[str, Any]:
    """What a run knows about its rows and about its tree, as attributes of `Explored`."""
    about = run.about_data
    findings = read_findings(run, hierarchy)
    known = hierarchy == run.hierarchy  # flat models have trees of their own
    table = table_from_json(run.read_json(TABLE)) if known and (run.folder / TABLE).is_file() else None
    codec = codec_of(about["table"]) if table is None else table.codec
    columns: list[dict[str, Any]] = []
    if about["kind"] == "table":
        names, units = tuple(about["feature_names"]), (about["center"], about["scale"])
        columns = columns_of_numbers(names, *units, schema_of(about["table"]))
        if codec is not None and codec.feature_names == names:
            columns = columns_of_codec(codec)
    return {
        "columns": tuple(columns),
        "findings": (findings,),
        "shares": (shares(hierarchy, run.read_npz("labels.npz", "labels")["labels"]) if known else None,),
        "maps": (read_map(run, len(hierarchy.paths)) if known else None,),
        "presence": (None if table is None else presence(table, hierarchy),),
    }


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
    names = _feature_names(model, codec, X, feature_names)
    if X is None:
        statistics = getattr(model, "code_statistics_", None)
        if statistics is None:
            raise ValueError(f"this {name} has no statistics of its codes: give rows, as in explore(model, X)")
        rows, shape = None, tuple(int(n) for n in model.input_.shape)
        keep: Int[np.ndarray, " m"] = np.zeros(0, dtype=np.int64)
        found = None
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
        models=(without_units(model),),
        names=(name,),
        statistics=(statistics,),
        X=None if rows is None else rows[keep],
        rows=tuple(int(row) for row in keep),
        feature_names=names,
        center=center,
        scale=scale,
        what_rows="row",
        columns=tuple(columns_of_numbers(names, center, scale) if codec is None else columns_of_codec(codec)),
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


def _statistics_of(run: Run) -> dict[str, Any]:
    learned = run.codes("learned")
    assert learned is not None
    return code_statistics(learned[1], learned[0])


def _model_of(run: Run, device: str) -> Any:
    if run.config.model not in MODELS:
        raise UserError(f"{run.folder} has a model {run.config.model!r} that this disentree {__version__} lacks")
    return run.model(device)


def _check_same_data(run: Run, other: Run) -> None:
    a, b = run.about_data, other.about_data
    for name in _ABOUT_DATA:
        if a[name] != b[name]:
            raise UserError(f"{run.folder} and {other.folder} are not runs of the same data: their {name} differs")
    if run.config.digest != other.config.digest:
        raise UserError(f"{run.folder} and {other.folder} are not runs of the same data: their file differs")


def _note(run: Run) -> str:
    metrics = run.metrics
    parts = [_class_name(run), f"{metrics['n_test']:,} rows held out"]
    if "r4c" in metrics["scores"]:
        parts.append(f"R4c {metrics['scores']['r4c']:.3f}")
    own = metrics["scores_without_truth"]
    parts.append(f"reconstruction R² {own['reconstruction_r2']:.4f}")
    return " · ".join(parts)


def _class_name(run: Run) -> str:
    return MODELS[run.config.model].class_name
