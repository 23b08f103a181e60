"""How long the stages take, and how that grows with the number of rows."""

from __future__ import annotations

import math
from itertools import product

from disentree.studies.figures import Panel, draw_lines
from disentree.studies.published import mimosa_settings, short
from disentree.studies.running.options import Options, Scale, at_scale
from disentree.studies.running.results import Picture, Results, Row, Section, mean
from disentree.studies.running.task import Study, Task, make_task

SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (5_000, 10_000, 20_000),
    "paper": (12_500, 25_000, 50_000, 100_000, 200_000),
}
EPOCHS = 50  # of the paper's networks; fewer are measured, and their time multiplied
# At the largest size; at the smaller ones no more than 2.
MEASURED: dict[Scale, int] = {"quick": 1, "default": 2, "medium": 5, "paper": 50}
STAGES = {"structure": "MIMOSA", "model": "COFHAE", "scores": "scores"}


def plan(options: Options) -> list[Task]:
    tasks = []
    sizes = at_scale(SIZES, options.scale)
    of_paper = [n for n in sizes if n <= 100_000][-3:]
    for dataset, size, seed in product(options.datasets, sizes, options.seeds):
        same = {"dataset": dataset, "seed": seed, "n_samples": size}
        columns = {"dataset": dataset, "method": "default", "n": size}
        tasks.append(make_task(columns, preset=options.preset, **same))
        if size in of_paper:
            epochs = MEASURED[options.scale] if size == of_paper[-1] else min(2, MEASURED[options.scale])
            settings = {**mimosa_settings(dataset), "epochs": epochs}
            own = {"structure": "mimosa-paper", "structure_settings": settings, "preset": "paper"}
            tasks.append(make_task({**columns, "method": "paper"}, epochs=epochs, **own, **same))
    return tasks


def report(results: Results) -> list[Section]:
    rows, steps, growth = [], [], []
    for dataset, method in product(results.levels("dataset"), results.levels("method")):
        found = {n: results.where(dataset=dataset, method=method, n=n) for n in results.levels("n")}
        by_size = {n: runs for n, runs in found.items() if runs}
        for n, runs in by_size.items():
            seconds = {stage: mean([_stage(results, row, stage) for row in runs]) for stage in STAGES}
            total = sum(seconds.values())
            shares = [f"{s:.1f} s ({s / total:.0%})" for s in seconds.values()]
            rows.append([dataset, method, f"{n:,}", *shares, f"{total:.1f} s", _measured(results, runs[0])])
        if by_size:
            n = max(by_size)
            inside = [_inside(results, row) for row in by_size[n]]
            names = dict.fromkeys(step for timings in inside for step in timings)
            timings = ", ".join(f"{step} {mean([t.get(step, 0.0) for t in inside]):.1f} s" for step in names)
            steps.append([dataset, method, f"{n:,}", timings])
        if len(by_size) > 1:
            growth.append([dataset, method, *(f"{_slope(results, by_size, stage):.2f}" for stage in STAGES)])
    header = ["data set", "method", "rows", *STAGES.values(), "together", "measured"]
    text = [
        "Seconds of one thread, mean over seeds, and their share. On flat leaves, as these are, COFHAE's default "
        "trains nothing: its maps are in closed form.",
        f"The paper's method trains its networks for {EPOCHS} epochs. Where fewer were measured, as the last "
        "column says, the time of both trainings, that of MIMOSA's autoencoder and that of COFHAE, is multiplied.",
        "The paper draws means on GPUs without stating numbers, and says that COFHAE takes most of the time.",
    ]
    pictures = [Picture("runtimes", "Seconds against rows, and the share of each stage.", lambda: _draw(results))]
    return [
        Section("Time per stage", text, header, rows, numbers=range(2, 7), pictures=pictures),
        Section("Inside MIMOSA", [], ["data set", "method", "rows", "steps"], steps, numbers=[2]),
        Section(
            "Growth",
            ["The exponent of the number of rows, by least squares over the sizes above: 1 is linear."],
            ["data set", "method", *STAGES.values()],
            growth,
            numbers=[2, 3, 4],
        ),
    ]


def with_shares(rows: list[Row]) -> list[Row]:
    """Rows with shares of the time, in which those of trainings are multiplied."""
    out = []
    for row in rows:
        times = EPOCHS / row["epochs"] if row["method"] == "paper" else 1.0
        training = times * (row.get("structure: representation") or 0.0)
        structure, model = row["structure_seconds"] + training * (1 - 1 / times), times * row["model_seconds"]
        shares = {"training_share": training / structure, "model_share": model / (structure + model)}
        out.append(row | shares | {"model_ms_per_row": 1000 * model / row["n"]})
    return out


def _times(results: Results, row: dict) -> float:
    """By how much the time of trainings is multiplied."""
    return EPOCHS / (results.tasks[row["index"]].config.epochs or EPOCHS)


def _measured(results: Results, row: dict) -> str:
    times = _times(results, row)
    return "all" if times == 1 else f"{EPOCHS / times:g} of {EPOCHS} epochs, multiplied by {times:g}"


def _inside(results: Results, row: dict) -> dict[str, float]:
    """Seconds of the steps of MIMOSA."""
    steps = dict(results.seconds(row)["structure"])
    if "representation" in steps:
        steps["representation"] *= _times(results, row)
    return steps


def _stage(results: Results, row: dict, stage: str) -> float:
    seconds = float(results.seconds(row)["stages"].get(stage, math.nan))
    if stage == "model":
        return seconds * _times(results, row)
    if stage == "structure":
        trained = results.seconds(row)["structure"].get("representation", 0.0)
        return seconds + trained * (_times(results, row) - 1)
    return seconds


def _slope(results: Results, by_size: dict[int, list[dict]], stage: str) -> float:
    import numpy as np

    x = [math.log(n) for n, found in by_size.items() for _ in found]
    y = [math.log(max(1e-3, _stage(results, row, stage))) for found in by_size.values() for row in found]
    return float(np.polyfit(x, y, 1)[0])


def _draw(results: Results):
    panels, methods = [], results.levels("method")
    for dataset in results.levels("dataset"):
        row, shares = [], {label: [] for label in STAGES.values()}
        for method in methods:
            found = results.where(dataset=dataset, method=method)
            sizes = sorted({r["n"] for r in found})
            series = {
                label: [[_stage(results, r, stage) for r in found if r["n"] == n] for n in sizes]
                for stage, label in STAGES.items()
            }
            row.append(Panel(method, sizes, series, log=True, xlabel="rows"))
            largest = [r for r in found if r["n"] == sizes[-1]]
            totals = [sum(_stage(results, r, stage) for stage in STAGES) for r in largest]
            for stage, label in STAGES.items():
                times = [_stage(results, r, stage) for r in largest]
                shares[label].append([100 * t / total for t, total in zip(times, totals, strict=True)])
        row.append(Panel("share of time in %", methods, shares, ylim=(0, 100)))
        panels.append(row)
    return draw_lines(panels, row_labels=[short(d) for d in results.levels("dataset")])


STUDY = Study(
    name="runtimes",
    title="Runtimes",
    reproduces="Figure A.3",
    datasets={
        "quick": ("chopsticks-depth2-either",),
        "medium": ("chopsticks-depth2-either", "chopsticks-depth3-both"),
        "paper": ("chopsticks-depth2-either", "chopsticks-depth3-both", "spaceshapes"),
    },
    seeds={"medium": 1, "paper": 5},
    scale_descriptions={
        "quick": "5,000 to 20,000 samples, the quick preset of COFHAE; one epoch of the paper's networks, "
        "multiplied by 50",
        "default": "12,500 to 200,000 samples; two epochs of the paper's networks, at 25,000 to 100,000 samples, "
        "multiplied by 25",
        "medium": "12,500 to 200,000 samples; five epochs of the paper's networks at 100,000 samples, multiplied "
        "by 10, and two at 25,000 and 50,000, multiplied by 25",
        "paper": "12,500 to 200,000 samples; the paper's networks for 50 epochs at 100,000 samples, and for two "
        "at 25,000 and 50,000, multiplied by 25",
    },
    plan=plan,
    report=report,
    derive=with_shares,
)
