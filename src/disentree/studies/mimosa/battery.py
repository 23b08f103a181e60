"""MIMOSA, which is told no number of clusters, and other clusterings on a public battery of small problems."""

from __future__ import annotations

from importlib.util import find_spec
from statistics import median

from disentree.datasets.files.user_files import digest_of
from disentree.errors import UserError
from disentree.runs.config import RunConfig
from disentree.studies.running.battery_data import DATA, count_rows, names_in
from disentree.studies.running.options import Options
from disentree.studies.running.results import MARGIN, Results, Section, mean
from disentree.studies.running.rivals import OPTIONAL, RIVALS
from disentree.studies.running.task import Study, Task

MOST_ROWS = {"quick": 1_000, "default": 12_000, "paper": 12_000}
COMPARED = ("hdbscan", "gmm", "k-means", "ward", "genie")


def methods() -> dict[str, str]:
    """Titles of MIMOSA and of its rivals that are installed."""
    known = {**RIVALS, **(OPTIONAL if find_spec("genieclust") else {})}
    return {"mimosa": "MIMOSA", **{name: known[name].title for name in COMPARED if name in known}}


def plan(options: Options) -> list[Task]:
    assert options.data is not None
    folder, tasks = options.data.resolve(), []
    for name in options.datasets:
        rows = count_rows(folder, name)
        if rows > _most_rows(options):
            continue
        digest = digest_of(folder / f"{name}{DATA}")
        for method in methods():
            for seed in options.seeds:
                config = RunConfig(
                    source=name,
                    kind="file",
                    digest=digest,
                    seed=seed,
                    n_samples=rows,
                    options={"folder": str(folder)},
                )
                columns = {"dataset": name, "method": method, "seed": seed}
                tasks.append(Task(columns=columns, config=config, until="structure", method=method))
    if not tasks:
        raise UserError(f"all sets have more than {_most_rows(options):,} rows")
    return tasks


def _most_rows(options: Options) -> int:
    return MOST_ROWS.get(options.scale, MOST_ROWS["default"])


def report(results: Results) -> list[Section]:
    shown = {name: title for name, title in methods().items() if results.where(method=name)}
    sets = [name for name in results.levels("dataset") if len(results.values("ari", dataset=name)) >= len(shown)]
    ari = {m: [results.mean("ari", dataset=name, method=m) for name in sets] for m in shown}
    lost = sorted(
        (own - best, name, own, best, by)
        for name, own, rivals in zip(sets, ari.get("mimosa", []), _by_set(ari), strict=False)
        for best, by in [max(rivals, default=(-1.0, ""))]
        if best - own > MARGIN
    )
    seconds = {
        m: [sum(results.seconds(r)["total"] for r in results.where(dataset=s, method=m)) for s in sets]
        for m in shown
    }
    summary = [
        [
            title,
            f"{mean(ari[m]):.3f}",
            f"{median(ari[m]) if ari[m] else float('nan'):.3f}",
            f"{sum(seconds[m]):.0f}",
        ]
        for m, title in shown.items()
    ]
    large = [name for name in results.options.datasets if name not in results.levels("dataset")]
    left_out = (
        f"Left out, since they have more than {_most_rows(results.options):,} rows: {', '.join(large)}."
        if large
        else "No set was left out."
    )
    text = [
        f"Adjusted Rand index against the best of the reference labelings of each of {len(sets)} sets; rows that "
        "a reference calls noise are left out. MIMOSA, HDBSCAN and the Gaussian mixture are told no number of "
        "clusters; the others are told that of the reference. Rows are given to all methods as they are.",
        left_out,
        "Lost by MIMOSA, the widest first (its index, that of the best other method): "
        + ("; ".join(f"{name} ({own:.2f}, {best:.2f} {shown[by]})" for _, name, own, best, by in lost) or "none")
        + ".",
    ]
    header = ["set", "rows", "columns", "clusters", "found", *shown.values()]
    rows = []
    for i, name in enumerate(sets):
        own = results.where(dataset=name, method="mimosa")
        facts = [
            f"{own[0][key]:,}" if own else "" for key in ("n_rows", "n_columns", "true_components", "components")
        ]
        rows.append([name, *facts, *(f"{ari[m][i]:.3f}" for m in shown)])
    return [
        Section(
            "Mean, median, and what is lost", text, ["method", "mean", "median", "seconds"], summary, (1, 2, 3)
        ),
        Section("Each set", [], header, rows, tuple(range(1, len(header)))),
    ]


def _by_set(ari: dict[str, list[float]]) -> list[list[tuple[float, str]]]:
    """For each set the indices of the rivals."""
    rivals = [m for m in ari if m != "mimosa"]
    return [[(ari[m][i], m) for m in rivals] for i in range(len(next(iter(ari.values()), [])))]


STUDY = Study(
    name="battery",
    title="MIMOSA and its rivals on a battery of cluster problems",
    reproduces="no figure of the paper",
    datasets={"paper": ()},
    seeds={"paper": 1},
    scale_descriptions={
        "quick": "sets of at most 1,000 rows",
        "paper": "sets of at most 12,000 rows",
    },
    plan=plan,
    report=report,
    names_in=names_in,
)
