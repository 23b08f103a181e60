"""Baselines and ablations: how long they train, and what they should reach: `results/baselines.md`.

    python benchmarks/baselines.py [--parts times quick flat supervised] [--seeds 0 1 2] [--n-samples 100000]
                                   [--datasets NAME ...] [--out results/baselines]

    times       seconds for 100,000 Chopsticks at the paper's schedule, extrapolated from two epochs of fifty
    quick       seconds of the whole quick preset on the same data
    flat        R4c of VAE, FactorVAE and beta-TCVAE on images of one shape that is moved, scaled and turned
    supervised  R4c of H+A+Z, which learns from true codes: what networks and metric allow at best

Every run is a line of `OUT.jsonl` as soon as it is done; runs that are there already are not repeated, so the
command can be stopped and called again. The tables are written anew from all lines at the end.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

from disentree import AE, VAE, BetaTCVAE, CascadeVAE, FactorVAE, Hierarchy, JointVAE, __version__
from disentree.baselines import ABLATIONS
from disentree.datasets import list_datasets, load_dataset
from disentree.metrics import r4c_score

MODELS = {
    "ae": AE,
    "vae": VAE,
    "tcvae": BetaTCVAE,
    "factorvae": FactorVAE,
    "jointvae": JointVAE,
    "cascadevae": CascadeVAE,
    **ABLATIONS,
}
TIMED = "chopsticks-depth3-either"  # the most variables: the slowest
TIMED_EPOCHS = 2
PARTS = ("times", "quick", "flat", "supervised")


# ------------------------------------------------------------------ flat data


def one_shape(n: int, seed: int, side: int = 32) -> tuple[np.ndarray, np.ndarray, Hierarchy]:
    """Images of a heart-like shape with x, y, scale and rotation, all uniform; the angle within a quarter turn, so
    that no two angles look the same. Edges are soft over a pixel, so that images change smoothly."""
    rng = np.random.default_rng(seed)
    codes = rng.uniform(-1, 1, (n, 4))
    grid = (np.arange(side) + 0.5) / side * 2 - 1
    column, row = np.meshgrid(grid, grid)
    images = np.empty((n, side, side), dtype=np.float32)
    for i, (x, y, scale, turn) in enumerate(codes):
        size, angle = 0.42 + 0.14 * scale, turn * np.pi / 4
        u, v = (column - 0.35 * x) / size, (row - 0.35 * y) / size
        u, v = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
        # An ellipse with a notch: its outline is r(direction), and the edge is a sigmoid across it.
        direction, distance = np.arctan2(v, u), np.hypot(u, v)
        outline = 0.75 / np.sqrt(1 - 0.6 * np.cos(direction) ** 2) * (1 - 0.35 * np.exp(-8 * direction**2))
        images[i] = 1 / (1 + np.exp(-(outline - distance) * size * side * 1.5))
    return images, codes, Hierarchy.flat(4)


# ------------------------------------------------------------------ runs


def timed(part: str, name: str, n_samples: int) -> dict:
    ds = load_dataset(TIMED, n_samples, seed=0)
    X, paths = ds.X[: round(0.9 * n_samples)], ds.paths[: round(0.9 * n_samples)]
    model = MODELS[name].paper(epochs=TIMED_EPOCHS) if part == "times" else MODELS[name].quick()
    more = {"codes": ds.codes[: len(X)]} if name == "hier-a-z" else {}
    start = time.perf_counter()
    model.fit(X, hierarchy=ds.hierarchy, paths=paths, **more)
    took = time.perf_counter() - start
    in_epochs = sum(record["seconds"] for record in model.history_)
    if part == "times":
        took += in_epochs / TIMED_EPOCHS * (50 - TIMED_EPOCHS)
    return {"seconds": took, "seconds_per_epoch": in_epochs / len(model.history_), "epochs": len(model.history_)}


def flat(name: str, seed: int) -> dict:
    X, codes, hierarchy = one_shape(22_000, seed)
    model = MODELS[name].quick(random_state=seed, n_continuous=6)
    start = time.perf_counter()
    model.fit(X[:20_000])
    took = time.perf_counter() - start
    score = r4c_score(codes[20_000:], model.transform(X[20_000:]), hierarchy, model.hierarchy_, n_jobs=1)
    last = {k: v for k, v in model.history_[-1].items() if k not in ("epoch", "seconds")}
    return {"r4c": score, "seconds": took, "epochs": len(model.history_), "last": last}


def supervised(dataset: str, seed: int, n_samples: int) -> dict:
    ds = load_dataset(dataset, n_samples, seed=seed)
    n_train = round(0.9 * n_samples)
    images = {"steps": 2000, "input": "pca"} if ds.X.ndim > 2 else {}
    model = ABLATIONS["hier-a-z"].quick(random_state=seed, **images)
    start = time.perf_counter()
    model.fit(ds.X[:n_train], hierarchy=ds.hierarchy, codes=ds.codes[:n_train])
    took = time.perf_counter() - start
    Z, V = model.transform(ds.X[n_train:]), ds.codes[n_train:]
    return {
        "r4c": r4c_score(V, Z, ds.hierarchy, model.hierarchy_, n_jobs=1),
        "path_accuracy": float((model.hierarchy_.path_of(Z) == ds.paths[n_train:]).mean()),
        "seconds": took,
        "epochs": len(model.history_),
    }


# ------------------------------------------------------------------ tables


def tables(lines: list[dict]) -> str:
    out = []
    rows = []
    for name in MODELS:
        found = {p: next((r for r in lines if (r["part"], r["model"]) == (p, name)), None) for p in PARTS[:2]}
        if found["times"] or found["quick"]:
            paper, quick = found["times"], found["quick"]
            rows.append(
                f"| {name} | {paper['seconds'] / 60:.0f} min |" if paper else f"| {name} | |",
            )
            rows[-1] += f" {quick['seconds']:.0f} s |" if quick else " |"
    if rows:
        out.append(
            f"## Time on {TIMED}\n\n100,000 samples, of which 90,000 train. The paper's schedule is 50 epochs, "
            f"extrapolated from {TIMED_EPOCHS}; quick is the whole preset. One thread.\n\n"
            "| model | the paper's schedule | quick |\n|---|---|---|\n" + "\n".join(rows)
        )
    rows = []
    for name in MODELS:
        runs = [r for r in lines if (r["part"], r["model"]) == ("flat", name)]
        if runs:
            scores = np.array([r["r4c"] for r in runs])
            each = ", ".join(f"{s:.3f}" for s in scores)
            seconds = np.median([r["seconds"] for r in runs])
            rows.append(f"| {name} | {scores.mean():.3f} | {each} | {seconds:.0f} |")
    if rows:
        out.append(
            "## R4c on flat data\n\n20,000 images of 32x32 of one shape with x, y, scale and rotation (the script "
            "draws them), six continuous variables, quick preset of 1000 steps on principal components, Gaussian "
            "likelihood, published strengths of the penalties; scored on 2,000 more.\n\n"
            "| model | R4c, mean | by seed | median seconds |\n|---|---|---|---|\n" + "\n".join(rows)
        )
    rows = []
    for info in list_datasets():
        runs = [r for r in lines if (r["part"], r["dataset"]) == ("supervised", info.name)]
        for r in runs:
            rows.append(
                f"| {info.name} | {r['n_samples']:,} | {r['seed']} | {r['r4c']:.4f} | {r['path_accuracy']:.4f} "
                f"| {r['epochs']} | {r['seconds']:.0f} |"
            )
    if rows:
        out.append(
            "## H+A+Z\n\nSupervised by true paths and codes: what networks and metric allow at best. Quick "
            "preset, 1000 steps of 256 rows; for Spaceshapes 2000, with principal components for input. "
            "10 % held out.\n\n"
            "| data set | samples | seed | R4c | paths right | epochs | seconds |\n|---|---|---|---|---|---|---|\n"
            + "\n".join(rows)
        )
    return "\n\n".join(out)


def main() -> None:
    datasets = [info.name for info in list_datasets()]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--datasets", nargs="+", default=datasets, choices=datasets)
    parser.add_argument("--n-samples", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("results/baselines"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    store = args.out.with_suffix(".jsonl")
    lines = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    names = ("part", "model", "dataset", "seed", "n_samples")
    done = {tuple(r[k] for k in names) for r in lines}
    todo = []
    for part in args.parts:
        if part in ("times", "quick"):
            todo += [(part, m, TIMED, 0, args.n_samples) for m in args.models]
        elif part == "flat":
            few = [m for m in ("vae", "factorvae", "tcvae") if m in args.models]
            todo += [(part, m, "one-shape", seed, 20_000) for seed in args.seeds for m in few]
        elif "hier-a-z" in args.models:
            todo += [(part, "hier-a-z", d, args.seeds[0], min(args.n_samples, 20_000)) for d in args.datasets]
    for job in todo:
        if job in done:
            continue
        part, model, dataset, seed, n_samples = job
        if part == "flat":
            found = flat(model, seed)
        elif part == "supervised":
            found = supervised(dataset, seed, n_samples)
        else:
            found = timed(part, model, n_samples)
        line = dict(zip(names, job, strict=True)) | found | {"disentree": __version__}
        lines.append(line)
        with store.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            *job,
            {k: line[k] for k in ("r4c", "path_accuracy", "seconds") if k in line},
            file=sys.stderr,
            flush=True,
        )
    args.out.with_suffix(".md").write_text(
        "# Baselines and ablations\n\n"
        f"Made by `python benchmarks/baselines.py`, a line per run in `{store.name}`; disentree {__version__}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores of {platform.machine()}, no GPU. Seconds "
        "were taken on a machine that was doing other work too.\n\n" + tables(lines) + "\n"
    )


if __name__ == "__main__":
    main()
