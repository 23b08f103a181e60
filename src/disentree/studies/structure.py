"""MIMOSA and its rivals on data of many kinds: manifolds, clusters, real tables, and data without structure."""

from __future__ import annotations

from typing import Any

from disentree.studies.options import Options
from disentree.studies.results import Results, Row, Section, spread
from disentree.studies.rivals import RIVALS
from disentree.studies.task import Study, Task, make_task

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
        make_task(
            {"dataset": dataset, "options": words_for(data_options), "method": method},
            dataset=dataset,
            seed=seed,
            n_samples=_rows(dataset, options.scale),
            until="structure",
            options=data_options,
            method=method,
        )
        for dataset in options.datasets
        for data_options in CASES.get(dataset, (None, ({},)))[1]
        for method in ("mimosa", *RIVALS)
        for seed in options.seeds
    ]


def _rows(dataset: str, scale: str) -> int | None:
    rows = CASES.get(dataset, (10_000, ()))[0]
    return rows if rows is None or scale != "quick" else min(rows, QUICK)


def words_for(data_options: dict[str, Any]) -> str:
    """Options of a data set, for a table."""
    shown = {name: value for name, value in data_options.items() if name != "numeric"}
    return ", ".join(f"{name} {value:g}" for name, value in shown.items()) or "as it is"


def report(results: Results) -> list[Section]:
    return [_found(results), _compared(results)]


def _found(results: Results) -> Section:
    rows = []
    for dataset, words in cases_in(results):
        if found := results.where(dataset=dataset, options=words, method="mimosa"):
            errors, seconds = results.values("h_error", **case_of(dataset, words)), _seconds(results, found)
            rows.append(
                [
                    dataset,
                    words,
                    _list(found[0].get("true_dimensions")) or str(found[0].get("true_components", "")),
                    "; ".join(dict.fromkeys(_list(row.get("dimensions")) for row in found)),
                    spread(errors, 1) if errors else "",
                    spread(results.values("purity", **case_of(dataset, words))),
                    spread(results.values("saved_bits", **case_of(dataset, words)), 2),
                    "; ".join(dict.fromkeys(row.get("finder", "") for row in found)),
                    "; ".join(dict.fromkeys(_runner_up(row) for row in found)),
                    spread(seconds, 1),
                ]
            )
    header = [
        "data set",
        "options",
        "true leaves",
        "found",
        "H-error",
        "purity",
        "saved bits",
        "finder",
        "runner-up",
    ]
    text = [
        "Defaults, no ground truth. True leaves and found ones by their dimensions; of real tables the number of "
        "groups that have a name. Saved bits are per held-out row, over the best model without structure. The "
        "runner-up with its leaves and the bits that it needs more.",
        "Data is made with seeds from 2000 on; constants were chosen on seeds below 1000, and while looking at "
        "the real tables, which are therefore no evidence.",
    ]
    return Section("What MIMOSA finds", text, [*header, "seconds"], rows, numbers=(4, 5, 6, 9))


def _compared(results: Results) -> Section:
    methods = ["mimosa", *RIVALS]
    rows = []
    for dataset, words in cases_in(results):
        cells = []
        for method in methods:
            found = results.where(dataset=dataset, options=words, method=method)
            values = results.values("ari", dataset=dataset, options=words, method=method)
            cells.append(f"{spread(values, 2)} ({spread(_seconds(results, found), 1)} s)" if values else "–")
        rows.append([dataset, words, *cells])
    text = [
        "Adjusted Rand index against the true leaves or groups, and seconds of processor time. Rivals get "
        "standardized columns; k-means and Ward are told the true number of groups. Of one true "
        "group the index is 1 if one is found and 0 otherwise. – : too many rows for the method.",
    ]
    header = ["data set", "options", "MIMOSA", *(rival.title for rival in RIVALS.values())]
    return Section("Beside its rivals", text, header, rows)


def cases_in(results: Results) -> list[tuple[str, str]]:
    """Data sets with their options, in the order of the runs."""
    return list(dict.fromkeys((task.columns["dataset"], task.columns["options"]) for task in results.tasks))


def case_of(dataset: str, words: str) -> dict[str, str]:
    """What the runs of MIMOSA on one case have in common."""
    return {"dataset": dataset, "options": words, "method": "mimosa"}


def _seconds(results: Results, rows: list[Row]) -> list[float]:
    return [float(results.seconds(row)["total"]) for row in rows]


def _list(dimensions: list[int] | None) -> str:
    if not dimensions:
        return ""
    return " ".join(map(str, dimensions)) if len(dimensions) <= 16 else f"{len(dimensions)} leaves"


def _runner_up(row: Row) -> str:
    if row.get("runner_up") is None:
        return "none"
    return f"{row['runner_up']} ({row['runner_up_components']}, {row['runner_up_bits'] - row['bits']:+.2f})"


_SMALL = tuple(name for name in CASES if name not in FETCHED)

STUDY = Study(
    name="structure",
    title="MIMOSA and its rivals on data of many kinds",
    reproduces="no figure of the paper",
    datasets={
        "quick": ("iris", "blobs", "gaussian", "chopsticks-depth2-either"),
        "default": _SMALL,
        "paper": tuple(CASES),
    },
    seeds={"quick": 1, "default": 1, "paper": 5},
    scale_descriptions={
        "quick": "four data sets of at most 1,000 rows",
        "default": "all data that needs no download",
        "paper": "all data, five seeds",
    },
    plan=plan,
    report=report,
)
