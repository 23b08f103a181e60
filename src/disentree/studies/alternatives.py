"""Other ways to make Chopsticks: gaps, slopes or intercepts that overwrite, Gaussian factors."""

from __future__ import annotations

from typing import Any

from disentree.studies.options import Options
from disentree.studies.published import n_samples
from disentree.studies.results import Picture, Results, Section, spread
from disentree.studies.structures import NAMES, STEPS_MEAN, draw_embeddings, mimosa_task, score_cells
from disentree.studies.task import Study, Task, make_task

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
        for variant in variants_of(dataset):
            for seed in options.seeds:
                extras = ("embedding",) if seed == options.seeds[0] else ()
                own = VARIANTS[variant]
                more = {"data_options": own, "extras": extras}
                shared = mimosa_task(options, dataset, seed, "default", {"variant": variant}, **more)
                tasks += [shared, mimosa_task(options, dataset, seed, "paper", {"variant": variant}, **more)]
                tasks.append(
                    make_task(
                        {"dataset": dataset, "method": "cofhae", "variant": variant},
                        dataset=dataset,
                        seed=seed,
                        n_samples=n_samples(dataset, options.scale),
                        options=own,
                        structure_from=shared,
                        preset="quick" if options.scale == "quick" else "default",
                    )
                )
    return tasks


def variants_of(dataset: str) -> list[str]:
    """Sticks without a slope cannot overwrite it, and so with intercepts."""
    last = dataset.rsplit("-", 1)[-1]
    without = {"slope": "overwrite-inter", "inter": "overwrite-slope"}.get(last)
    return [variant for variant in VARIANTS if variant != without]


def report(results: Results) -> list[Section]:
    rows = []
    for dataset in results.levels("dataset"):
        for variant in variants_of(dataset):
            for method in ("default", "paper"):
                columns = {"dataset": dataset, "variant": variant, "method": method}
                if not results.where(**columns):
                    continue
                r4c = (
                    spread(results.values("r4c", **{**columns, "method": "cofhae"})) if method == "default" else ""
                )
                rows.append([dataset, variant, method, *score_cells(results, **columns), r4c])
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
        "default": ("chopsticks-depth2-slope", "chopsticks-depth2-both", "chopsticks-depth2-either"),
        "medium": ("chopsticks-depth2-slope", "chopsticks-depth2-both", "chopsticks-depth2-either"),
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
