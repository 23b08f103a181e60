"""Labels for the rows of a data set, by MIMOSA or by a rival, and how right they are."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from disentree.datasets import load_dataset
from disentree.hierarchy import Hierarchy
from disentree.metrics import evaluate, h_error, purity_score
from disentree.mimosa import MIMOSA
from disentree.studies.running.battery_data import read_set
from disentree.studies.running.constants import changed_constants, without
from disentree.studies.running.readability import readability
from disentree.studies.running.rivals import OPTIONAL, RIVALS, cluster, run_rival
from disentree.studies.running.task import Task


def label_rows(task: Task) -> tuple[dict[str, Any], float]:
    """What the table shows of a task that labels rows, and the seconds of processor time that it took."""
    config = task.config
    if config.kind == "file":
        return _label_set(task)
    if task.method == "mimosa-table":
        return readability(config.source, config.seed)
    ds = load_dataset(config.source, config.n_samples, seed=config.seed, **config.options)
    X, true = _numbers(ds.X), ds.paths
    assert task.method is not None
    assert true is not None
    start = time.process_time()
    if task.method.startswith("mimosa"):
        placement = "down" if task.method == "mimosa-down" else "auto"
        with changed_constants(task.constants), without(task.without):
            m = MIMOSA(random_state=config.seed, n_jobs=1, placement=placement).fit(X)
            values, labels = _by_mimosa(m, ds.hierarchy), m.labels_
            if "explanation" in task.extras:
                values["explanation"] = zlib.crc32(str(m.explain()).encode())
            if "placement" in task.extras and ds.hierarchy is not None and ds.codes is not None:
                values |= _placement(m, X, ds.codes, ds.hierarchy)
    else:
        labels = cluster(task.method, X, int(true.max()) + 1, config.seed)
        if labels is None:
            return {"note": f"not run on {len(X):,} rows: it would take too long, or too much memory"}, 0.0
        values = {"components": len(np.unique(labels[labels >= 0]))}
    seconds = time.process_time() - start
    return {"n_rows": len(X), "true_components": int(true.max()) + 1, **values, **agreement(true, labels)}, seconds


def _label_set(task: Task) -> tuple[dict[str, Any], float]:
    """The same for a set of the battery: the best agreement with one of its reference labelings. Rivals that are
    told the number of clusters are told that of each."""
    assert task.method is not None
    folder, seed = Path(task.config.options["folder"]), task.config.seed
    X, references = read_set(folder, task.config.source)
    start = time.process_time()
    about: dict[str, Any] = {}
    if task.method == "mimosa":
        m = MIMOSA(random_state=seed, n_jobs=1).fit(X)
        found = {0: m.labels_}
        about = {"finder": m.candidates_[0]["finder"], "saved_bits": round(m.saved_bits_, 4)}
    else:
        told = {**RIVALS, **OPTIONAL}[task.method].told
        numbers = sorted({int(true.max()) for true in references}) if told else [0]
        found = {k: run_rival(task.method, X, k, seed) for k in numbers}
    seconds = time.process_time() - start
    scored = []
    for true in references:
        labels, kept = found.get(int(true.max()), found[min(found)]), true > 0  # 0 is noise
        scored.append((agreement(true[kept], labels[kept])["ari"], int(true.max()), len(np.unique(labels))))
    ari, true_components, components = max(scored)
    values = {"n_rows": len(X), "n_columns": X.shape[1], "references": len(references)}
    values |= {"true_components": true_components, "components": components, "ari": ari}
    return {**values, **about}, seconds


def _numbers(X: Any) -> Any:
    """Rows as an array, and a table with categories as it is."""
    mixed = hasattr(X, "select_dtypes") and X.select_dtypes(exclude="number").shape[1] > 0
    return X if mixed else np.asarray(X, dtype=np.float64)


def agreement(true: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index and purity; rows that a rival calls noise are a cluster of their own."""
    return {
        "ari": round(float(adjusted_rand_score(true, labels)), 4),
        "purity": round(float(purity_score(true, labels - labels.min())), 4),
    }


def _placement(m: MIMOSA, X: Any, codes: np.ndarray, hierarchy: Hierarchy) -> dict[str, Any]:
    """Where variables stand beside where they should, and what that does to scores of the codes."""
    Z = m.transform(X)
    scores = evaluate(codes, Z, hierarchy, m.hierarchy_, metrics=("r4", "r4c", "placement_error"), n_jobs=1)[
        "scores"
    ]
    n_found, n_true = (int((~h.is_categorical).sum()) for h in (m.hierarchy_, hierarchy))
    return {**scores, "variables": n_found, "true_variables": n_true}


def _by_mimosa(m: MIMOSA, hierarchy: Hierarchy | None) -> dict[str, Any]:
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
    return values
