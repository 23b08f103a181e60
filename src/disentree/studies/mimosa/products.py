"""MIMOSA on products of independent choices, on leaves with several parents, and on trees, which are neither."""

from __future__ import annotations

from typing import Any

from disentree.datasets.generated.chopsticks import VARIANTS
from disentree.studies.mimosa.structure import cases_in, different, label_task, seconds_of
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Section, spread
from disentree.studies.running.task import Study, Task

QUICK = 2000
ROWS = 50_000
PRODUCTS: dict[str, tuple[dict[str, Any], ...]] = {
    "product-2": ({}, {"noise": 0.01}, {"offset": 1.5}),
    "product-3": ({}, {"noise": 0.01}, {"offset": 1.5}, {"missing": True}),
    "product-4": ({}, {"noise": 0.01}, {"offset": 1.5}, {"missing": True}),
    "product-5": ({}, {"noise": 0.01}, {"offset": 1.5}, {"missing": True}),
    "product-2-curved": ({}, {"noise": 0.01}),
    "product-3-curved": ({}, {"noise": 0.01}),
    "triangle-edges": ({"noise": 0.01},),
}
TREES = {f"chopsticks-depth{depth}-{variant}": ({},) for depth in (2, 3) for variant in VARIANTS}
CASES = {**PRODUCTS, **TREES}


def plan(options: Options) -> list[Task]:
    rows = QUICK if options.scale == "quick" else ROWS
    return [
        label_task(dataset, seed, own, rows)
        for dataset in options.datasets
        for own in CASES.get(dataset, ({},))
        for seed in options.seeds
    ]


def report(results: Results) -> list[Section]:
    rows = []
    for here in cases_in(results):
        found, errors = results.where(**here), results.values("h_error", **here)
        rows.append(
            [
                here["dataset"],
                here["options"],
                str(len(found[0].get("true_dimensions", []))) if found else "",
                f"{sum(error == 0 for error in errors)} of {len(errors)}",
                spread(errors, 1),
                results.spread("ari", **here),
                different(row.get("finder", "") for row in found),
                seconds_of(results, found),
            ]
        )
    text = [
        f"Defaults, no ground truth, {results.tasks[0].config.n_samples:,} rows. A data set is right if its "
        "hierarchy has an H-error of 0: every choice of a product with its variables, and no product where there "
        "is a tree.",
        "Data is made with seeds from 2000 on; constants were chosen on seeds below 1000.",
    ]
    header = ["data set", "options", "true leaves", "right", "H-error", "adjusted Rand index", "finder", "seconds"]
    return [Section("Products, shared parents and trees", text, header, rows, numbers=(4, 5, 7))]


STUDY = Study(
    name="products",
    title="Products of choices, and leaves with several parents",
    reproduces="no figure of the paper",
    datasets={
        "quick": ("product-2", "triangle-edges", "chopsticks-depth2-either"),
        "paper": tuple(CASES),
    },
    seeds={"quick": 1, "paper": 5},
    scale_descriptions={
        "quick": "three data sets of 2,000 rows",
        "default": "all data, five seeds",
        "paper": "the same",
    },
    plan=plan,
    report=report,
)
