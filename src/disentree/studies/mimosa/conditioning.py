"""The scale of the latent that the paper's MIMOSA works on: as it is, half whitened, whitened."""

from __future__ import annotations

from itertools import product

from disentree.studies.published import stated_structure
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import BESIDE_PAPER, NAMES, STEPS_MEAN, beside_paper, mimosa_task, score_cells

POWERS = (0.0, 0.5, 1.0)
DATASETS = ("chopsticks-depth2-either", "chopsticks-depth3-either")


def plan(options: Options) -> list[Task]:
    tasks = []
    for dataset, seed in product(options.datasets, options.seeds):
        base = mimosa_task(options, dataset, seed, "paper", {"whiten": POWERS[0]}, extras=("representation",))
        tasks.append(base)
        for power in POWERS[1:]:
            own = {"whiten": power}
            tasks.append(mimosa_task(options, dataset, seed, "paper", own, settings=own, shared=base))
    return tasks


def report(results: Results) -> list[Section]:
    rows = []
    for here, _ in results.groups("dataset", "whiten"):
        published = [stated_structure(here["dataset"], name) for name in NAMES]
        cells = beside_paper(score_cells(results, **here), published)
        rows.append([here["dataset"], f"{here['whiten']:g}", *cells])
    header = ["data set", "whiten", *BESIDE_PAPER]
    return [Section("Purity, coverage and H-error", [WHAT], header, rows, numbers=range(1, 8))]


WHAT = (
    "The paper's algorithm and settings on the latent of one autoencoder per seed, whose principal components "
    "are divided by a power of their standard deviations: 0 is the published code, 1 whitens the latent. Mean ± "
    "standard deviation over seeds."
)

STUDY = Study(
    name="conditioning",
    title="The scale of the latent, and the paper's MIMOSA",
    reproduces="Table 1, depth-3 either",
    datasets={"paper": DATASETS},
    seeds={"default": 1, "medium": 3, "paper": 5},
    scale_descriptions=STEPS_MEAN,
    plan=plan,
    report=report,
)
