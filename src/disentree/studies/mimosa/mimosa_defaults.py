"""The constants of MIMOSA, each halved and doubled: what breaks?"""

from __future__ import annotations

from typing import Any

from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Row, Section
from disentree.studies.running.task import Study, Task, make_task

# Constants by module and name; each says in its module why it has its value.
CONSTANTS = (
    "coordinates.choosing:SAME_UNIT",
    "search.search:DOUBT",
    "search.judge:HELD_OUT",
    "search.search:THIN",
    "search.search:HIGHER",
    "search.search:LOOKED_AT",
    "search.regions:FEWEST",
    "search.regions:ROWS",
    "search.regions:THINNEST",
    "search.regions:THINNER",
    "search.regions:COARSER",
    "search.regions:FLAT",
    "search.regions:TOUCHING",
    "tree.enclosure:UNLIKELY",
    "tree.enclosure:WITHIN",
    "finders.flats.subspaces:EXACT",
    "finders.flats.subspaces:SOME",
    "finders.flats.subspaces:MOSTLY",
    "finders.flats.subspaces:FILLED",
    "finders.flats.subspaces:APART",
    "finders.flats.subspaces:CONNECTING",
)
FACTORS = (0.5, 2.0)
# A dozen data sets: rows, options.
CASES: dict[str, tuple[int | None, dict[str, Any]]] = {
    "chopsticks-depth2-either": (5_000, {}),
    "chopsticks-depth3-both": (5_000, {"noise": 0.01}),
    "nested-curved": (5_000, {"noise": 0.005}),
    "swiss-roll": (4_000, {"noise": 0.005}),
    "equator": (4_000, {"noise": 0.0}),
    "fault-series": (1_500, {}),
    "noisy-leaves": (3_000, {}),
    "clusters": (1_000, {}),
    "blobs": (600, {}),
    "gaussian": (1_000, {}),
    "integers": (1_000, {}),
    "iris": (None, {"numeric": True}),
    "penguins": (None, {"numeric": True}),
}
QUICK = ("blobs", "gaussian", "iris")
# Seconds each, and of every kind: exact, noisy and curved manifolds, clusters, a table, no structure.
DEFAULT = ("chopsticks-depth2-either", "swiss-roll", "clusters", "gaussian", "iris", "penguins")
WORSE = 0.1  # of the adjusted Rand index: a change that counts


def plan(options: Options) -> list[Task]:
    changes: list[tuple[str, float]] = [("none", 1.0)]
    changes += [(constant, factor) for constant in CONSTANTS for factor in FACTORS]
    return [
        make_task(
            {"dataset": dataset, "constant": constant.replace(":", " "), "factor": factor},
            dataset=dataset,
            seed=seed,
            n_samples=_rows(dataset, options.scale),
            until="structure",
            options=CASES.get(dataset, (None, {}))[1],
            method="mimosa",
            constants={} if constant == "none" else {constant: factor},
        )
        for dataset in options.datasets
        for constant, factor in changes
        for seed in options.seeds
    ]


def _rows(dataset: str, scale: str) -> int | None:
    rows = CASES.get(dataset, (5_000, {}))[0]
    return rows if rows is None or scale != "quick" else min(rows, 600)


def report(results: Results) -> list[Section]:
    header = ["constant", "factor", "data sets that change", "how"]
    rows = []
    for constant in CONSTANTS:
        for factor in FACTORS:
            broken = [text for d in results.levels("dataset") if (text := _change(results, d, constant, factor))]
            rows.append([constant.replace(":", " "), f"{factor:g}", str(len(broken)), "; ".join(broken)])
    text = [
        "MIMOSA with one constant changed, against itself with none changed. A data set is listed if the number "
        f"of leaves differs, or the adjusted Rand index by more than {WORSE:g} (mean over seeds).",
    ]
    return [Section("Each constant on its own", text, header, rows, numbers=(1, 2))]


def _change(results: Results, dataset: str, constant: str, factor: float) -> str:
    usual = {"dataset": dataset, "constant": "none"}
    other = {"dataset": dataset, "constant": constant.replace(":", " "), "factor": factor}
    leaves, changed = results.values("components", **usual), results.values("components", **other)
    if not leaves or not changed:
        return ""
    before, after = results.mean("ari", **usual), results.mean("ari", **other)
    if leaves == changed and abs(before - after) <= WORSE:
        return ""
    shown = f"{_mean(leaves)} to {_mean(changed)} leaves, ARI {before:.2f} to {after:.2f}"
    return f"{dataset}: {shown}"


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):g}"


def with_changes(rows: list[Row]) -> list[Row]:
    """Rows with `changed`: 1 if the leaves, or the adjusted Rand index, are not those of the usual constants."""
    usual = {(row["dataset"], row["seed"]): row for row in rows if row["constant"] == "none"}
    return [{**row, "changed": int(_differ(row, usual[row["dataset"], row["seed"]]))} for row in rows]


def _differ(row: Row, usual: Row) -> bool:
    score, before = row.get("ari"), usual.get("ari")
    apart = score is not None and before is not None and abs(score - before) > WORSE
    return row["components"] != usual["components"] or apart


STUDY = Study(
    name="mimosa-defaults",
    title="The constants of MIMOSA, halved and doubled",
    reproduces="no figure of the paper",
    datasets={"quick": QUICK, "default": DEFAULT, "paper": tuple(CASES)},
    seeds={"quick": 1, "default": 1, "paper": 3},
    scale_descriptions={
        "quick": "three data sets of at most 600 rows",
        "default": "six data sets",
        "paper": "a dozen data sets, three seeds",
    },
    plan=plan,
    report=report,
    derive=with_changes,
)
