"""Where MIMOSA puts variables: once above the branches that share them, or on each."""

from __future__ import annotations

from typing import Any

from disentree.datasets.generated.chopsticks import VARIANTS
from disentree.studies.mimosa.structure import label_task, seconds_of
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Section, spread
from disentree.studies.running.task import Study, Task

QUICK = 2000
ROWS = 8000
FIRST_TREE = 4000  # of random trees; what they share was developed on numbers below 1000
METHODS = ("mimosa", "mimosa-down")
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat": ("", {}),
    "noise .01": ("", {"noise": 0.01}),
    "curved": ("-curved", {}),
}
OTHERS = (
    *(f"chopsticks-depth{depth}-{variant}" for depth in (2, 3) for variant in VARIANTS),
    *("product-2", "product-3", "triangle-edges", "nested-curved", "robot-arm"),
)


def trees(n: int, first: int = FIRST_TREE) -> tuple[str, ...]:
    """Random trees in the three kinds."""
    return tuple(f"branches-{first + i}{end}" for end in ("", "-curved") for i in range(n))


def plan(options: Options) -> list[Task]:
    rows = QUICK if options.scale == "quick" else ROWS
    tasks = []
    for dataset in options.datasets:
        noisy = dataset.startswith("branches") and not dataset.endswith("curved")
        for own in ({}, {"noise": 0.01}) if noisy else ({},):
            for method in METHODS:
                for seed in options.seeds:
                    task = label_task(dataset, seed, own, rows, method)
                    tasks.append(task.model_copy(update={"extras": ("placement",)}))
    return tasks


def report(results: Results) -> list[Section]:
    def line(title: str, **here: Any) -> list[str]:
        cells = [title]
        for method in METHODS:
            found = [row for row in results.where(method=method) if _is_of(row, **here)]
            errors = [row["placement_error"] for row in found if "placement_error" in row]
            cells += [f"{sum(error == 0 for error in errors)} of {len(errors)}"]
            cells += [spread([row[name] for row in found if name in row], 3) for name in ("r4", "r4c")]
            if method == "mimosa":
                known = [row for row in found if row.get("h_error") == 0 and "variables" in row]
                above = sum(row["variables"] < row["true_variables"] for row in known)
                cells += [f"{above} of {len(known)}", seconds_of(results, found)]
        return cells

    random = [line(f"random trees, {kind}", kind=kind) for kind in KINDS]
    datasets = dict.fromkeys(task.config.source for task in results.tasks)
    rows = random + [line(name, dataset=name) for name in datasets if not name.startswith("branches")]
    text = [
        "A tree is right if its placement error is 0: every variable once above all branches on which it does the "
        "same, and on each where only some have it. Where the H-error is 0, fewer variables than the truth has "
        "were moved up and should not have been.",
    ]
    header = ["data", "right", "R4", "R4c", "moved wrongly", "seconds", "right, down", "R4, down", "R4c, down"]
    return [Section("Where variables stand", text, header, [row for row in rows if row[1] != "0 of 0"])]


def _is_of(row: Any, kind: str | None = None, dataset: str | None = None) -> bool:
    if kind is None:
        return row["dataset"] == dataset
    end, own = KINDS[kind]
    is_tree = row["dataset"].startswith("branches")
    return (
        is_tree
        and row["dataset"].endswith(end or tuple("0123456789"))
        and ("noise" in row["options"]) == bool(own)
    )


STUDY = Study(
    name="placement",
    title="Where variables stand",
    reproduces="no figure of the paper, which leaves the question to future work",
    datasets={
        "quick": ("branches-4", "branches-9", "chopsticks-depth2-slope"),
        "default": (*trees(5), *OTHERS),
        "paper": (*trees(30), *OTHERS),
    },
    seeds={"quick": 1, "default": 1, "paper": 1},
    scale_descriptions={
        "quick": "three data sets of 2,000 rows",
        "default": "five random trees of each kind, Chopsticks, products and curved data, 8,000 rows",
        "paper": "thirty random trees of each kind",
    },
    plan=plan,
    report=report,
)
