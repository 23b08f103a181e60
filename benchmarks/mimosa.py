"""What MIMOSA costs: against a straightforward version, against n and against the latent dimension.

    python benchmarks/mimosa.py [--rows 90000] [--largest 100000] [--out results/mimosa_cost.json]
    python benchmarks/mimosa.py --largest 1000000        # with the goal for a million rows

The straightforward version has a PCA object and a Delaunay triangulation for each point and a Python loop over
pairs of neighbors, as the paper's complexity section describes it. It runs on a part of the points and is
extrapolated to all of them: each of its steps costs the same for every point.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay, QhullError
from sklearn.decomposition import PCA
from sklearn.neighbors import BallTree
from threadpoolctl import threadpool_limits

from disentree import MIMOSA, __version__
from disentree.datasets import load_dataset
from disentree.geometry.pca import principal_axes
from disentree.metrics import coverage_score, h_error, purity_score
from disentree.mimosa.paper.algorithm3_local_svd import local_svd

GOALS = {"local_steps_seconds": 5.0, "million_seconds": 90.0, "million_gib": 6.0}
K = 40


def seconds(call):
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


# ------------------------------------------------------------------ the straightforward version


def local_pca(points: np.ndarray) -> np.ndarray:
    """Algorithm 3 for one neighborhood, with a PCA object for each of its steps."""
    pca = PCA().fit(points)
    coordinates = pca.transform(points)
    errors = [((points - pca.mean_ - coordinates[:, :d] @ pca.components_[:d]) ** 2).sum(axis=1)
              for d in range(points.shape[1])]  # fmt: skip
    norms = np.sqrt(np.sum(errors, axis=0))
    pca = PCA().fit(points[norms <= np.percentile(norms, 100 * (2 / 3))])
    share, variances = np.cumsum(pca.explained_variance_ratio_), pca.explained_variance_
    for d in range(1, points.shape[1]):
        if share[d - 1] >= 0.95 and variances[d] <= variances[d - 1] / 4:
            return pca.components_[:d]
    return pca.components_


def straightforward(Z: np.ndarray, n_points: int) -> dict[str, float]:
    """Seconds for all of Z, extrapolated from `n_points` of them."""
    rows = np.random.default_rng(0).choice(len(Z), n_points, replace=False)
    scale = len(Z) / n_points
    out = {}
    tree_seconds, tree = seconds(lambda: BallTree(Z))
    query_seconds, near = seconds(lambda: tree.query(Z[rows], K)[1])
    out["neighbors"] = tree_seconds + scale * query_seconds
    took, bases = seconds(lambda: [local_pca(Z[j]) for j in near])
    out["local SVD"] = scale * took

    def compare():
        similar = 0
        for basis in bases:
            for other in bases[:K]:  # as many pairs as a point has neighbors
                if len(basis) == len(other):
                    similar += abs(np.linalg.det(basis @ other.T)) >= 0.99
        return similar

    out["growing"] = scale * seconds(compare)[0]

    def edges():
        found = 0
        for i, j, basis in zip(rows, near, bases, strict=True):
            others = (Z[j[1:]] - Z[i]) @ basis.T
            if len(basis) == 1:
                found += others.min() > 0 or others.max() < 0
                continue
            with contextlib.suppress(QhullError):
                found += Delaunay(others).find_simplex(np.zeros(len(basis))) < 0
        return found

    out["merging"] = scale * seconds(edges)[0]
    return out


def same_answers(Z: np.ndarray, n_points: int = 200) -> bool:
    """Whether the fast local SVD gives the dimensions and planes of the straightforward one."""
    Z = Z[:3000]
    near = BallTree(Z).query(Z, K)[1]
    fast = local_svd(Z, near[:, 1:])
    for i, j in enumerate(near[:n_points]):
        slow = local_pca(Z[j])
        d = int(fast.dimensions[i])
        if len(slow) != d or abs(np.linalg.det(slow @ fast.bases[i, :d].T)) < 1 - 1e-6:
            return False
    return True


# ------------------------------------------------------------------ what is measured


def against_straightforward(rows: int, n_points: int) -> dict:
    ds = load_dataset("chopsticks-depth2-either", n_samples=rows, seed=0)
    A = ds.X - ds.X.mean(axis=0)
    Z = A @ principal_axes(A).whitening(4)
    MIMOSA.paper(representation="given").fit(Z[:2000])  # compile, or load what was compiled before
    m = MIMOSA.paper(representation="given").fit(Z)
    with threadpool_limits(1):  # threads of linear algebra only get in each other's way on matrices this small
        slow = straightforward(Z, n_points)
    steps = {
        name: {"seconds": m.timings_[name], "straightforward": slow[name], "ratio": slow[name] / m.timings_[name]}
        for name in slow
    }
    ours, theirs = (sum(s[key] for s in steps.values()) for key in ("seconds", "straightforward"))
    steps["all"] = {"seconds": ours, "straightforward": theirs, "ratio": theirs / ours}
    print(f"paper's steps on {rows} points in {Z.shape[1]} dimensions ({n_points} for the straightforward ones)")
    for name, s in steps.items():
        print(f"  {name:10s} {s['seconds']:7.2f} s   straightforward {s['straightforward']:8.1f} s   "
              f"{s['ratio']:6.0f} times", flush=True)  # fmt: skip
    scores = {
        "h_error": h_error(ds.hierarchy, m.hierarchy_),
        "purity": purity_score(ds.paths, m.labels_),
        "coverage": coverage_score(m.labels_),
    }
    print(f"  H-error {scores['h_error']}, purity {scores['purity']:.4f}, coverage {scores['coverage']:.4f}; "
          f"local SVD agrees: {same_answers(Z)}", flush=True)  # fmt: skip
    return {"rows": rows, "steps": steps, **scores}


def one_fit(rows: int) -> dict:
    """In a process of its own, so that peak memory is that of this fit."""
    command = [sys.executable, __file__, "--one-fit", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fit_and_report(rows: int) -> None:
    MIMOSA().fit(load_dataset("chopsticks-depth2-either", n_samples=2000).X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ds = load_dataset("chopsticks-depth2-either", n_samples=rows, seed=0)
    took, m = seconds(lambda: MIMOSA().fit(ds.X))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {
        "rows": rows,
        "seconds": took,
        "steps": m.timings_,
        "peak_gib": after / 2**20,
        "peak_before_gib": before / 2**20,
        "data_gib": ds.X.nbytes / 2**30,
        "h_error": h_error(ds.hierarchy, m.hierarchy_),
        "purity_core": purity_score(ds.paths, m.core_labels_),
        "coverage_core": coverage_score(m.core_labels_),
        "purity": purity_score(ds.paths, m.labels_),
    }
    print(json.dumps(result))


def against_n(sizes: list[int]) -> list[dict]:
    print("default on chopsticks-depth2-either, against n")
    out = []
    for rows in sizes:
        r = one_fit(rows)
        per = 1e6 * r["seconds"] / (rows * np.log2(rows))
        steps = ", ".join(f"{name} {s:.1f}" for name, s in r["steps"].items())
        print(f"  {rows:8d} rows {r['seconds']:7.2f} s ({per:.2f} us per n log2 n; {steps}), "
              f"peak {r['peak_gib']:.2f} GiB; H-error {r['h_error']}, purity {r['purity']:.4f}",
              flush=True)  # fmt: skip
        out.append(r)
    return out


def against_dimension(rows: int) -> list[dict]:
    """Two crossing flats of dimensions 1 and 2 in D dimensions: the same structure, more to calculate."""
    print(f"a line and a plane that holds it, {rows} points, against the latent dimension")
    out = []
    for dims in (2, 3, 4, 5, 6, 8, 10):
        rng = np.random.default_rng(dims)
        half = rows // 2
        flat = np.zeros((rows, 2))
        flat[:, 0] = rng.uniform(-1, 1, rows)
        flat[half:, 1] = rng.uniform(-1, 1, rows - half)
        extra = rng.uniform(-1, 1, (rows // 4, dims))  # a cloud, so that all dimensions are there
        Z = np.concatenate([flat @ rng.standard_normal((2, dims)), extra])
        default_seconds, m = seconds(lambda Z=Z: MIMOSA(representation="linear").fit(Z))
        paper_seconds, _ = seconds(lambda Z=Z: MIMOSA.paper(representation="given").fit(Z))
        print(f"  {dims:2d}-D: default {default_seconds:6.2f} s, paper's steps {paper_seconds:6.2f} s; "
              f"components {[c.dimension for c in m.components_]}", flush=True)  # fmt: skip
        out.append({"dims": dims, "default_seconds": default_seconds, "paper_seconds": paper_seconds})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=90_000, help="for the paper's steps")
    parser.add_argument("--part", type=int, default=1000, help="points for the straightforward version")
    parser.add_argument("--largest", type=int, default=100_000, help="rows of the largest fit of the default")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one-fit", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_fit:
        fit_and_report(options.one_fit)
        return
    result: dict = {
        "command": " ".join(["python", "benchmarks/mimosa.py", *sys.argv[1:]]),
        "disentree": __version__,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
    }
    result["paper_steps"] = against_straightforward(options.rows, options.part)
    result["against_n"] = against_n([n for n in (10_000, 100_000, 1_000_000) if n <= options.largest])
    result["against_dimension"] = against_dimension(min(options.rows, 20_000))
    result["load_after"] = os.getloadavg()[0]
    met = {"local_steps_seconds": result["paper_steps"]["steps"]["all"]["seconds"] < GOALS["local_steps_seconds"]}
    if (last := result["against_n"][-1])["rows"] >= 1_000_000:
        met["million_seconds"] = last["seconds"] < GOALS["million_seconds"]
        met["million_gib"] = last["peak_gib"] < GOALS["million_gib"]
    result["goals"], result["met"] = GOALS, met
    print(f"load {result['load_before']:.1f} to {result['load_after']:.1f} on {result['cores']} cores; goals: "
          + ", ".join(f"{name} {'met' if ok else 'MISSED'}" for name, ok in met.items()))  # fmt: skip
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=2) + "\n")
    raise SystemExit(0 if all(met.values()) else 1)


if __name__ == "__main__":
    main()
