"""MIMOSA on tables that are drawn at random from R's data sets: errors, time, and whether people can read the
result."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from disentree.runs.config import RunConfig
from disentree.studies.running.options import Options, Scale, at_scale
from disentree.studies.running.r_tables import check_table, drawn_tables, read_table
from disentree.studies.running.results import Results, Row, Section
from disentree.studies.running.task import Study, Task

DRAWN: dict[Scale, int] = {"quick": 5, "medium": 60, "paper": 150}
WORST = 8  # that are named
LONG_LINES, LONG_LEAVES, LONG_SECONDS = 40, 12, 60  # more than people read, or wait for


def plan(options: Options) -> list[Task]:
    tasks = []
    for seed in options.seeds:
        drawn = tuple((name, _rows_of(name)) for name in options.datasets)
        for name, rows in drawn or drawn_tables(seed, at_scale(DRAWN, options.scale)):
            config = RunConfig(source=name, kind="dataset", seed=seed, n_samples=rows)
            columns = {"dataset": name, "seed": seed}
            tasks.append(Task(columns=columns, config=config, until="structure", method="mimosa-table"))
    return tasks


def _rows_of(name: str) -> int:
    table = read_table(name)
    return 1 if table is None else len(table)


def report(results: Results) -> list[Section]:
    return [_worst(results), _each(results)]


def _worst(results: Results) -> Section:
    rows = results.rows
    seconds = {row["index"]: float(results.seconds(row)["total"]) for row in rows}
    failed = [results.tasks[i].columns["dataset"] for i in results.failed]

    def named(value: Callable[[Row], float], text: Callable[[Row], str]) -> str:
        worst = sorted((row for row in rows if value(row) > 0), key=value, reverse=True)[:WORST]
        return "; ".join(f"{row['dataset']} {text(row)}" for row in worst) or "none"

    def share(title: str, part: str, whole: str) -> list[str]:
        some, n = sum(row[part] for row in rows), sum(row[whole] for row in rows)
        each = named(lambda row: row[part], lambda row: f"{row[part]} of {row[whole]}")
        return [title, f"{some} of {n} ({some / max(n, 1):.1%})", each]

    def count(title: str, key: str, most: int) -> list[str]:
        middle, above = median([row[key] for row in rows]), sum(row[key] > most for row in rows)
        each = named(lambda row: row[key], lambda row: str(row[key]))
        return [title, f"median {middle:g}, {above} above {most}", each]

    times = sorted(seconds.values())
    slow = sum(time > LONG_SECONDS for time in times)
    table = [
        ["errors", f"{len(failed)} of {len(rows) + len(failed)}", "; ".join(failed) or "none"],
        [
            "seconds",
            f"median {median(times):.1f}, longest {times[-1]:.1f}, {slow} above {LONG_SECONDS}",
            named(lambda row: seconds[row["index"]], lambda row: f"{seconds[row['index']]:.0f}"),
        ],
        count("lines of the tree", "lines", LONG_LINES),
        count("leaves", "components", LONG_LEAVES),
        share("variables without a name", "nameless", "variables"),
        share("vague branches", "vague", "branches"),
        share("numbered branches", "numbered", "branches"),
        [
            "support of the weakest leaf",
            _supported(rows),
            named(lambda row: 1 - _support(row), lambda row: f"{_support(row):.2f}"),
        ],
    ]
    text = [
        "R's data sets of 150 to 60,000 rows and 3 to 400 columns, drawn at random by the seed; defaults, one "
        "thread, seconds of processor time.",
        "A variable that is called x, z or c with a number has no name. A branch is vague if its name begins with "
        '"part of" or "mostly", or is "branch" with a number, "stop", "on" or "off", and numbered if it is told '
        "by its share of the rows alone. Support is the least overlap (Jaccard) of a leaf with what parts of the "
        "rows bring back by themselves.",
    ]
    return Section("The worst tables", text, ["", "all", "worst"], table)


def _support(row: Row) -> float:
    return 1.0 if row["support"] is None else float(row["support"])


def _supported(rows: list[Row]) -> str:
    known = [row["support"] for row in rows if row["support"] is not None]
    return f"median {median(known):.2f} of {len(known)} that have one" if known else "none asked"


def _each(results: Results) -> Section:
    keys = ("n_rows", "n_columns", "components", "lines", "variables", "nameless", "branches", "vague", "numbered")
    rows = []
    for row in sorted(results.rows, key=lambda r: -float(results.seconds(r)["total"])):
        support = "" if row["support"] is None else f"{row['support']:.2f}"
        seconds = f"{float(results.seconds(row)['total']):.1f}"
        cells: list[Any] = [f"{row[key]:,}" for key in keys]
        rows.append([row["dataset"], seconds, row["slowest_step"], *cells, row["finder"], support])
    header = [
        "table",
        "seconds",
        "longest step",
        "rows",
        "columns",
        "leaves",
        "lines",
        *keys[4:],
        "finder",
        "support",
    ]
    return Section("Each table, the slowest first", [], header, rows, (1, *range(3, 12), 13))


STUDY = Study(
    name="tables",
    title="MIMOSA on tables drawn at random",
    reproduces="no figure of the paper",
    datasets={"paper": ()},
    seeds={"paper": 1},
    scale_descriptions={
        "quick": f"{DRAWN['quick']} tables of R",
        "default": f"{DRAWN['medium']} tables of R",
        "medium": f"{DRAWN['medium']} tables of R",
        "paper": f"{DRAWN['paper']} tables of R",
    },
    plan=plan,
    report=report,
    check_name=check_table,
)
