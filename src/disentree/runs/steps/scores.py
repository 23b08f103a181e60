"""The stage that scores the model: against the truth where it is known, and without it."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from disentree.hierarchy import Hierarchy
from disentree.metrics import (
    coverage_score,
    dendrogram_purity,
    dependence_scores,
    evaluate,
    h_error,
    matching_accuracy,
    placement_error,
    purity_score,
)
from disentree.runs.run import Run
from disentree.runs.steps.comparison import compare, warning
from disentree.runs.steps.leaves import describe_rows
from disentree.runs.steps.options import StageOptions

log = logging.getLogger(__name__)

FROM_TRUTH = ("r4c", "r4", "purity")
SHOWN_PER_PATH = 12  # rows kept for the figures
SHOWN_PATHS = 24  # the largest: flat models with many categoricals have one for every combination


def score_run(run: Run, options: StageOptions) -> str:
    """Write scores, codes and a few reconstructions of the held-out rows."""
    data, model = run.data, run.model(options.device)
    rows = run.read_npz("labels.npz")
    train, test = rows["train"], rows["test"]
    hierarchy: Hierarchy = model.hierarchy_
    follows_tree = hierarchy == run.hierarchy  # flat models have their own
    X, codes = data.X[test], run.encode(model, test)
    reconstructed = model.inverse_transform(codes)
    result: dict[str, Any] = {"n_train": len(train), "n_test": len(test), "scores": {}, "factors": [], "notes": []}
    run.write_npz("learned.npz", codes=codes, hierarchy=hierarchy.to_json(indent=None))
    if data.codes is not None and data.hierarchy is not None:
        truth = data.codes[test]
        run.write_npz("true.npz", codes=truth, hierarchy=data.hierarchy.to_json(indent=None))
        n_jobs = -1 if options.n_jobs is None else options.n_jobs
        score_against_truth(result, truth, codes, data.hierarchy, hierarchy, run.config.seed, n_jobs)
        if follows_tree:
            result["scores"] |= structure_scores(data.hierarchy.path_of(data.codes[train]), rows)
    if data.labels is not None and follows_tree:
        result["scores"] |= class_scores(data.labels[train], rows, _levels(run) or hierarchy)
        result["classes"] = classes_of_leaves(data.labels[train], rows["labels"], hierarchy)
    own = result["scores_without_truth"] = reconstruction_errors(X, reconstructed)
    if follows_tree:
        own |= agreement(model.transform(data.X[train]), model.transform(X), hierarchy, rows)
    if len(train) > 1:
        own |= compare(model, data.X, train, test, codes, run.config.seed, options.device)
    result["warnings"] = [sentence] if (sentence := warning(own)) else []
    for sentence in result["warnings"]:
        log.warning("%s", sentence.removeprefix("warning: "))
    own["description_length"] = hierarchy.description_length(codes)
    if (mimosa := run.structure["description_length"]) is not None:
        own["mimosa_description_length"] = mimosa
    own |= dependence(result, codes, hierarchy, run.config.seed)
    shown = _some_of_each(hierarchy.path_of(codes))
    if data.kind == "series" and data.scale is not None and data.center is not None:  # in the units of the file
        X, reconstructed = (v * data.scale + data.center for v in (X[shown], reconstructed[shown]))
    else:
        X, reconstructed = X[shown], reconstructed[shown]
    run.write_npz("samples.npz", X=X, X_again=reconstructed, rows=shown, paths=hierarchy.path_of(codes)[shown])
    describe_rows(run, follows_tree)
    run.write_json("metrics.json", json.loads(json.dumps(result, default=np.generic.item)))  # plain numbers
    r4c = result["scores"].get("r4c")
    return f"R4c {r4c:.3f}" if r4c is not None else f"reconstruction R² {own['reconstruction_r2']:.3f}"


def score_against_truth(
    result: dict[str, Any],
    V: Float[np.ndarray, "n v"],
    Z: Float[np.ndarray, "n z"],
    v_hierarchy: Hierarchy,
    z_hierarchy: Hierarchy,
    seed: int,
    n_jobs: int | None = -1,
) -> None:
    trees = {
        "h_error": h_error(v_hierarchy, z_hierarchy),
        "placement_error": placement_error(v_hierarchy, z_hierarchy),
    }
    result["scores"] |= trees
    try:
        found = evaluate(V, Z, v_hierarchy, z_hierarchy, metrics=FROM_TRUTH, random_state=seed, n_jobs=n_jobs)
    except ValueError as error:  # few rows: a true variable may not be active in any of those held out
        result["notes"].append(f"no scores against the truth: {error}")
        return
    scores = found["scores"]
    result["scores"] = {
        "r4c": scores["r4c"],
        "r4": scores["r4"],
        **trees,
        "purity_held_out": scores["purity"],
    }
    result |= {name: found[name] for name in ("factors", "r4_factors", "estimator", "settings")}


def structure_scores(true_paths: Int[np.ndarray, " n"], rows: dict[str, np.ndarray]) -> dict[str, float]:
    """Purity and coverage of the structure on the training rows: of cores as in the paper, and of all rows."""
    return {
        "purity": purity_score(true_paths, rows["core_labels"]),
        "coverage": coverage_score(rows["core_labels"]),
        "purity_all_rows": purity_score(true_paths, rows["labels"]),
    }


def _levels(run: Run) -> list[list[list[int]]]:
    """The paths that are one at each level of the tree, if the search found it."""
    levels = run.structure.get("levels") or []
    return [[leaf["paths"] for leaf in level["leaves"]] for level in levels]


def class_scores(
    labels: Any, rows: dict[str, np.ndarray], tree: Hierarchy | list[list[list[int]]]
) -> dict[str, float]:
    """How well the structure, or its levels, agree with known classes of the training rows, which no stage has
    seen."""
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    known = labels != ""
    if not known.any():
        return {}
    classes = np.unique(labels[known], return_inverse=True)[1]
    mine = {name: rows[name][known] for name in ("labels", "core_labels")}
    leaves = mine["labels"]
    purity = dendrogram_purity(classes, leaves, tree)
    return {
        "class_agreement": float(adjusted_mutual_info_score(classes, leaves)),
        "class_nmi": float(normalized_mutual_info_score(classes, leaves)),
        "class_accuracy": matching_accuracy(classes, leaves),
        **({"dendrogram_purity": purity} if np.isfinite(purity) else {}),
        **structure_scores(classes, mine),
    }


def classes_of_leaves(labels: Any, paths: Int[np.ndarray, " n"], hierarchy: Hierarchy) -> list[dict[str, Any]]:
    """How many training rows of each known class are on each path."""
    out = []
    for path in (hierarchy.paths[int(p)] for p in np.unique(paths[paths >= 0])):
        names, counts = np.unique(labels[(paths == path.index) & (labels != "")], return_counts=True)
        out.append({"path": path.name, "n_rows": dict(zip(map(str, names), map(int, counts), strict=True))})
    return out


def reconstruction_errors(
    X: Num[np.ndarray, "n ..."], reconstructed: Num[np.ndarray, "n ..."]
) -> dict[str, float]:
    """Squared error for each value and for each row (the sum over its values), and the share of the variance
    that is explained. Pixels count from 0 to 1. Of images also the overlap of what is bright in both."""
    unit = 255.0 if X.dtype == np.uint8 else 1.0
    flat = X.reshape(len(X), -1)
    other = reconstructed.reshape(len(X), -1)
    error = spread = 0.0
    mean = flat.mean(axis=0, dtype=np.float64) / unit
    for start in range(0, len(X), 1024):  # images as floats, a block at a time
        block = slice(start, start + 1024)
        x = flat[block].astype(np.float64) / unit
        error += float(((x - other[block] / unit) ** 2).sum())
        spread += float(((x - mean) ** 2).sum())
    overlap = {}
    if X.ndim > 2:
        half = 0.5 * float(flat.max())
        a, b = flat > half, other > half
        both, either = (a & b).sum(axis=1), (a | b).sum(axis=1)
        overlap["reconstruction_overlap"] = float(np.mean(both / np.maximum(either, 1) + (either == 0)))
    return overlap | {
        "reconstruction_mse": error / flat.size,
        "reconstruction_error_per_row": error / len(flat),
        "reconstruction_r2": 1 - error / spread if spread else 0.0,
    }


def agreement(
    train_codes: Float[np.ndarray, "n v"],
    test_codes: Float[np.ndarray, "m v"],
    hierarchy: Hierarchy,
    rows: dict[str, np.ndarray],
) -> dict[str, float]:
    """The share of assigned rows that the encoder by itself puts on the path they were assigned to."""
    out = {}
    for name, codes, labels in (
        ("assignment_agreement", train_codes, rows["labels"]),
        ("assignment_agreement_held_out", test_codes, rows["test_labels"]),
    ):
        assigned = labels >= 0
        if assigned.any():
            out[name] = float((hierarchy.path_of(codes) == labels)[assigned].mean())
    return out


def dependence(
    result: dict[str, Any], codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy, seed: int
) -> dict[str, float]:
    found = dependence_scores(codes, hierarchy, random_state=seed)
    result["dependence"] = [asdict(path) for path in found]
    weights = np.array([path.n_rows for path in found], dtype=float)
    return {"dependence": float(np.average([p.mean for p in found], weights=weights))} if found else {}


def _some_of_each(paths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    found, counts = np.unique(paths, return_counts=True)
    found = np.sort(found[np.argsort(-counts, kind="stable")[:SHOWN_PATHS]])
    return np.concatenate([np.flatnonzero(paths == p)[:SHOWN_PER_PATH] for p in found])
