"""Models of one's choice, of one's own too, on data sets and by metrics of one's choice."""

from __future__ import annotations

from itertools import product

from disentree.runs.plain import is_plain
from disentree.studies.figures import draw_groups
from disentree.studies.models import UNIT, model_task, title
from disentree.studies.published import BENCHMARKS, short
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Section
from disentree.studies.running.task import Study, Task

PRESETS = {"quick": "quick", "default": "default", "medium": "default", "paper": "paper"}
PARTS = {
    "infomec": ("info_modularity", "info_compactness", "info_explicitness"),
    "dci": ("dci", "dci_completeness", "dci_informativeness"),
}


def plan(options: Options) -> list[Task]:
    return [
        model_task(
            options,
            dataset,
            seed,
            model,
            preset="default" if is_plain(model) else PRESETS[options.scale],
            metrics=options.metrics,
            model_settings=dict(options.settings),
        )
        for dataset, seed, model in product(options.datasets, options.seeds, options.models)
    ]


def columns_of(metrics: tuple[str, ...]) -> list[str]:
    """The numbers that metrics have: some have several."""
    return [column for name in metrics for column in PARTS.get(name, (name,))]


def report(results: Results) -> list[Section]:
    scores = columns_of(results.options.metrics)
    rows = [
        [here["dataset"], title(here["model"]), *(results.spread(name, **here) for name in scores)]
        for here, _ in results.groups("dataset", "model")
    ]
    within = [name for name in scores if all(0 <= value <= 1 for value in results.values(name))]

    def draw():
        panels = {
            short(d): {title(m): [results.values(name, dataset=d, model=m) for name in within] for m in models}
            for d in results.levels("dataset")
        }
        return draw_groups(within, panels, limits=UNIT)

    models = results.levels("model")
    pictures = [Picture("scores", "Every model by every score from 0 to 1.", draw)] if within else []
    header = ["data set", "model", *(name.rpartition(":")[2].replace("_", " ") for name in scores)]
    return [Section("Scores", [WHAT], header, rows, numbers=range(2, len(header)), pictures=pictures)]


WHAT = (
    "Of held-out rows, mean ± standard deviation over seeds. COFHAE follows the tree that MIMOSA finds; other "
    "models are given the true one, of which flat models use no more than the numbers of variables and options."
)

STUDY = Study(
    name="compare",
    title="Models compared",
    reproduces="models, data sets and metrics of your choice",
    datasets={"medium": ("chopsticks-depth2-both", "chopsticks-depth2-either"), "paper": BENCHMARKS},
    seeds={"medium": 1, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, quick presets",
        "medium": "{samples}, default presets",
        "paper": "{samples}, the paper's presets",
    },
    plan=plan,
    report=report,
    compares=True,
)
