"""The whole run, from data to scores, on the paper's benchmarks with default settings."""

from __future__ import annotations

from itertools import product

from disentree.studies.cofhae.disentanglement import stated
from disentree.studies.models import model_task
from disentree.studies.published import BENCHMARKS, CHOPSTICKS
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Row, Section, mean, spread
from disentree.studies.running.task import Study, Task


def plan(options: Options) -> list[Task]:
    return [model_task(options, dataset, seed) for dataset, seed in product(options.datasets, options.seeds)]


def report(results: Results) -> list[Section]:
    rows, factors = [], []
    for here, found in results.groups("dataset"):
        dataset, r4c = here["dataset"], results.values("r4c", **here)
        if not r4c:
            continue
        stages = [mean([_seconds(results, row, stage) for row in found]) for stage in STAGES]
        rows.append(
            [
                dataset,
                ", ".join(str(row["seed"]) for row in found),
                spread(r4c),
                f"{min(r4c):.3f}",
                results.spread("r4", **here),
                results.spread("h_error", 1, **here),
                results.spread("purity_all_rows", **here),
                " + ".join(f"{seconds:.0f}" for seconds in stages),
                stated(dataset),
            ]
        )
        names = dict.fromkeys(name for row in found for name in row.get("factors") or {})
        factors += [
            [dataset, name, spread(_factor(found, "factors", name)), spread(_factor(found, "r4_factors", name))]
            for name in names
        ]
    header = ["data set", "seeds", "R4c", "R4c, worst", "R4", "H-error", "purity, all rows", "seconds"]
    return [
        Section("Scores", [WHAT], [*header, "paper's R4c"], rows, numbers=range(2, 8)),
        Section("Each true variable", [], ["data set", "variable", "R4c", "R4"], factors, numbers=[2, 3]),
    ]


STAGES = ("structure", "model", "scores")
WHAT = (
    "`disentree run` with nothing set: structure from MIMOSA on the 90 % of the samples that train, scores of the "
    "10 % held out. Mean ± standard deviation over seeds; seconds are of structure, model and scores."
)


def _seconds(results: Results, row: Row, stage: str) -> float:
    return float(results.seconds(row)["stages"].get(stage, 0.0))


def _factor(found: list[Row], kind: str, name: str) -> list[float]:
    return [row[kind][name] for row in found if name in (row.get(kind) or {})]


STUDY = Study(
    name="benchmarks",
    title="The whole run on the benchmarks",
    reproduces="the scores of the paper's text",
    datasets={"quick": CHOPSTICKS, "paper": BENCHMARKS},
    seeds={"quick": 1, "default": 3, "paper": 5},
    scale_descriptions={"quick": "{samples}, the quick preset", "paper": "{samples}, default settings"},
    plan=plan,
    report=report,
)
