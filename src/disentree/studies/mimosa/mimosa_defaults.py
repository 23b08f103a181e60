"""The constants of MIMOSA, each halved and doubled, and the rules of its search, each left out: what breaks, and
which change nothing?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disentree.studies.running.constants import RULES, multiplied, numeric_constants
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Row, Section, mean
from disentree.studies.running.task import Study, Task, make_task

FACTORS = (0.5, 2.0)
# Data sets of every kind: rows, options. Penguins keep their categories and empty cells.
CASES: dict[str, tuple[int | None, dict[str, Any]]] = {
    "chopsticks-depth2-either": (5_000, {}),
    "chopsticks-depth3-both": (5_000, {"noise": 0.01}),
    "nested-curved": (5_000, {"noise": 0.005}),
    "swiss-roll": (4_000, {"noise": 0.005}),
    "equator": (4_000, {"noise": 0.0}),
    "fault-series": (1_500, {}),
    "noisy-leaves": (3_000, {}),
    "product-3": (2_000, {}),
    "clusters": (1_000, {}),
    "blobs": (600, {}),
    "gaussian": (1_000, {}),
    "integers": (1_000, {}),
    "prices": (1_000, {}),
    "bimodal": (1_000, {}),
    "iris": (None, {"numeric": True}),
    "penguins": (None, {}),
    "wine": (None, {"numeric": True}),
}
QUICK = ("blobs", "gaussian", "iris")
QUICK_CONSTANTS = 20  # evenly among all of them
# Seconds each, and of every kind: exact and curved manifolds, products, clusters, tables, no structure.
DEFAULT = ("chopsticks-depth2-either", "swiss-roll", "product-3", "clusters", "gaussian", "iris", "penguins")
RULED = (
    *DEFAULT,
    "chopsticks-depth3-both",
    "nested-curved",
    "equator",
    "fault-series",
    "prices",
    "bimodal",
    "wine",
)
WORSE = 0.1  # of the adjusted Rand index: a change that counts
SETTINGS = ("index", "constant", "factor")  # columns of a row that differ between runs by themselves


def plan(options: Options) -> list[Task]:
    constants = [] if options.scale == "medium" else list(numeric_constants().items())
    if options.scale == "quick":
        constants = constants[:: -(-len(constants) // QUICK_CONSTANTS)]
    changes = [(name, f) for name, value in constants for f in FACTORS if multiplied(value, f) != value]
    changes = [("none", 1.0), *changes, *((rule, 0.0) for rule in RULES)]
    cases = [(dataset, *change) for dataset in options.datasets for change in changes]
    return [
        make_task(
            {"dataset": dataset, "constant": constant, "factor": factor},
            dataset=dataset,
            seed=seed,
            n_samples=_rows(dataset, options.scale),
            until="structure",
            options=CASES.get(dataset, (None, {}))[1],
            method="mimosa",
            extras=("explanation",),
            constants={} if constant == "none" or constant in RULES else {constant: factor},
            without=constant if constant in RULES else None,
        )
        for dataset, constant, factor in cases
        for seed in options.seeds
    ]


def _rows(dataset: str, scale: str) -> int | None:
    rows = CASES.get(dataset, (5_000, {}))[0]
    return rows if rows is None or scale != "quick" else min(rows, 600)


def report(results: Results) -> list[Section]:
    usual = {(row["dataset"], row["seed"]): row for row in results.rows if row["constant"] == "none"}
    changed: dict[tuple[str, float], list[str]] = {}
    other, inert = set(), set()
    for (constant, factor, dataset), rows in _by_change(results).items():
        pairs = [(usual[key], row) for row in rows if (key := (row["dataset"], row["seed"])) in usual]
        (inert if all(_is_same(row, before) for before, row in pairs) else other).add(constant)
        if text := _change(pairs):
            changed.setdefault((constant, factor), []).append(f"{dataset}: {text}")
    for i in results.failed:
        columns = results.tasks[i].columns
        key = columns["constant"], columns["factor"]
        changed.setdefault(key, []).append(f"{columns['dataset']}: fails")
    inert -= other | {constant for constant, _ in changed}
    quiet = other - {constant for constant, _ in changed}
    table = [
        [constant, f"{factor:g}", str(len(how)), "; ".join(how)]
        for (constant, factor), how in changed.items()
        if constant not in RULES
    ]
    known = {row["constant"] for row in results.rows} & set(RULES)
    rules = [
        [rule, str(len(changed.get((rule, 0.0), []))), "; ".join(changed.get((rule, 0.0), []))]
        for rule in RULES
        if rule in known
    ]
    quiet, inert = quiet - set(RULES), inert - set(RULES)
    matter = [
        "MIMOSA with one constant changed, against itself with none changed. A data set is listed if the number "
        f"of leaves differs, or the adjusted Rand index by more than {WORSE:g} (mean over seeds).",
    ]
    return [
        Section(
            "Rules of the search, each left out",
            ["Counted as the constants are; `studies/running/constants.py` says what takes the place of each."],
            ["without", "data sets that change", "how"],
            rules,
            numbers=(1,),
        ),
        Section(
            "Constants that change an answer",
            matter,
            ["constant", "factor", "data sets that change", "how"],
            sorted(table),
            numbers=(1, 2),
        ),
        Section(
            "Constants that change no answer",
            [
                "Bits, dimensions, labels or the explanation differ somewhere, but no number of leaves and no "
                f"adjusted Rand index by more than {WORSE:g}: {_listed(quiet)}.",
                f"Nothing differs on any of these data sets: {_listed(inert)}.",
            ],
        ),
    ]


def _by_change(results: Results) -> dict[tuple[str, float, str], list[Row]]:
    """Rows of all seeds by constant, factor and data set."""
    out: dict[tuple[str, float, str], list[Row]] = {}
    for row in results.rows:
        if row["constant"] != "none":
            out.setdefault((row["constant"], row["factor"], row["dataset"]), []).append(row)
    return out


def _change(pairs: Sequence[tuple[Row, Row]]) -> str:
    """How the answers of all seeds differ from the usual ones, if they do."""
    usual, changed = [before for before, _ in pairs], [after for _, after in pairs]
    leaves, now = ([row["components"] for row in rows] for rows in (usual, changed))
    ari, new = (mean([row["ari"] for row in rows if row.get("ari") is not None]) for rows in (usual, changed))
    if leaves == now and not abs(ari - new) > WORSE:  # of data without labels both are NaN
        return ""
    return f"{mean(leaves):g} to {mean(now):g} leaves, ARI {ari:.2f} to {new:.2f}"


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def with_changes(rows: list[Row]) -> list[Row]:
    """Rows with `changed`: 1 if the leaves, or the adjusted Rand index, are not those of the usual constants; and
    `same`: 1 if nothing at all differs."""
    usual = {(row["dataset"], row["seed"]): row for row in rows if row["constant"] == "none"}
    out = []
    for row in rows:
        before = usual[row["dataset"], row["seed"]]
        out.append({**row, "changed": int(bool(_change([(before, row)]))), "same": int(_is_same(row, before))})
    return out


def _is_same(row: Mapping[str, Any], usual: Mapping[str, Any]) -> bool:
    return all(row.get(key) == usual.get(key) for key in {*row, *usual} - set(SETTINGS))


STUDY = Study(
    name="mimosa-defaults",
    title="The constants of MIMOSA, halved and doubled, and its rules left out",
    reproduces="no figure of the paper",
    datasets={"quick": QUICK, "default": DEFAULT, "medium": RULED, "paper": tuple(CASES)},
    seeds={"quick": 1, "default": 1, "medium": 1, "paper": 2},
    scale_descriptions={
        "quick": f"about {QUICK_CONSTANTS} of the constants and all rules, three data sets of at most 600 rows",
        "default": "all constants and rules, seven data sets",
        "medium": "all rules and no constants, fourteen data sets",
        "paper": "all constants and rules, seventeen data sets, two seeds",
    },
    plan=plan,
    report=report,
    derive=with_changes,
)
