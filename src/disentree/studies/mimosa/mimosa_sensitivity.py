"""The settings of the paper's MIMOSA, one at a time around their values, and two of its steps left out."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

from disentree.studies.figures import Panel, draw_lines
from disentree.studies.published import mimosa_settings, short
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Section, spread
from disentree.studies.running.task import Study, Task, make_task
from disentree.studies.structures import EPOCHS, NAMES

# Values around the paper's, and the paper's; ransac_frac 1 is no second SVD, contagion_num 1 no contagion.
_SETTINGS: dict[str, tuple[tuple[float, ...], float]] = {
    "num_nearest_neighbors": ((15, 25, 40, 60, 80), 40),
    "ransac_frac": ((1 / 3, 0.5, 2 / 3, 0.8, 1.0), 2 / 3),
    "eig_cumsum_thresh": ((0.8, 0.9, 0.95, 0.98, 0.99), 0.95),
    "eig_decay_thresh": ((2, 3, 4, 6, 10), 4),
    "cos_simil_thresh": ((0.9, 0.95, 0.98, 0.99, 0.995, 0.999), 0.99),
    "contagion_num": ((1, 2, 3, 5, 8, 12), 5),
    "min_size_init": ((0.0, 0.0001, 0.0002, 0.0005, 0.002), 0.0002),
    "min_size_merged": ((0.002, 0.005, 0.02, 0.05, 0.1), 0.02),
    "min_common_edge_frac": ((0.25, 0.5, 1.0, 1.5, 2.0), 1.0),
    "neighbor_lengthscale_mult": ((2, 5, 10, 20, 50), 10),
}
GRID = {name: values for name, (values, _) in _SETTINGS.items()}
USUAL = {name: usual for name, (_, usual) in _SETTINGS.items()}
MORE_DIMENSIONS = (-1, 0, 1, 2, 4)  # than the paper's initial_dim
PLACES = {"purity": 2, "coverage": 2, "h_error": 1}


def plan(options: Options) -> list[Task]:
    tasks: list[Task] = []
    for dataset, seed in product(options.datasets, options.seeds):
        usual, task = mimosa_settings(dataset), partial(_task, options, dataset, seed)
        base = task("usual", 0, extras=("representation",))
        dims = [usual["initial_dim"] + more for more in MORE_DIMENSIONS if more]
        tasks += [base, *(task("initial_dim", dim) for dim in dims)]
        for setting, values in GRID.items():
            others = (value for value in values if value != usual.get(setting, USUAL[setting]))
            tasks += [task(setting, value, embedding_from=base) for value in others]
    return tasks


def _task(options: Options, dataset: str, seed: int, setting: str, value: float, **more: Any) -> Task:
    """The paper's MIMOSA with one setting changed, or with none, which is the setting "usual"."""
    usual = {**mimosa_settings(dataset), "epochs": EPOCHS[options.scale]}
    return make_task(
        {"dataset": dataset, "setting": setting, "value": round(value, 6)},
        dataset=dataset,
        seed=seed,
        n_samples=options.n_samples(dataset),
        until="structure",
        structure="mimosa-paper",
        structure_settings=usual if setting == "usual" else {**usual, setting: value},
        **more,
    )


def report(results: Results) -> list[Section]:
    header = ["setting", "data set", *(f"{name}, by value" for name in NAMES.values())]
    rows = []
    for setting, dataset in product(("initial_dim", *GRID), results.levels("dataset")):
        line = _line(results, dataset, setting)
        if len(line) > 1:
            cells = [
                ", ".join(f"{value:g}: {spread(found[name], places)}" for value, found in line.items())
                for name, places in PLACES.items()
            ]
            rows.append([setting, dataset, *cells])
    steps = []
    for dataset in results.levels("dataset"):
        usual = {"dataset": dataset, "setting": "usual"}
        for setting, step in (("contagion_num", "contagion"), ("ransac_frac", "RANSAC")):
            without = {"dataset": dataset, "setting": setting, "value": 1}
            if results.where(**without) and results.where(**usual):
                cells = [f"{results.spread(n, **usual)} → {results.spread(n, **without)}" for n in NAMES]
                steps.append([dataset, step, *cells])
    pictures = [Picture("mimosa-sensitivity", CAPTION, lambda: _draw(results))]
    return [
        Section("Each setting on its own", [WHAT], header, rows, pictures=pictures),
        Section(
            "Steps left out",
            ["contagion_num 1 is no contagion; ransac_frac 1 is no second SVD. From with to without."],
            ["data set", "without", *NAMES.values()],
            steps,
        ),
    ]


def _line(results: Results, dataset: str, setting: str) -> dict[float, dict[str, list[float]]]:
    """What was found at each value of a setting, in order; the usual runs count for the usual value."""
    found = {row["value"] for row in results.where(dataset=dataset, setting=setting)}
    out = {
        value: {n: results.values(n, dataset=dataset, setting=setting, value=value) for n in NAMES}
        for value in found
    }
    if found and results.where(dataset=dataset, setting="usual"):
        out[_usual(dataset, setting)] = {n: results.values(n, dataset=dataset, setting="usual") for n in NAMES}
    return dict(sorted(out.items()))


def _usual(dataset: str, setting: str) -> float:
    return round(mimosa_settings(dataset).get(setting, USUAL.get(setting, 0)), 6)


def _draw(results: Results):
    panels, labels = [], []
    for setting in ("initial_dim", *GRID):
        lines = {d: _line(results, d, setting) for d in results.levels("dataset")}
        values = sorted({value for line in lines.values() for value in line})
        if not values:
            continue
        marked, row = _usual(results.levels("dataset")[0], setting), []
        for name, label in NAMES.items():
            series = {short(d): [line[v][name] if v in line else [] for v in values] for d, line in lines.items()}
            row.append(Panel(label, values, series, marked))
        panels.append(row)
        labels.append(setting)
    return draw_lines(panels, row_labels=labels, height=1.7)


WHAT = (
    "The paper's MIMOSA with one setting changed; all but initial_dim share an initial representation for each "
    "seed. Where no component is left, coverage is 0, there is no purity, and the tree is a bare root. "
    "min_common_edge_frac is a multiple of the paper's 2^-(d+1) + 2^-(d+2)."
)
CAPTION = (
    "Purity, coverage and H-error when one setting differs from its usual value (dotted; initial_dim: that of the "
    "first data set)."
)

STUDY = Study(
    name="mimosa-sensitivity",
    title="Sensitivity of the paper's MIMOSA to its settings",
    reproduces="Figure A.5",
    datasets={"paper": ("chopsticks-depth2-both", "chopsticks-depth2-either", "chopsticks-depth3-slope")},
    seeds={"default": 1, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, 20 epochs of the initial autoencoder; the paper does not name its data sets",
        "default": "{samples}, 10 epochs of the initial autoencoder; the paper does not name its data sets",
        "paper": "{samples}, 50 epochs of the initial autoencoder; the paper does not name its data sets",
    },
    plan=plan,
    report=report,
)
