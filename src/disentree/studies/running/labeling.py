"""Labels for the rows of a data set, by MIMOSA or by a rival, and how right they are."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from disentree.cofhae.placement import knots_of
from disentree.datasets import Dataset, load_dataset
from disentree.geometry.maps import effects
from disentree.geometry.pca import principal_axes
from disentree.hierarchy import Hierarchy
from disentree.metrics import (
    dendrogram_purity,
    evaluate,
    h_error,
    matching_accuracy,
    placement_error,
    purity_score,
)
from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.tree import placing
from disentree.mimosa.tree.codes import find_same
from disentree.studies.running.battery_data import read_classes, read_set
from disentree.studies.running.constants import changed_constants, replaced, without
from disentree.studies.running.local_dimensions import estimate_dimensions
from disentree.studies.running.r_tables import readability
from disentree.studies.running.rivals import OPTIONAL, RIVALS, cluster, run_rival
from disentree.studies.running.task import Task

# What takes the place of the description length: variables do the same if a cosine is at least this.
COSINES = {"directions": (0.9, 0.99), "effects": (0.05, 0.2)}
SHOWN_COMPONENTS = 50  # of images, whose directions are compared
WARP = 0.3  # of the logarithm of the power that a branch's own scale of a variable is


def label_rows(task: Task) -> tuple[dict[str, Any], float]:
    """What the table shows of a task that labels rows, and the seconds of processor time that it took."""
    config = task.config
    if config.kind == "file":
        return _label_set(task)
    if "dimensions" in task.extras:
        return estimate_dimensions(task)
    if task.method == "mimosa-table":
        return readability(config.source, config.seed)
    ds = load_dataset(config.source, config.n_samples, seed=config.seed, **config.options)
    assert task.method is not None
    if task.method == "generator":
        return _placed_by_generator(ds, config.seed)
    X, true = _numbers(ds.X), ds.paths
    assert true is not None
    start = time.process_time()
    if task.method.startswith("mimosa"):
        placement = "down" if task.method == "mimosa-down" else "auto"
        with changed_constants(task.constants), without(task.without):
            m = MIMOSA(random_state=config.seed, n_jobs=1, placement=placement).fit(X)
            values, labels = _by_mimosa(m, ds.hierarchy), m.labels_
            if "explanation" in task.extras:
                values["explanation"] = zlib.crc32(str(m.explain()).encode())
            if "placement" in task.extras:
                values |= _placement(m, X, ds)
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
    if (folder / task.config.source).is_dir():
        return _label_images(task, folder / task.config.source)
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


def _label_images(task: Task, folder: Path) -> tuple[dict[str, Any], float]:
    """The same for images with classes. Rivals are given principal components; those that give no tree have one
    level."""
    X, classes = read_classes(folder)
    most, seed = task.config.n_samples or len(X), task.config.seed
    chosen = np.sort(np.random.default_rng(seed).permutation(len(X))[:most])
    X, classes = X[chosen], classes[chosen]
    start = time.process_time()
    about: dict[str, Any] = {}
    if task.method == "mimosa-graph":
        m = MIMOSA(representation="graph", random_state=seed, n_jobs=1).fit(X)
        labels, levels = m.labels_, [level["paths"] for level in m.levels_]
        about = {"dimensions": sorted(c.dimension for c in m.components_), "nowhere": m.nowhere_}
    else:
        rows = X.reshape(len(X), -1) / 255.0
        rows = (rows - rows.mean(axis=0)) @ principal_axes(rows, COORDINATES.most_linear, random_state=seed).axes
        labels = run_rival(str(task.method), rows, len(np.unique(classes)), seed)
        paths = np.unique(labels).tolist()
        levels = [[paths], [[path] for path in paths]]
    seconds = time.process_time() - start
    values = {
        "n_rows": len(X),
        "components": len(np.unique(labels)),
        "dendrogram_purity": dendrogram_purity(classes, labels, levels),
        "accuracy": matching_accuracy(classes, labels),
        "nmi": normalized_mutual_info_score(classes, labels),
    }
    values = {
        name: round(float(value), 4) if isinstance(value, float) else value for name, value in values.items()
    }
    return {**values, **agreement(classes, labels), **about}, seconds


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


def _placement(m: MIMOSA, X: Any, ds: Dataset) -> dict[str, Any]:
    """Where variables stand beside where they should, and what that does to scores of the codes; without a truth,
    how long the tree is. Of a tree as it was found, also what cosines would move."""
    found = m.hierarchy_
    values: dict[str, Any] = {"variables": _n_continuous(found), "lines": len(str(found).splitlines())}
    if "placement" in m.timings_:
        values["placement_seconds"] = round(m.timings_["placement"], 3)
    if ds.hierarchy is None or ds.codes is None:
        return values
    names = ("r4", "r4c", "placement_error")
    values |= evaluate(ds.codes, m.transform(X), ds.hierarchy, found, metrics=names, n_jobs=1)["scores"]
    values["true_variables"] = _n_continuous(ds.hierarchy)
    if m.placement == "down":
        for cosine in COSINES["directions"]:
            with replaced("mimosa.tree.placing", "joined", _by_cosine(cosine)):
                same, _ = find_same(found, m.embedding_, m.labels_, m.representation_.inverse_transform)
            values |= _moved(f"cosine {cosine:g}", found.move_up(same).after, ds.hierarchy)
    return values


def _by_cosine(least: float) -> Callable[..., Any]:
    usual = placing.joined

    def joined(a: placing.Same, b: placing.Same) -> tuple[float, placing.Same]:
        return abs(float(a.direction @ b.direction)) - least, usual(a, b)[1]

    return joined


def _moved(criterion: str, found: Hierarchy, true: Hierarchy) -> dict[str, Any]:
    """The placement error by a criterion of its own, and how many variables the tree then has."""
    return {
        f"placement_error, {criterion}": placement_error(true, found),
        f"variables, {criterion}": _n_continuous(found),
    }


def _n_continuous(hierarchy: Hierarchy) -> int:
    return int((~hierarchy.is_categorical).sum())


def _placed_by_generator(ds: Dataset, seed: int) -> tuple[dict[str, Any], float]:
    """What stands above all branches of the truth on each of them, with a sign and a scale of its own, and what is
    moved up again if the generator is the decoder: for images and curved leaves, where one takes a training."""
    tree, rng = ds.hierarchy, np.random.default_rng(seed)
    assert tree is not None
    assert ds.codes is not None
    assert ds.paths is not None
    down = tree.push_down([v.index for v in tree.variables if v.kind == "continuous" and v.parent is None])
    own, lower = down.codes(ds.codes), down.after
    columns = np.flatnonzero(~lower.is_categorical)
    low, extent = np.nanmin(own, axis=0), np.ptp(np.nan_to_num(own - np.nanmin(own, axis=0)), axis=0)
    sign = rng.choice([-1, 1], lower.n_variables)
    power = np.exp(rng.uniform(-WARP, WARP, lower.n_variables))
    codes = own.copy()
    codes[:, columns] = (sign * ((own - low) / np.maximum(extent, 1e-300)) ** power)[:, columns]
    rows = np.asarray(ds.X, dtype=np.float64).reshape(len(ds.X), -1)
    unit = np.ones(1) if np.ndim(ds.X) > 2 else np.maximum(rows.std(axis=0), 1e-9)

    def decode(z: np.ndarray) -> np.ndarray:
        z, mine = z.copy(), z[:, columns]
        back = (sign[columns] * mine).clip(0, 1) ** (1 / power[columns])
        z[:, columns] = back * extent[columns] + low[columns]
        return np.asarray(ds.generate(down.back(z))).reshape(len(z), -1) / unit

    def asked() -> Any:
        return effects.same_effects(lower, codes, decode, np.random.default_rng(seed))

    start = time.process_time()
    above, partly, signs = asked()
    seconds = time.process_time() - start
    placed = codes.copy()
    for column, (mine, shared) in knots_of(codes, [*above, *partly], signs).items():
        placed[:, column] = np.interp(codes[:, column], mine, shared)
    up = lower.move_up(above)
    values = {"n_rows": len(rows), "variables": _n_continuous(up.after), "true_variables": _n_continuous(tree)}
    values |= {"placement_seconds": round(seconds, 3), "h_error": 0.0}
    names = ("r4", "r4c", "placement_error")
    values |= evaluate(ds.codes, up.codes(placed), tree, up.after, metrics=names, n_jobs=1)["scores"]
    before = evaluate(ds.codes, codes, tree, lower, metrics=names, n_jobs=1)["scores"]
    values |= {f"{name}, down": score for name, score in before.items()}
    for cosine in COSINES["effects"]:
        with replaced("geometry.maps.effects", "_saved", _by_effect(cosine)):
            values |= _moved(f"cosine {cosine:g}", lower.move_up(asked()[0]).after, tree)
    rows = rows - rows.mean(axis=0)
    if rows.shape[1] > SHOWN_COMPONENTS:
        rows = rows @ principal_axes(rows, SHOWN_COMPONENTS, random_state=seed).axes
    same, _ = find_same(lower, rows, ds.paths, lambda rows: rows)
    return values | _moved("directions", lower.move_up(same).after, tree), seconds


def _by_effect(least: float) -> Callable[..., float]:
    def saved(a: effects.Moving, b: effects.Moving, _: float) -> float:
        assert a.effect is not None
        assert b.effect is not None
        return float((a.effect * b.effect).sum(axis=1).mean()) - least

    return saved


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
