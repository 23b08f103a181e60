"""COFHAE as in the paper, on the tree that the paper's MIMOSA found, with all settings of the paper's grid."""

from __future__ import annotations

import itertools
import math

from disentree.studies.models import model_task
from disentree.studies.running.options import Options, Scale
from disentree.studies.running.results import Results, Row, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import EPOCHS as MIMOSA_EPOCHS
from disentree.studies.structures import mimosa_task

GRID: dict[str, tuple[float, ...]] = {
    "tau": (1 / 2, 2 / 3, 1.0),
    "lambda1": (10.0, 100.0, 1000.0),
    "lambda2": (1.0, 10.0, 100.0),
}
EPOCHS: dict[Scale, int] = {"quick": 1, "default": 2, "medium": 12, "paper": 50}


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset, seed in itertools.product(options.datasets, options.seeds):
        tree = mimosa_task(options, dataset, seed, "paper", dict.fromkeys(GRID, 0))
        tasks.append(tree)
        for values in itertools.product(*GRID.values()):
            setting = dict(zip(GRID, values, strict=True))
            tasks.append(
                model_task(
                    options,
                    dataset,
                    seed,
                    "cofhae-paper",
                    columns={"dataset": dataset, "method": "cofhae", **_rounded(setting)},
                    preset="paper",
                    epochs=EPOCHS[options.scale],
                    structure_settings=tree.config.structure_settings,
                    model_settings=setting,
                    structure_from=tree,
                )
            )
    return tasks


def _rounded(setting: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in setting.items()}


def with_choice(rows: list[Row]) -> list[Row]:
    """Rows with the column `chosen`: for each data set and seed the model that the paper's rule takes.

    The lowest error of reconstruction among the third of the models that agree best with MIMOSA's assignments.
    """
    rows = [{**row, "chosen": False} for row in rows]
    models = [row for row in rows if row["method"] == "cofhae"]
    for key in dict.fromkeys((row["dataset"], row["seed"]) for row in models):
        trials = [row for row in models if (row["dataset"], row["seed"]) == key]
        best = sorted(trials, key=lambda row: -row["assignment_agreement"])[: math.ceil(len(trials) / 3)]
        min(best, key=lambda row: row["reconstruction_mse"])["chosen"] = True
    return rows


def report(results: Results) -> list[Section]:
    rows = with_choice([row for row in results.rows if row["method"] == "cofhae"])
    cells = [
        [
            row["dataset"],
            str(row["seed"]),
            *(f"{row[name]:g}" for name in GRID),
            f"{row['r4c']:.3f}",
            f"{row['assignment_agreement']:.4f}",
            f"{row['reconstruction_mse']:.2e}",
            "yes" if row["chosen"] else "",
        ]
        for row in rows
    ]
    header = ["data set", "seed", *GRID, "R4c", "agreement", "squared error", "chosen"]
    return [Section("R4c", [WHAT], header, cells, numbers=range(1, 8))]


WHAT = (
    "Every model follows the tree of the paper's MIMOSA. Chosen, without the truth: the lowest error of "
    "reconstruction among the third of the models that agree best with MIMOSA's assignments."
)

STUDY = Study(
    name="paper-grid",
    title="COFHAE of the paper with all settings of its grid",
    reproduces="the paper's choice of hyperparameters",
    datasets={"paper": ("chopsticks-depth2-both",)},
    seeds={"medium": 1, "paper": 5},
    scale_descriptions={
        scale: f"{{samples}}; {MIMOSA_EPOCHS[scale]} of 50 epochs of MIMOSA's autoencoder, {epochs} of COFHAE's 50"
        for scale, epochs in EPOCHS.items()
    },
    plan=plan,
    report=report,
    derive=with_choice,
)
