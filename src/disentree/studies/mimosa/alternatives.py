"""Other ways to make Chopsticks: gaps, slopes or intercepts that overwrite, Gaussian factors."""

from __future__ import annotations

from itertools import product
from typing import Any

from disentree.studies.models import model_task
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import NAMES, STEPS_MEAN, draw_embeddings, mimosa_task, score_cells

VARIANTS: dict[str, dict[str, Any]] = {
    "usual": {},
    "gaps": {"min_offset": 0.25},
    "overwrite-slope": {"mode": "overwrite-slope"},
    "overwrite-inter": {"mode": "overwrite-inter"},
    "gaussian": {"distribution": "gaussian"},
}


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset in options.datasets:
        for variant, seed in product(variants_of(dataset), options.seeds):
            own, columns = VARIANTS[variant], {"variant": variant}
            shared, of_paper = (
                mimosa_task(options, dataset, seed, method, columns, data_options=own, embedded=True)
                for method in ("default", "paper")
            )
            columns = {"dataset": dataset, "method": "cofhae", **columns}
            cofhae = model_task(options, dataset, seed, shared=shared, columns=columns, data_options=own)
            tasks += [shared, of_paper, cofhae]
    return tasks


def variants_of(dataset: str) -> list[str]:
    """Sticks without a slope cannot overwrite it, and so with intercepts."""
    last = dataset.rsplit("-", 1)[-1]
    without = {"slope": "overwrite-inter", "inter": "overwrite-slope"}.get(last)
    return [variant for variant in VARIANTS if variant != without]


def report(results: Results) -> list[Section]:
    rows = []
    for dataset, variant, method in product(results.levels("dataset"), VARIANTS, ("default", "paper")):
        here = {"dataset": dataset, "variant": variant, "method": method}
        if results.where(**here):
            r4c = results.spread("r4c", **{**here, "method": "cofhae"}) if method == "default" else ""
            rows.append([*here.values(), *score_cells(results, **here), r4c])
    pictures = [
        Picture(
            f"alternatives-{method}",
            f"Initial representations, {title}, colored by true path.",
            lambda method=method: draw_embeddings(results, "variant", method=method),
        )
        for method, title in (("paper", "the paper's autoencoder"), ("default", "the default's"))
    ]
    header = ["data set", "variant", "MIMOSA", *NAMES.values(), "R4c of COFHAE"]
    return [Section("Structure and disentanglement", [WHAT], header, rows, numbers=range(3, 7), pictures=pictures)]


WHAT = (
    "Gaps: factors keep a quarter of their range away from 0. The paper states no numbers: gaps, other "
    "distributions and overwritten slopes do not break MIMOSA, overwritten intercepts can; COFHAE's scores fall "
    "with Gaussian factors, and overwritten slopes can affect it."
)

STUDY = Study(
    name="alternatives",
    title="Alternative versions of Chopsticks",
    reproduces="Figure A.2 and the appendix on Chopsticks",
    datasets={
        "quick": ("chopsticks-depth2-both",),
        "paper": ("chopsticks-depth2-slope", "chopsticks-depth2-both", "chopsticks-depth2-either"),
    },
    seeds={"quick": 1, "default": 2, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": f"{STEPS_MEAN['quick']}; COFHAE by its quick preset",
        "default": f"{STEPS_MEAN['default']}; COFHAE by its default preset",
        "paper": f"{STEPS_MEAN['paper']}; COFHAE by its default preset",
    },
    plan=plan,
    report=report,
)
