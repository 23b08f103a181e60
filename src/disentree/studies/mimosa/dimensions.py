"""The dimension of manifolds and of mixtures of them: MIMOSA beside the estimators of scikit-dimension."""

from __future__ import annotations

from typing import Any

from disentree.runs.config import RunConfig
from disentree.studies.running.local_dimensions import (
    ESTIMATORS,
    MANIFOLDS,
    MIXTURES,
    NEIGHBORS,
    SCORED,
    check_set,
    skdim,
)
from disentree.studies.running.options import Options, Scale, at_scale
from disentree.studies.running.results import MARGIN, Results, Section, mean, spread
from disentree.studies.running.task import Study, Task

METHODS = ("mimosa", *ESTIMATORS)
TITLES = {"mimosa": "MIMOSA", **{name: name for name in ESTIMATORS}}
ROWS: dict[Scale, int] = {"quick": 600, "paper": 2500}  # the latter is that of scikit-dimension
RIGHT = 0.5  # error below which the dimension is right


def plan(options: Options) -> list[Task]:
    skdim()
    tasks = []
    for name in options.datasets:
        for method in METHODS:
            for seed in options.seeds if name in MIXTURES else options.seeds[:1]:
                rows = options.samples or at_scale(ROWS, options.scale)
                config = RunConfig(source=name, kind="dataset", seed=seed, n_samples=rows)
                columns = {"dataset": name, "method": method, "seed": seed}
                more: dict[str, Any] = {"until": "structure", "method": method, "extras": ("dimensions",)}
                tasks.append(Task(columns=columns, config=config, **more))
    return tasks


def report(results: Results) -> list[Section]:
    sets = [n for n in results.levels("dataset") if all(results.where(dataset=n, method=m) for m in METHODS)]
    mixtures = [name for name in sets if name in MIXTURES]
    manifolds = [name for name in sets if name in MANIFOLDS]
    sections = [_all(results, sets)]
    if mixtures:
        sections.append(_mixtures(results, mixtures))
    if manifolds:
        sections.append(_manifolds(results, manifolds))
    return sections


def _error(results: Results, name: str, method: str) -> float:
    return results.mean("error", dataset=name, method=method)


def _all(results: Results, sets: list[str]) -> Section:
    """What MIMOSA loses, and means."""
    lost = []
    for name in sets:
        least, best = min((_error(results, name, method), method) for method in ESTIMATORS)
        if (own := _error(results, name, "mimosa")) - least > MARGIN:
            lost.append((own - least, f"{name} ({own:.2f}, {least:.2f} {best})"))
    rows = []
    for method in METHODS:
        mixed = [_error(results, name, method) for name in sets if name in MIXTURES]
        single = [_error(results, name, method) for name in sets if name in MANIFOLDS]
        ari = [results.mean("ari", dataset=name, method=method) for name in sets if name in MIXTURES]
        right = f"{sum(error < RIGHT for error in single)} of {len(single)}" if single else ""
        seconds = sum(results.seconds(row)["total"] for row in results.where(method=method))
        cells = (spread([mean(values)] if values else [], 2) for values in (mixed, ari, single))
        rows.append([TITLES[method], *cells, right, f"{seconds:.0f}"])
    version = ", ".join(sorted({row["version"] for row in results.rows if "version" in row}))
    text = [
        f"The mean absolute error of the dimension on {SCORED} rows of each set, drawn by the seed. MIMOSA's is "
        f"that of the row's leaf. Estimators of scikit-dimension {version} get the {NEIGHBORS} nearest rows, its "
        "default. Nothing is told. Groups are leaves, or rows whose estimates are rounded to the same number; "
        "the adjusted Rand index is against the true dimensions.",
        f"Lost by MIMOSA to the best estimator by more than {MARGIN:g}, the widest first (error, the other's): "
        + ("; ".join(words for _, words in sorted(lost, reverse=True)) or "none")
        + ".",
    ]
    header = ["method", "error, mixtures", "ARI", "error, manifolds", f"below {RIGHT:g}", "seconds"]
    return Section("Means, and what is lost", text, header, rows, (1, 2, 3, 4, 5))


def _mixtures(results: Results, sets: list[str]) -> Section:
    rows = []
    for name in sets:
        for method in METHODS:
            here = results.where(dataset=name, method=method)
            true = " ".join(map(str, here[0].get("true_dimensions", ())))
            found = "; ".join(" ".join(map(str, row["dimensions"])) for row in here) if method == "mimosa" else ""
            scores = [results.spread(score, dataset=name, method=method) for score in ("error", "ari")]
            rows.append([name, true, TITLES[method], *scores, found])
    header = ["mixture", "dimensions", "method", "error", "ARI", "leaves found, by seed"]
    return Section("Mixtures", [], header, rows, (3, 4))


def _manifolds(results: Results, sets: list[str]) -> Section:
    rows = []
    for name in sets:
        own = results.where(dataset=name, method="mimosa")[0]
        facts = [f"{own.get(key, '')}" for key in ("n_rows", "n_columns")]
        true = " ".join(map(str, own.get("true_dimensions", ())))
        cells = [f"{_error(results, name, 'mimosa'):.2f}", " ".join(map(str, own["dimensions"]))]
        for method in ESTIMATORS:
            whole = results.values("whole", dataset=name, method=method)
            cells.append(f"{_error(results, name, method):.2f}" + (f" ({whole[0]:.2f})" if whole else ""))
        rows.append([name, *facts, true, *cells])
    text = [
        "In parentheses the error of the estimate that is made from all rows at once, as an estimator may that is "
        "told that there is one manifold. More leaves than one are wrong, too."
    ]
    header = ["manifold", "rows", "columns", "dimension", "MIMOSA", "its leaves", *ESTIMATORS]
    return Section("Single manifolds", text, header, rows, tuple(range(1, len(header))))


STUDY = Study(
    name="dimensions",
    title="The dimension of every row, by MIMOSA and by estimators",
    reproduces="no figure of the paper",
    datasets={"quick": (*tuple(MIXTURES)[:3], "M7_Roll", "M9_Affine"), "paper": (*MIXTURES, *MANIFOLDS)},
    seeds={"quick": 1, "paper": 3},
    scale_descriptions={
        "quick": f"{ROWS['quick']} rows of five sets",
        "paper": f"{ROWS['paper']:,} rows of four mixtures, and with the first seed of 24 benchmark manifolds",
    },
    plan=plan,
    report=report,
    check_name=check_set,
)
