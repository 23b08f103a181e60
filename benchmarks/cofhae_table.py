"""The whole run, from data to scores, on the benchmarks: `results/cofhae.md`.

    python benchmarks/cofhae_table.py [--seeds 0 1 2] [--datasets NAME ...] [--n-samples 100000]
                                      [--runs runs/cofhae] [--out results/cofhae]

Each is `disentree run NAME --seed SEED` up to its scores: 90 % of the samples train, structure comes from MIMOSA,
scores are of the 10 % held out. Every run is a folder below RUNS and a line of `OUT.jsonl`; what is there already
is not repeated, so the command can be stopped and called again.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

from disentree import __version__
from disentree.datasets import list_datasets
from disentree.runs import RunConfig, finish_run, start_run

# What the paper's text says of R4c. Its figure has no numbers.
PUBLISHED = dict.fromkeys((info.name for info in list_datasets()), "near 1")
PUBLISHED |= dict.fromkeys(("chopsticks-depth3-both", "chopsticks-depth3-either"), "below 1")
PUBLISHED["spaceshapes"] = ".89, best run"
STAGES = ("structure", "model", "scores")


def run(name: str, seed: int, n_samples: int, runs: Path) -> dict:
    folder = runs / f"{name}-{n_samples}-{seed}"
    run = start_run(RunConfig.of(name, seed=seed, n_samples=n_samples), folder)
    finish_run(run, until="scores")
    scores, own = run.metrics["scores"], run.metrics["scores_without_truth"]
    seconds = {stage: run.stages[stage]["seconds"] for stage in STAGES}
    return {
        "dataset": name,
        "seed": seed,
        "n_samples": n_samples,
        "r4c": scores["r4c"],
        "r4": scores["r4"],
        "h_error": scores["h_error"],
        "factors": {factor["factor"]: round(factor["score"], 4) for factor in run.metrics["factors"]},
        "error": own["reconstruction_error_per_row"],
        "seconds": seconds,
        "disentree": __version__,
        "cores": os.cpu_count(),
    }


def table(lines: list[dict]) -> str:
    rows = []
    for info in list_datasets():
        runs = sorted((line for line in lines if line["dataset"] == info.name), key=lambda line: line["seed"])
        if not runs:
            continue
        r4c = np.array([line["r4c"] for line in runs])
        h_errors = ", ".join(f"{line['h_error']:g}" for line in runs)
        error = np.mean([line["error"] for line in runs])
        parts = [np.median([line["seconds"][stage] for line in runs]) for stage in STAGES]
        seeds = ", ".join(str(line["seed"]) for line in runs)
        rows.append(
            f"| {info.name} | {seeds} | {r4c.mean():.4f} | {r4c.min():.4f} "
            f"| {h_errors} | {error:.1e} | {' + '.join(f'{s:.0f}' for s in parts)} | {PUBLISHED[info.name]} |"
        )
    head = (
        "| data set | seeds | R4c, mean | R4c, worst | H-error | squared error per row "
        "| seconds: structure + model + scores | the paper's R4c |\n|---|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows)


def main() -> None:
    names = [info.name for info in list_datasets()]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--datasets", nargs="+", default=names, choices=names)
    parser.add_argument("--n-samples", type=int, default=100_000)
    parser.add_argument("--runs", type=Path, default=Path("runs/cofhae"))
    parser.add_argument("--out", type=Path, default=Path("results/cofhae"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    store = args.out.with_suffix(".jsonl")
    lines = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {(line["dataset"], line["seed"], line["n_samples"]) for line in lines}
    for name in args.datasets:
        for seed in args.seeds:
            if (name, seed, args.n_samples) in done:
                continue
            line = run(name, seed, args.n_samples, args.runs)
            lines.append(line)
            with store.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(
                name,
                seed,
                {k: line[k] for k in ("r4c", "h_error", "error", "seconds")},
                file=sys.stderr,
                flush=True,
            )
    args.out.with_suffix(".md").write_text(
        "# The whole run on the benchmarks\n\n"
        f"Made by `python benchmarks/cofhae_table.py`, a line per run in `{store.name}`: {args.n_samples:,} "
        "samples, 90 % of them to train on, structure from MIMOSA, nothing told about any data set; scores of the "
        f"10 % held out. disentree {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores of "
        f"{platform.machine()}, no GPU. Seconds were taken on a machine that was doing other work too. The "
        "squared error is summed over the values of a row (pixels from 0 to 1).\n\n"
        f"{table(lines)}\n"
    )


if __name__ == "__main__":
    main()
