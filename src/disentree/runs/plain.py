"""Models with `fit` and `transform` and no more: trained and scored on the rows of a run, without its folder."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.metrics import evaluate
from disentree.runs.config import RunConfig
from disentree.runs.data import load_data, split_rows
from disentree.runs.models import find_model, makes_runs


def is_plain(name: str) -> bool:
    """Whether a model is one of a user that does not make runs."""
    model = find_model(name)
    return model.kind == "own" and not makes_runs(model.load_class())


def score_plain(config: RunConfig, metrics: Sequence[str]) -> dict[str, Any]:
    """Scores of the codes of held-out rows. The model is given the true hierarchy if its `fit` takes one."""
    data = load_data(config)
    if data.codes is None or data.hierarchy is None:
        raise UserError(f"{config.source} has no ground truth to score {config.model} against")
    train, test = split_rows(config, len(data))
    given = {"random_state": config.seed, **({"epochs": config.epochs} if config.epochs else {})}
    cls = find_model(config.model).load_class()
    known = _parameters(cls)
    model = cls(**{name: value for name, value in given.items() if name in known}, **config.model_settings)
    structure = {"hierarchy": data.hierarchy, "paths": data.hierarchy.path_of(data.codes[train])}
    model.fit(
        data.X[train], **{name: value for name, value in structure.items() if name in _parameters(model.fit)}
    )
    Z = np.asarray(model.transform(data.X[test]))
    tree = getattr(model, "hierarchy_", None) or Hierarchy.flat(Z.shape[1])
    truth = data.codes[test]
    return evaluate(truth, Z, data.hierarchy, tree, metrics=list(metrics), random_state=config.seed, n_jobs=1)[
        "scores"
    ]


def _parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters)
