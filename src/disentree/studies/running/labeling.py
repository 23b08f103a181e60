"""Labels for the rows of a data set, by MIMOSA or by a rival, and how right they are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from disentree.datasets import load_dataset
from disentree.metrics import h_error, purity_score
from disentree.mimosa import MIMOSA
from disentree.studies.running.rivals import cluster
from disentree.studies.running.task import Task


def label_rows(task: Task) -> tuple[dict[str, Any], float]:
    """What the table shows of a task that labels rows, and the seconds of processor time that it took."""
    config = task.config
    ds = load_dataset(config.source, config.n_samples, seed=config.seed, **config.options)
    X, true = np.asarray(ds.X, dtype=np.float64), ds.paths
    assert task.method is not None
    assert true is not None
    start = time.process_time()
    if task.method == "mimosa":
        with changed_constants(task.constants):
            values, labels = _by_mimosa(X, ds.hierarchy, config.seed)
    else:
        labels = cluster(task.method, X, int(true.max()) + 1, config.seed)
        if labels is None:
            return {"note": f"not run on {len(X):,} rows: it would take too long, or too much memory"}, 0.0
        values = {"components": len(np.unique(labels[labels >= 0]))}
    seconds = time.process_time() - start
    return {"n_rows": len(X), "true_components": int(true.max()) + 1, **values, **agreement(true, labels)}, seconds


def agreement(true: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index and purity; rows that a rival calls noise are a cluster of their own."""
    return {
        "ari": round(float(adjusted_rand_score(true, labels)), 4),
        "purity": round(float(purity_score(true, labels - labels.min())), 4),
    }


def _by_mimosa(X: np.ndarray, hierarchy: Any, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    m = MIMOSA(random_state=seed, n_jobs=1).fit(X)
    chosen, *others = m.candidates_
    values: dict[str, Any] = {
        "components": len(m.components_),
        "dimensions": sorted(c.dimension for c in m.components_),
        "finder": chosen["finder"],
        "bits": round(chosen["bits"], 4),
        "saved_bits": round(m.saved_bits_, 4),
        "saved_bits_doubt": round(m.saved_bits_doubt_, 4),
        "runner_up": others[0]["finder"] if others else None,
        "runner_up_components": others[0]["components"] if others else None,
        "runner_up_bits": round(others[0]["bits"], 4) if others else None,
    }
    if hierarchy is not None:
        values["h_error"] = float(h_error(hierarchy, m.hierarchy_))
        values["true_dimensions"] = sorted(path.dimension for path in hierarchy.paths)
    return values, m.labels_


@contextmanager
def changed_constants(factors: Mapping[str, float]) -> Iterator[None]:
    """Constants of MIMOSA's modules, given as ``module:NAME``, times a factor; whole numbers stay whole."""
    before = []
    try:
        for place, factor in factors.items():
            module_name, name = place.split(":")
            module = import_module(f"disentree.mimosa.{module_name}")
            value = getattr(module, name)
            before.append((module, name, value))
            changed = value * factor
            setattr(module, name, max(1, round(changed)) if isinstance(value, int) else changed)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
