"""The paper's COFHAE with the activation and the input of the published program, and with others."""

from __future__ import annotations

from itertools import product

from disentree.studies.models import model_task
from disentree.studies.running.options import Options, Scale, at_scale
from disentree.studies.running.results import Results, Section
from disentree.studies.running.task import Study, Task

SETTINGS = tuple(product(("softplus", "relu"), ("raw", "whiten")))  # the published program's first
EPOCHS: dict[Scale, int] = {"quick": 10, "medium": 12, "paper": 50}


def plan(options: Options) -> list[Task]:
    return [
        model_task(
            options,
            dataset,
            seed,
            columns={"dataset": dataset, "activation": activation, "input": given},
            preset="paper",
            structure="true",
            structure_from=None,
            epochs=at_scale(EPOCHS, options.scale),
            model_settings={"activation": activation, "input": given},
        )
        for dataset, seed, (activation, given) in product(options.datasets, options.seeds, SETTINGS)
    ]


def report(results: Results) -> list[Section]:
    rows = [
        [here["dataset"], *(results.spread("r4c", activation=a, input=i, **here) for a, i in SETTINGS)]
        for here, _ in results.groups("dataset")
    ]
    header = ["data set", *(f"{activation}, {given}" for activation, given in SETTINGS)]
    return [Section("R4c", [WHAT], header, rows, numbers=range(1, len(header)))]


WHAT = (
    "`COFHAE.paper()` on the true tree. The published program has softplus and takes X as it is, which is the "
    "preset; the paper's text allows ReLU too. All else is the same."
)

STUDY = Study(
    name="paper-settings",
    title="The paper's COFHAE with other activations and inputs",
    reproduces="the settings of the published program",
    datasets={
        "medium": ("chopsticks-depth2-both",),
        "paper": ("chopsticks-depth2-both", "chopsticks-depth3-both"),
    },
    seeds={"medium": 1, "paper": 5},
    scale_descriptions={
        scale: f"{{samples}}, {epochs} of the paper's 50 epochs" for scale, epochs in EPOCHS.items()
    },
    plan=plan,
    report=report,
)
