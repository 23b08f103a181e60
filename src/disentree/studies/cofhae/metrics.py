"""All metrics on the same models: which of them give the supervised model a score near 1?"""

from __future__ import annotations

from itertools import product

from disentree.studies.models import draw_scores, model_task, structure_task, title
from disentree.studies.published import short, stated_scores
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Section
from disentree.studies.running.task import Study, Task

MODELS = ("ae", "tcvae", "cofhae", "hier-a-z")
SHOWN = {"sap": "SAP", "mig": "MIG", "factor_vae": "FVAE", "dci": "DCI", "r4": "R4", "r4c": "R4c"}


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset, seed in product(options.datasets, options.seeds):
        shared = structure_task(options, dataset, seed)
        same = {"shared": shared, "extras": ("metrics",)}
        tasks += [shared, *(model_task(options, dataset, seed, model, **same) for model in MODELS)]
    return tasks


def report(results: Results) -> list[Section]:
    rows = []
    for here, _ in results.groups("dataset", "model"):
        found = [results.spread(name, **here) for name in SHOWN]
        if any(found) and here["model"] != "structure":
            # of others the paper does not say which run
            papers = stated_scores(**here)
            best = " (best run)" if papers and here["model"] == "cofhae" else ""
            rows.append([here["dataset"], title(here["model"]), *found, papers + best])
    near = []
    for name, label in SHOWN.items():
        values = [results.mean(name, dataset=d, model="hier-a-z") for d in results.levels("dataset")]
        known = [v for v in values if v == v]
        if known:
            near.append([label, *(f"{v:.3f}" for v in values), "yes" if min(known) > 0.95 else "no"])
    header = ["data set", "model", *SHOWN.values(), "paper's R4, R4c"]
    return [
        Section(
            "Scores",
            ["Of held-out rows, mean ± standard deviation over seeds. DCI is the disentanglement score."],
            header,
            rows,
            numbers=range(2, 2 + len(SHOWN)),
            pictures=[Picture("metrics", "Every metric on every model.", lambda: draw_scores(results, SHOWN))],
        ),
        Section(
            "The supervised model",
            ["H+A+Z is supervised by the true factors, so a metric should give it nearly 1 (above .95 here)."],
            ["metric", *map(short, results.levels("dataset")), "near 1"],
            near,
            numbers=range(1, 1 + len(results.levels("dataset"))),
        ),
    ]


STUDY = Study(
    name="metrics",
    title="Metrics of disentanglement compared",
    reproduces="Figure 6",
    datasets={
        "quick": ("chopsticks-depth2-both", "chopsticks-depth2-either"),
        "medium": ("chopsticks-depth2-both", "chopsticks-depth3-either"),
        "paper": ("chopsticks-depth2-both", "spaceshapes"),
    },
    seeds={"quick": 1, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, quick presets; the paper does not name its two data sets",
        "default": "{samples}, default presets; the paper does not name its two data sets",
        "paper": "{samples}, the paper's presets, but COFHAE's default one; the paper does not name its two data "
        "sets",
    },
    plan=plan,
    report=report,
)
