"""ReLU against softplus in the initial autoencoder."""

from __future__ import annotations

from itertools import product

from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import NAMES, STEPS_MEAN, draw_embeddings, mimosa_task, score_cells

ACTIVATIONS = ("relu", "softplus")


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset, activation, seed in product(options.datasets, ACTIVATIONS, options.seeds):
        own = {"activation": activation}
        tasks.append(mimosa_task(options, dataset, seed, "paper", own, settings=own, embedded=True))
    return tasks


def report(results: Results) -> list[Section]:
    rows = []
    for here, found in results.groups("dataset", "activation"):
        numbers = " ".join(str(row["components"]) for row in found)
        rows.append([*here.values(), *score_cells(results, **here), numbers])
    header = ["data set", "activation", *NAMES.values(), "components, by seed"]
    caption = "Latents of the initial autoencoder, colored by true path."
    picture = Picture("activations", caption, lambda: draw_embeddings(results, "activation"))
    return [Section("The paper's MIMOSA", [WHAT], header, rows, numbers=range(2, 5), pictures=[picture])]


WHAT = (
    "The paper shows latents and states no numbers: with ReLU they have sharp corners, which break components "
    "apart; smooth activations work much better."
)

STUDY = Study(
    name="activations",
    title="ReLU and softplus in the initial autoencoder",
    reproduces="Figure A.4",
    datasets={"paper": ("chopsticks-depth1-either", "chopsticks-depth2-either", "chopsticks-depth3-slope")},
    seeds={"quick": 1, "default": 2, "medium": 3, "paper": 5},
    scale_descriptions=STEPS_MEAN,
    plan=plan,
    report=report,
)
