"""MIMOSA and its rivals on data of many kinds: manifolds, clusters, real tables, and data without structure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Row, Section, spread
from disentree.studies.running.rivals import RIVALS
from disentree.studies.running.task import Study, Task, make_task

# Rows by scale (None: all that there are), and options of the data set; each is a line of the table.
QUICK = 1000
CASES: dict[str, tuple[int | None, tuple[dict[str, Any], ...]]] = {
    "chopsticks-depth2-either": (10_000, ({}, {"noise": 0.01})),
    "chopsticks-depth3-either": (20_000, ({}, {"noise": 0.003})),
    "nested-curved": (20_000, ({"noise": 0.0}, {"noise": 0.005}, {"noise": 0.02})),
    "swiss-roll": (20_000, ({"noise": 0.0}, {"noise": 0.005})),
    "equator": (20_000, ({"noise": 0.0}, {"noise": 0.005})),
    "circles-disc": (20_000, ({"noise": 0.0}, {"noise": 0.005})),
    "robot-arm": (8_000, ({"noise": 0.0}, {"noise": 0.001})),
    "humid-air": (6_000, ({},)),
    "fault-series": (1_500, ({},)),
    "noisy-leaves": (5_000, ({},)),
    "clusters": (2_000, ({},)),
    "blobs": (2_000, ({},)),
    "gaussian": (2_000, ({},)),
    "cube": (2_000, ({},)),
    "integers": (1_500, ({},)),
    "wine": (None, ({"numeric": True},)),
    "penguins": (None, ({"numeric": True},)),
    "iris": (None, ({"numeric": True},)),
    "breast-cancer": (None, ({"numeric": True},)),
    "digits": (None, ({"numeric": True},)),
    "minerals": (None, ({"numeric": True},)),
}
FETCHED = ("minerals",)  # by the user's pip, when first asked for


def plan(options: Options) -> list[Task]:
    return [
        label_task(dataset, seed, own, _rows(dataset, options.scale), method)
        for dataset in options.datasets
        for own in CASES.get(dataset, (None, ({},)))[1]
        for method in ("mimosa", *RIVALS)
        for seed in options.seeds
    ]


def label_task(
    dataset: str, seed: int, data_options: dict[str, Any], n_samples: int | None, method: str = "mimosa"
) -> Task:
    """Labels of the rows of a data set, by a method and its defaults."""
    return make_task(
        {"dataset": dataset, "options": words_for(data_options), "method": method},
        dataset=dataset,
        seed=seed,
        n_samples=n_samples,
        until="structure",
        options=data_options,
        method=method,
    )


def _rows(dataset: str, scale: str) -> int | None:
    rows = CASES.get(dataset, (10_000, ()))[0]
    return rows if rows is None or scale != "quick" else min(rows, QUICK)


def words_for(data_options: dict[str, Any]) -> str:
    """Options of a data set, for a table."""
    shown = {name: value for name, value in data_options.items() if name != "numeric"}
    words = (f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}" for name, value in shown.items())
    return ", ".join(words) or "as it is"


def report(results: Results) -> list[Section]:
    return [_found(results), _compared(results)]


def _found(results: Results) -> Section:
    rows = []
    for here in cases_in(results):
        if found := results.where(**here):
            of_truth = _list(found[0].get("true_dimensions")) or str(found[0].get("true_components", ""))
            rows.append(
                [
                    here["dataset"],
                    here["options"],
                    of_truth,
                    different(_list(row.get("dimensions")) for row in found),
                    results.spread("h_error", 1, **here),
                    results.spread("purity", **here),
                    results.spread("saved_bits", 2, **here),
                    different(row.get("finder", "") for row in found),
                    different(_runner_up(row) for row in found),
                    seconds_of(results, found),
                ]
            )
    header = ["data set", "options", "true leaves", "found", "H-error", "purity", "saved bits"]
    text = [
        "Defaults, no ground truth. True leaves and found ones by their dimensions; of real tables the number of "
        "groups that have a name. Saved bits are per held-out row, over the best model without structure. The "
        "runner-up with its leaves and the bits that it needs more.",
        "Data is made with seeds from 2000 on; constants were chosen on seeds below 1000, and while looking at "
        "the real tables, which are therefore no evidence.",
    ]
    return Section(
        "What MIMOSA finds", text, [*header, "finder", "runner-up", "seconds"], rows, numbers=(4, 5, 6, 9)
    )


def _compared(results: Results) -> Section:
    rows = []
    for here in cases_in(results):
        cells = []
        for method in ("mimosa", *RIVALS):
            there = {**here, "method": method}
            seconds = seconds_of(results, results.where(**there))
            ari = results.spread("ari", 2, **there)
            cells.append(f"{ari} ({seconds} s)" if ari else "–")
        rows.append([here["dataset"], here["options"], *cells])
    text = [
        "Adjusted Rand index against the true leaves or groups, and seconds of processor time. Rivals get "
        "standardized columns; k-means and Ward are told the true number of groups. Of one true "
        "group the index is 1 if one is found and 0 otherwise. – : too many rows for the method.",
    ]
    header = ["data set", "options", "MIMOSA", *(rival.title for rival in RIVALS.values())]
    return Section("Beside its rivals", text, header, rows)


def cases_in(results: Results) -> list[dict[str, Any]]:
    """What the runs of MIMOSA on each data set with its options have in common, in the order of the runs."""
    cases = dict.fromkeys((task.columns["dataset"], task.columns["options"]) for task in results.tasks)
    return [{"dataset": dataset, "options": words, "method": "mimosa"} for dataset, words in cases]


def seconds_of(results: Results, rows: list[Row]) -> str:
    """Processor time of runs, for a table."""
    return spread([float(results.seconds(row)["total"]) for row in rows], 1)


def different(words: Iterable[str]) -> str:
    """What runs found, each answer once."""
    return "; ".join(dict.fromkeys(words))


def _list(dimensions: list[int] | None) -> str:
    if not dimensions:
        return ""
    return " ".join(map(str, dimensions)) if len(dimensions) <= 16 else f"{len(dimensions)} leaves"


def _runner_up(row: Row) -> str:
    if row.get("runner_up") is None:
        return "none"
    return f"{row['runner_up']} ({row['runner_up_components']}, {row['runner_up_bits'] - row['bits']:+.2f})"


STUDY = Study(
    name="structure",
    title="MIMOSA and its rivals on data of many kinds",
    reproduces="no figure of the paper",
    datasets={
        "quick": ("iris", "blobs", "gaussian", "chopsticks-depth2-either"),
        "default": tuple(name for name in CASES if name not in FETCHED),
        "paper": tuple(CASES),
    },
    seeds={"default": 1, "paper": 5},
    scale_descriptions={
        "quick": "four data sets of at most 1,000 rows",
        "default": "all data that needs no download",
        "paper": "all data, five seeds",
    },
    plan=plan,
    report=report,
)
