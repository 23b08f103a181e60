"""What was found, to look at: initial representation, components, hierarchy, pairwise histograms, traversals."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from disentree.datasets import dataset_info
from disentree.studies.models import model_task, title
from disentree.studies.published import BENCHMARKS, CHOPSTICKS, R4, R4C
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Row, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import mimosa_task

FLAT = ("ae", "tcvae")  # in addition to COFHAE, on one data set
MERGED = "chopsticks-depth2-either"  # on which the paper shows what its MIMOSA merges
PAPER = "mimosa-paper"
PICTURES = {
    "mimosa": "Initial representation, components and hierarchy that MIMOSA found.",
    "pairwise": "True against learned variables where both are active, with the parts of R4c.",
    "traversals": "Every active variable swept from its 1st to its 99th percentile.",
    "reconstructions": "Held-out rows and their reconstructions.",
}


def plan(options: Options) -> list[Task]:
    tasks = []
    preset: dict[str, Any] = {"preset": "default"} if options.scale == "medium" else {}
    compared = "spaceshapes" if "spaceshapes" in options.datasets else options.datasets[0]
    for dataset, seed in product(options.datasets, options.seeds):
        tasks.append(model_task(options, dataset, seed, until="report", extras=("picture",)))
        if dataset == MERGED:
            columns = {"model": PAPER}
            tasks.append(mimosa_task(options, dataset, seed, "paper", columns, extras=("picture",)))
        if dataset == compared:
            tasks += [model_task(options, dataset, seed, model, until="report", **preset) for model in FLAT]
    return tasks


def report(results: Results) -> list[Section]:
    sections = []
    for dataset in results.levels("dataset"):
        rows, pictures = [], []
        for model in results.levels("model"):
            found = results.where(dataset=dataset, model=model)
            if not found:
                continue
            best = max(found, key=lambda row: row["r4c"] if row.get("r4c") is not None else -math.inf)
            rows += [_cells(row, dataset, model) for row in found]
            pictures += _pictures(results, best, dataset, model)
        if rows:
            header = ["model", "seed", "R4c", "R4", "H-error", "paper's R4c, R4", "R4c of each variable"]
            sections.append(Section(dataset, [], header, rows, numbers=range(1, 5), pictures=pictures))
    return [*sections, _equivalents()]


def _equivalents() -> Section:
    from disentree.plots import draw_equivalents

    hierarchy = dataset_info("spaceshapes").hierarchy
    assert hierarchy is not None
    picture = Picture("spaceshapes-equivalents", EQUIVALENT, lambda: draw_equivalents(hierarchy))
    return Section("Equivalent hierarchies", pictures=[picture])


EQUIVALENT = (
    "Three hierarchies of Spaceshapes that R4c and the H-error do not tell apart: the true one, with variables "
    "merged up to where all shapes have one, and pushed down to where each shape has its own."
)


def _title(model: str) -> str:
    return "the paper's MIMOSA" if model == PAPER else title(model)


def _cells(row: Row, dataset: str, model: str) -> list[str]:
    stated = (R4C.get((dataset, model)), R4.get((dataset, model)))
    factors = ", ".join(f"{name} {score:.2f}" for name, score in (row.get("factors") or {}).items())
    numbers = [f"{row[name]:.3f}" if row.get(name) is not None else "" for name in ("r4c", "r4")]
    paper_values = ", ".join(f"{value:g}" for value in stated) if None not in stated else ""
    if paper_values and model == "cofhae":  # of others the paper does not say which run
        paper_values += " (best run)"
    return [_title(model), str(row["seed"]), *numbers, str(row["h_error"]), paper_values, factors]


def _pictures(results: Results, row: Row, dataset: str, model: str) -> list[Picture]:
    """The pictures that the run drew, for the best seed of each model."""
    folder = results.run_folder(row) / "figures"
    return [
        Picture(f"{dataset}-{model}-{name}", f"{_title(model)}, seed {row['seed']}: {caption}", path)
        for name, caption in PICTURES.items()
        if (path := folder / f"{name}.png").is_file() and (model in ("cofhae", PAPER) or name == "pairwise")
    ]


STUDY = Study(
    name="qualitative",
    title="What was found, in pictures",
    reproduces="Figures 3 and A.8 to A.17 (those of Spaceshapes at scales medium and paper)",
    datasets={"default": CHOPSTICKS, "paper": BENCHMARKS},
    seeds={"medium": 1, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, quick presets",
        "medium": "{samples}, default presets",
        "paper": "{samples}; COFHAE's default preset, the paper's for the flat models",
    },
    plan=plan,
    report=report,
)
