"""COFHAE with terms of its loss switched off, given the true structure."""

from __future__ import annotations

from itertools import product
from typing import Any

from disentree.studies.cofhae.image_baselines import NETWORKS
from disentree.studies.models import ABLATIONS, draw_datasets, model_task, models_of, score_table, title
from disentree.studies.published import BENCHMARKS, CHOPSTICKS
from disentree.studies.running.options import Options
from disentree.studies.running.results import COUNTS, Picture, Results, Section, change
from disentree.studies.running.task import Study, Task

COMPARED = (
    ("hier", "flat"),
    ("hier-a", "hier"),
    ("hier-a-tc", "hier-a"),
    ("hier-a-tcon", "hier-a"),
    ("hier-a-z", "hier-a-tcon"),
    ("hier-tcon", "hier-a-tcon"),
)

# 36,000 images at scale quick, else 432,000: about as many as COFHAE's own decoder sees.
IMAGE_EPOCHS = {"quick": 2, "default": 8, "medium": 8}


def plan(options: Options) -> list[Task]:
    return [
        model_task(options, dataset, seed, model, **_settings(options, dataset))
        for dataset, seed, model in product(options.datasets, options.seeds, ABLATIONS)
    ]


def _settings(options: Options, dataset: str) -> dict[str, Any]:
    """Those of the scale. The paper's networks would take days; perceptrons do not learn to draw images."""
    if options.scale == "paper":
        return {}
    preset = {"preset": "default"} if options.scale == "medium" else {}
    if dataset != "spaceshapes":
        return preset
    return {**preset, "model_settings": NETWORKS, "epochs": IMAGE_EPOCHS[options.scale]}


def report(results: Results) -> list[Section]:
    models, caption = models_of(results), "R4c by data set, as in the paper's figure."
    pictures = [Picture("ablations", caption, lambda: draw_datasets(results, models))]
    orders = []
    for dataset in results.levels("dataset"):
        found = {m: results.values("r4c", dataset=dataset, model=m) for m in models}
        cells = [change(found[a], found[b]) for a, b in COMPARED]
        if any(cells):
            orders.append([dataset, *cells])
    header = ["data set", *(f"{title(a)} against {title(b)}" for a, b in COMPARED)]
    return [
        Section("R4c", [WHAT], *score_table(results, "r4c"), pictures=pictures),
        Section("What the paper says of them", [SAID, COUNTS], header, orders),
    ]


WHAT = (
    "Of held-out rows, mean ± standard deviation over seeds. H: the true hierarchy; A: true assignments; TC(Z): "
    "the marginal total correlation penalty of FactorVAE; TC(Z|on): the conditional one of COFHAE; Z: codes "
    "supervised by the truth. With the paper's losses and no targets from independent components, but for H+A+Z, "
    "which has COFHAE's own losses at all scales but paper. Images are encoded and decoded by convolutional "
    "networks with Bernoulli pixels; at scale paper by the paper's, else by those of the study `image-baselines`."
)
SAID = (
    "The paper: low for Flat, better with H, better still with A; the marginal penalty sometimes helps, the "
    "conditional one more, close to the supervised H+A+Z; without A it fails to."
)

STUDY = Study(
    name="ablations",
    title="Ablations of COFHAE",
    reproduces="Figures 5 and A.6",
    datasets={
        "quick": ("chopsticks-depth2-both",),
        "default": CHOPSTICKS,
        "paper": BENCHMARKS,
    },
    seeds={"quick": 1, "default": 3, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, 1000 steps for each model, only the data set of the paper's main figure",
        "default": "{samples}, 4000 steps for each model",
        "medium": "{samples}, 4000 steps for each model; of images 8 epochs, networks of `image-baselines`",
        "paper": "{samples}, the paper's networks, 50 epochs",
    },
    plan=plan,
    report=report,
)
