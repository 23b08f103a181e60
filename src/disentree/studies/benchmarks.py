"""The whole run, from data to scores, on the paper's benchmarks with default settings."""

from __future__ import annotations

from disentree.studies.disentanglement import stated
from disentree.studies.options import Options
from disentree.studies.published import BENCHMARKS, CHOPSTICKS, n_samples
from disentree.studies.results import Results, Row, Section, mean, spread
from disentree.studies.task import Study, Task, make_task


def plan(options: Options) -> list[Task]:
    return [
        make_task(
            {"dataset": dataset, "model": "cofhae"},
            dataset=dataset,
            seed=seed,
            n_samples=n_samples(dataset, options.scale),
            preset="quick" if options.scale == "quick" else "default",
        )
        for dataset in options.datasets
        for seed in options.seeds
    ]


def report(results: Results) -> list[Section]:
    rows, factors = [], []
    for dataset in results.levels("dataset"):
        found = results.where(dataset=dataset)
        r4c = results.values("r4c", dataset=dataset)
        if not r4c:
            continue
        stages = [mean([_seconds(results, row, stage) for row in found]) for stage in STAGES]
        rows.append(
            [
                dataset,
                ", ".join(str(row["seed"]) for row in found),
                spread(r4c),
                f"{min(r4c):.3f}",
                spread(results.values("r4", dataset=dataset)),
                spread(results.values("h_error", dataset=dataset), 1),
                spread(results.values("purity_all_rows", dataset=dataset)),
                " + ".join(f"{seconds:.0f}" for seconds in stages),
                stated(dataset),
            ]
        )
        names = dict.fromkeys(name for row in found for name in row.get("factors") or {})
        factors += [
            [dataset, name, spread(_factor(found, "factors", name)), spread(_factor(found, "r4_factors", name))]
            for name in names
        ]
    header = [
        "data set",
        "seeds",
        "R4c",
        "R4c, worst",
        "R4",
        "H-error",
        "purity, all rows",
        "seconds",
        "paper's R4c",
    ]
    return [
        Section("Scores", [WHAT], header, rows, numbers=range(2, 8)),
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
    datasets={"quick": CHOPSTICKS, "default": BENCHMARKS, "paper": BENCHMARKS},
    seeds={"quick": 1, "default": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, the quick preset",
        "default": "{samples}, default settings",
        "paper": "{samples}, default settings",
    },
    plan=plan,
    report=report,
)
