"""The stage that reads the data and writes down what it is."""

from __future__ import annotations

import logging
from typing import Any

from disentree.datasets import UserData
from disentree.errors import UserError
from disentree.runs.config import RunConfig
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions

log = logging.getLogger(__name__)

FEWEST_ROWS = 3  # two to learn from, and one that is held out


def prepare_data(run: Run, options: StageOptions) -> str:
    """Read the data, refuse what cannot be used, and write ``data.json``."""
    data = run.data
    check_data(data, run.config)
    for sentence in data.policy:
        log.info("%s", sentence)
    chosen = {"chosen_table": run.config.options["table"]} if "table" in run.config.options else {}
    run.write_json("data.json", {**describe_data(data), **chosen})
    return f"{len(data):,} rows of {'x'.join(map(str, data.X.shape[1:]))}"


def check_data(data: UserData, config: RunConfig) -> None:
    """Refuse data that the run cannot use, before any long work starts."""
    if len(data) < FEWEST_ROWS:
        raise UserError(f"{config.source} has {len(data)} usable rows; at least {FEWEST_ROWS} are needed")
    if config.structure == "true" and not data.has_truth:
        raise UserError(f"{config.source} has no ground truth to take the structure from")


def describe_data(data: UserData) -> dict[str, Any]:
    """What ``data.json`` says: enough to show results in the data's own units and to apply the model to more."""
    what = data.schema if data.codec is None else data.codec
    return {
        "name": data.name,
        "kind": data.kind,
        "n_rows": len(data),
        "shape": list(data.X.shape[1:]),
        "dtype": str(data.X.dtype),
        "policy": list(data.policy),
        "feature_names": list(data.feature_names),
        "table": None if what is None else what.to_dict(),
        "columns": None if data.columns is None else data.columns.tolist(),
        "n_columns": data.n_columns,
        "center": None if data.center is None else data.center.tolist(),
        "scale": None if data.scale is None else data.scale.tolist(),
        "has_truth": data.has_truth,
    }
