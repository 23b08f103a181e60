"""MIMOSA's default and the paper's preset on the benchmarks: `results/mimosa.md`.

    python benchmarks/mimosa_table.py [--seeds 0 1 2 3 4] [--datasets NAME ...] [--models default paper]
                                      [--n-samples 100000] [--out results/mimosa] [--from-runs FOLDER ...]

Every run is a line of `OUT.jsonl` as soon as it is done; runs that are there already are not repeated, so the
command can be stopped and called again. The table is written anew from all lines at the end. As in the paper,
structure is found on the 90 % of the samples that train. `--from-runs` takes the default's result from finished
folders of `disentree run` instead of finding it again.
"""

import argparse
import itertools
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

from disentree import MIMOSA, __version__
from disentree.datasets import list_datasets, load_dataset
from disentree.metrics import coverage_score, h_error, purity_score
from disentree.runs.folder import Run
from disentree.studies.published import MIMOSA_SETTINGS, TABLE1


def run(name: str, seed: int, model: str, n_samples: int) -> dict:
    ds = load_dataset(name, n_samples, seed=seed)
    n_train = round(0.9 * n_samples)
    X, true = ds.X[:n_train], ds.paths[:n_train]
    m = (
        MIMOSA(random_state=seed)
        if model == "default"
        else MIMOSA.paper(random_state=seed, **MIMOSA_SETTINGS[name])
    )
    start = time.perf_counter()
    m.fit(X)
    return {
        "dataset": name,
        "seed": seed,
        "model": model,
        "n_samples": n_samples,
        "h_error": h_error(m.hierarchy_, ds.hierarchy),
        "core_purity": purity_score(true, m.core_labels_),
        "core_coverage": coverage_score(m.core_labels_),
        "purity": purity_score(true, m.labels_),
        "components": len(m.components_),
        "description_length": m.description_length_,
        "seconds": time.perf_counter() - start,
        "timings": m.timings_,
    }


def from_run(folder: Path) -> dict:
    run = Run.open(folder)
    assert run.config.structure == "mimosa"
    structure, rows, data = run.read_json("structure.json"), run.read_npz("labels.npz"), run.data
    true = data.hierarchy.path_of(data.codes)[rows["train"]]
    return {
        "dataset": run.config.source,
        "seed": run.config.seed,
        "model": "default",
        "n_samples": run.config.n_samples,
        "h_error": h_error(run.hierarchy, data.hierarchy),
        "core_purity": purity_score(true, rows["core_labels"]),
        "core_coverage": coverage_score(rows["core_labels"]),
        "purity": purity_score(true, rows["labels"]),
        "components": len(structure["components"]),
        "description_length": structure["description_length"],
        "seconds": sum(structure["timings"].values()),
        "timings": structure["timings"],
    }


def table(lines: list[dict]) -> str:
    rows = []
    for info in list_datasets():
        for model in ("default", "paper"):
            runs = [line for line in lines if (line["dataset"], line["model"]) == (info.name, model)]
            if not runs:
                continue

            def spread(key: str, digits: int, runs: list[dict] = runs) -> str:
                values = np.array([line[key] for line in runs])
                return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}"

            seconds = np.median([line["seconds"] for line in runs])
            published = " / ".join(f"{TABLE1[info.name][key][0]:g}" for key in ("purity", "coverage", "h_error"))
            rows.append(
                f"| {info.name} | {model} | {len(runs)} | {spread('h_error', 2)} | {spread('core_purity', 4)} "
                f"| {spread('core_coverage', 4)} | {spread('purity', 4)} | {seconds:.0f} "
                f"| {published} |"
            )
    head = (
        "| data set | model | seeds | H-error | purity, core | coverage, core | purity, all labelled points "
        "| median seconds | the paper's purity / coverage / H-error |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows)


def main() -> None:
    names = [info.name for info in list_datasets()]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--datasets", nargs="+", default=names, choices=names)
    parser.add_argument("--models", nargs="+", default=["default", "paper"], choices=["default", "paper"])
    parser.add_argument("--n-samples", type=int, default=100_000)
    parser.add_argument("--from-runs", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path("results/mimosa"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    store = args.out.with_suffix(".jsonl")
    lines = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {(r["dataset"], r["seed"], r["model"], r["n_samples"]) for r in lines}
    todo = [(name, seed, model) for model in args.models for name in args.datasets for seed in args.seeds]
    if args.from_runs:
        todo = []
    found = (run(*what, args.n_samples) for what in todo if (*what, args.n_samples) not in done)
    for line in itertools.chain(map(from_run, args.from_runs), found):
        line |= {"disentree": __version__, "numpy": np.__version__}
        lines.append(line)
        with store.open("a") as file:
            file.write(json.dumps(line) + "\n")
        shown = {k: line[k] for k in ("h_error", "core_purity", "core_coverage", "purity", "seconds")}
        print(line["dataset"], line["seed"], line["model"], shown, file=sys.stderr, flush=True)
    sizes = sorted({line["n_samples"] for line in lines})
    args.out.with_suffix(".md").write_text(
        "# MIMOSA on the benchmarks\n\n"
        f"Made by `python benchmarks/mimosa_table.py`, a line per run in `{store.name}`. "
        f"{' and '.join(f'{n:,}' for n in sizes)} samples, of which structure is found on 90 %; mean ± standard "
        f"deviation over seeds; disentree {__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores of {platform.machine()}, no GPU. Seconds were taken on a machine that was doing "
        "other work too.\n\nThe default has no setting for any data set. The paper's preset is given the settings "
        "that the paper took from the truth; it leaves points out, so its last purity equals its first.\n\n"
        f"{table(lines)}\n"
    )


if __name__ == "__main__":
    main()
