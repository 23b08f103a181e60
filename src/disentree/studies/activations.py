"""ReLU against softplus in the initial autoencoder."""

from __future__ import annotations

from disentree.studies.options import Options
from disentree.studies.results import Picture, Results, Section
from disentree.studies.structures import NAMES, STEPS_MEAN, draw_embeddings, mimosa_task, score_cells
from disentree.studies.task import Study, Task

ACTIVATIONS = ("relu", "softplus")


def plan(options: Options) -> list[Task]:
    return [
        mimosa_task(
            options,
            dataset,
            seed,
            "paper",
            {"activation": activation},
            settings={"activation": activation},
            extras=("embedding",) if seed == options.seeds[0] else (),
        )
        for dataset in options.datasets
        for activation in ACTIVATIONS
        for seed in options.seeds
    ]


def report(results: Results) -> list[Section]:
    rows = []
    for dataset in results.levels("dataset"):
        for activation in results.levels("activation"):
            columns = {"dataset": dataset, "activation": activation}
            if found := results.where(**columns):
                numbers = " ".join(str(row["components"]) for row in found)
                rows.append([dataset, activation, *score_cells(results, **columns), numbers])
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
    datasets=dict.fromkeys(
        ("quick", "default", "medium", "paper"),
        ("chopsticks-depth1-either", "chopsticks-depth2-either", "chopsticks-depth3-slope"),
    ),
    seeds={"quick": 1, "default": 2, "medium": 3, "paper": 5},
    scale_descriptions=STEPS_MEAN,
    plan=plan,
    report=report,
)
