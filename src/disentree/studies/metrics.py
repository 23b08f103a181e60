"""All metrics on the same models: which of them give the supervised model a score near 1?"""

from __future__ import annotations

from disentree.studies.models import model_task, structure_task, title
from disentree.studies.options import Options
from disentree.studies.published import R4, R4C, short
from disentree.studies.results import Picture, Results, Section, spread
from disentree.studies.task import Study, Task

MODELS = ("ae", "tcvae", "cofhae", "hier-a-z")
SHOWN = {"sap": "SAP", "mig": "MIG", "factor_vae": "FVAE", "dci": "DCI", "r4": "R4", "r4c": "R4c"}


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset in options.datasets:
        for seed in options.seeds:
            shared = structure_task(options, dataset, seed)
            tasks.append(shared)
            tasks += [
                model_task(options, dataset, seed, model, shared=shared, extras=("metrics",)) for model in MODELS
            ]
    return tasks


def report(results: Results) -> list[Section]:
    models = [model for model in results.levels("model") if model != "structure"]
    rows = []
    for dataset in results.levels("dataset"):
        for model in models:
            found = [spread(results.values(name, dataset=dataset, model=model)) for name in SHOWN]
            if any(found):
                rows.append([dataset, title(model), *found, _stated(dataset, model)])
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
            pictures=[Picture("metrics", "Every metric on every model.", lambda: _draw(results, models))],
        ),
        Section(
            "The supervised model",
            ["H+A+Z is supervised by the true factors, so a metric should give it nearly 1 (above .95 here)."],
            ["metric", *map(short, results.levels("dataset")), "near 1"],
            near,
            numbers=range(1, 1 + len(results.levels("dataset"))),
        ),
    ]


def _stated(dataset: str, model: str) -> str:
    key = (dataset, model)
    best = " (best run)" if model == "cofhae" else ""  # of others the paper does not say which run
    return f"{R4[key]:g}, {R4C[key]:g}{best}" if key in R4 else ""


def _draw(results: Results, models: list[str]):
    from disentree.studies.figures import draw_groups

    panels = {
        short(d): {title(m): [results.values(name, dataset=d, model=m) for name in SHOWN] for m in models}
        for d in results.levels("dataset")
    }
    return draw_groups(list(SHOWN.values()), panels, limits=(-0.02, 1.02))


STUDY = Study(
    name="metrics",
    title="Metrics of disentanglement compared",
    reproduces="Figure 6",
    datasets={
        "quick": ("chopsticks-depth2-both", "chopsticks-depth2-either"),
        "default": ("chopsticks-depth2-both", "chopsticks-depth3-either"),
        "medium": ("chopsticks-depth2-both", "chopsticks-depth3-either"),
        "paper": ("chopsticks-depth2-both", "spaceshapes"),
    },
    seeds={"quick": 1, "default": 3, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, quick presets; the paper does not name its two data sets",
        "default": "{samples}, default presets; the paper does not name its two data sets",
        "paper": "{samples}, the paper's presets, but COFHAE's default one; the paper does not name its two data "
        "sets",
    },
    plan=plan,
    report=report,
)
