"""What the page shows: the tree, what is known of each variable, and some rows with their codes."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from disentree._version import __version__
from disentree.explorer.rows import map_to_json
from disentree.hierarchy import Hierarchy, Variable
from disentree.runs.report.findings import Findings
from disentree.runs.report.row_map import RowMap


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
    paths : tuple of ndarray or None
        The path that each of these rows is on, for each model; None, or none at all, where its encoder says it.
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
    found : tuple of tuple of str
        What was found in each model's tree, in three sentences; none if nothing is known.
    divisions : tuple of tuple of int
        The columns of each model's categoricals, the one that matters most first; none if that is not known.
    findings : tuple of Findings
        Names, reasons and support of each model's tree; none if nothing is known.
    shares : tuple of dict or None
        How many rows are on each path of each model; None takes those of `statistics`.
    maps : tuple of RowMap or None
        Where rows lie in two dimensions, and the leaves of each model's tree that they are on.
    presence : tuple of dict or None
        What exists on which branch of each model's tree.
    steering : dict or None
        Coarser trees than that of the only model, and what a user may do to it, as `steering_of` gives it.
    """

    title: str
    kind: str
    shape: tuple[int, ...]
    models: tuple[Any, ...]
    names: tuple[str, ...]
    statistics: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()
    X: Num[np.ndarray, "n ..."] | None = None
    paths: tuple[Int[np.ndarray, " n"] | None, ...] = ()
    rows: tuple[int, ...] = ()
    feature_names: tuple[str, ...] = ()
    center: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    what_rows: str = "held-out row"
    commands: tuple[str, ...] = ()
    columns: tuple[dict[str, Any], ...] = ()
    found: tuple[tuple[str, ...], ...] = ()
    divisions: tuple[tuple[int, ...], ...] = ()
    findings: tuple[Findings, ...] = ()
    shares: tuple[dict[str, Any] | None, ...] = ()
    maps: tuple[RowMap | None, ...] = ()
    presence: tuple[dict[str, Any] | None, ...] = ()
    steering: dict[str, Any] | None = None

    def codes(self) -> list[Float[np.ndarray, "n v"]]:
        """The codes of the rows, by each model.

        Returns
        -------
        list of ndarray
        """
        if self.X is None:
            return [np.zeros((0, model.hierarchy_.n_variables)) for model in self.models]
        given = [*self.paths, *[None] * len(self.models)]
        return [
            np.asarray(
                model.transform(self.X) if paths is None else model.transform(self.X, paths=paths), np.float64
            )
            for model, paths in zip(self.models, given, strict=False)
        ]

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
            "steering": self.steering,
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
                    "assigned": any(paths is not None for paths in self.paths[i : i + 1]),
                    "variables": variables(model.hierarchy_, self.findings[i] if self.findings else None),
                    "statistics": statistics,
                    "shares": self.shares[i] if self.shares else None,
                    "map": map_to_json(found, model.hierarchy_) if self.maps and (found := self.maps[i]) else None,
                    "presence": self.presence[i] if self.presence else None,
                    "found": list(self.found[i]) if self.found else [],
                    "divisions": list(self.divisions[i]) if self.divisions else [],
                    "codes": [[None if np.isnan(v) else float(f"{v:.9g}") for v in row] for row in own],
                }
                for i, (model, name, note, statistics, own) in enumerate(zip(
                    self.models, self.names, self.notes or [""] * len(self.models), self.statistics, codes,
                    strict=True,
                ))
            ],
        }  # fmt: skip

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
