"""The rows of the data as the page shows them: shares of the leaves, and a map in two dimensions."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.hierarchy import Hierarchy
from disentree.runs.report.row_map import RowMap


def choices_of(hierarchy: Hierarchy, path: int) -> list[int | None]:
    """The option of every categorical on a path, None where it is not active."""
    chosen = dict(hierarchy.paths[path].choices)
    return [chosen.get(v.index) for v in hierarchy.variables if v.kind == "categorical"]


def shares(hierarchy: Hierarchy, labels: Int[np.ndarray, " n"]) -> dict[str, Any]:
    """How many rows there are, and the choices and the rows of each path that has some."""
    found, counts = np.unique(labels[labels >= 0], return_counts=True)
    paths = [
        {"choices": choices_of(hierarchy, int(p)), "n_rows": int(n)} for p, n in zip(found, counts, strict=True)
    ]
    return {"n_rows": len(labels), "paths": paths}


def map_to_json(found: RowMap, hierarchy: Hierarchy) -> dict[str, Any]:
    """A map for the page: arrays as base64 of float32; paths are places in ``leaves``, the choices of those that
    occur."""
    leaves = np.unique(found.paths[found.paths >= 0])
    places = np.searchsorted(leaves, found.paths)
    return {
        "n_rows": found.n_rows,
        "rows": found.rows.tolist(),
        "positions": _packed(found.positions),
        "explained": [round(float(e), 4) for e in found.explained],
        "leaves": [choices_of(hierarchy, int(p)) for p in leaves],
        "paths": np.where(found.paths < 0, -1, places).tolist(),
        "cells": _packed(found.cells.T),  # column by column
    }


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
