"""Many rows: seconds and memory of a fit, and kinds that are too rare for the rows that are searched.

    python benchmarks/scale.py                              # a million rows, rare kinds in 500,000
    python benchmarks/scale.py --rows 5000000 --rare-rows 2000000 --share .0005 --seeds 4000 4001

Memory is the peak of the process above what it holds before the fit, rows included. MiniBatchKMeans, which is told
the number of leaves, has the same rows in the same run. A rare kind is a share of the rows: on a line, on a plane
or in a ball, some deviations away from the middle of all others; "nothing" has none, and one leaf is right.

    python benchmarks/scale.py --rows --others --sparse 100000 --seeds 4000

fits sparse counts, 2,000 columns of which some 5 % are not zero: kinds of rows that each have thirty columns of
their own, and sums that differ.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA, __version__

COLUMNS = 20
FAR = 6.0  # deviations of a column, from the middle of the rows to a rare kind


def leaves_in_noise(n: int) -> np.ndarray:
    """A line, a plane and a space of three dimensions, with noise."""
    rng = np.random.default_rng(1)
    kind, X = rng.integers(3, size=n), np.zeros((n, COLUMNS))
    for i in range(3):
        own = kind == i
        X[own] = rng.random((int(own.sum()), i + 1)) @ rng.standard_normal((i + 1, COLUMNS))
    X += 0.01 * rng.standard_normal(X.shape)
    return X


def cost(n: int) -> dict[str, Any]:
    """Of a fit, in a process of its own."""
    X = leaves_in_noise(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    m = MIMOSA().fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    start = time.perf_counter()
    MiniBatchKMeans(3, random_state=0, n_init=3).fit(X)
    return {
        "rows": n,
        "seconds": round(seconds, 1),
        "MiniBatchKMeans": round(time.perf_counter() - start, 1),
        "MB of rows": round(X.nbytes / 1e6),
        "MB above them": round(peak / 1e3),
        "dimensions": sorted(int(c.dimension) for c in m.components_),
    }


BULKS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal((n, COLUMNS)),
    "heavy": lambda rng, n: rng.standard_t(5, (n, COLUMNS)),
    "clusters": lambda rng, n: (
        4 * rng.standard_normal((5, COLUMNS))[rng.integers(5, size=n)] + rng.standard_normal((n, COLUMNS))
    ),
}
RARE = {"nothing": None, "line": 1, "plane": 2, "ball": COLUMNS}


def rare(bulk: str, kind: str, n: int, share: float, seed: int) -> dict[str, Any]:
    """Whether a rare kind is a leaf."""
    rng = np.random.default_rng(seed)
    X, d, m = BULKS[bulk](rng, n), RARE[kind], round(share * n)
    if d is not None:
        away = rng.standard_normal(COLUMNS)
        axes = np.linalg.qr(rng.standard_normal((COLUMNS, d)))[0]
        unit = X.std(axis=0).mean()
        X[:m] = FAR * unit * away / np.linalg.norm(away) * np.sqrt(COLUMNS) / 2
        X[:m] += unit * (rng.uniform(-2, 2, (m, d)) @ axes.T + 0.03 * rng.standard_normal((m, COLUMNS)))
    start = time.perf_counter()
    fitted = MIMOSA().fit(X)
    row = {"rows": n, "others": bulk, "rare": kind, "seed": seed, "leaves": len(fitted.components_)}
    row["seconds"] = round(time.perf_counter() - start, 1)
    if d is None:
        return row
    own = int(np.bincount(fitted.labels_[:m]).argmax())
    both = int((fitted.labels_[:m] == own).sum())
    row["recall"], row["precision"] = round(both / m, 3), round(both / int((fitted.labels_ == own).sum()), 3)
    return row | {"dimension": int(fitted.components_[own].dimension)}


def sparse_counts(n: int, seed: int, p: int = 2000, kinds: int = 5) -> tuple[Any, np.ndarray]:
    """Counts of rows of some kinds, and the kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(kinds, p=np.arange(kinds, 0, -1) / np.arange(kinds + 1).sum(), size=n)
    usual = rng.gamma(0.5, 1.0, p)
    rates = np.stack([usual] * kinds)
    for k in range(kinds):
        rates[k, 30 * k : 30 * k + 30] = 10 * usual.mean()
    sums = 150 * np.exp(0.3 * rng.standard_normal(n))[:, None]
    rates /= rates.sum(axis=1, keepdims=True)
    parts = [
        sparse.csr_matrix(rng.poisson(sums[i : i + 2000] * rates[kind[i : i + 2000]])) for i in range(0, n, 2000)
    ]
    return sparse.csr_matrix(sparse.vstack(parts), dtype=np.float32), kind


def fit_sparse(n: int, seed: int) -> dict[str, Any]:
    """Of sparse counts, in a process of its own: seconds, memory, and whether the kinds are the leaves."""
    X, kind = sparse_counts(n, seed)
    start = time.perf_counter()
    m = MIMOSA().fit(X, feature_names=[f"gene{j}" for j in range(X.shape[1])])
    return {
        "rows": n,
        "filled": round(X.nnz / np.prod(X.shape), 3),
        "seed": seed,
        "seconds": round(time.perf_counter() - start, 1),
        "MB, all of it": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "coordinates": m.embedding_.shape[1],
        "leaves": len(m.components_),
        "ARI": round(adjusted_rand_score(kind, m.labels_), 3),
        "name of a leaf": m.leaf_names_[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--rare-rows", type=int, default=500_000)
    parser.add_argument("--share", type=float, default=0.0005)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--others", nargs="*", default=list(BULKS), choices=list(BULKS))
    parser.add_argument("--kinds", nargs="*", default=list(RARE), choices=list(RARE))
    parser.add_argument("--sparse", type=int, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    out: list[dict[str, Any]] = []
    tasks: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = [(cost, (n,)) for n in args.rows]
    tasks += [(fit_sparse, (n, seed)) for n in args.sparse for seed in args.seeds]
    tasks += [
        (rare, (bulk, kind, args.rare_rows, args.share, seed))
        for bulk in args.others
        for kind in args.kinds
        for seed in args.seeds
    ]
    for function, values in tasks:
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # a peak of its own
            out.append(pool.apply(function, values))
        print("  ".join(f"{key} {value}" for key, value in out[-1].items()), flush=True)
    if args.out:
        about = {"version": __version__, "share": args.share, "columns": COLUMNS}
        args.out.write_text(json.dumps(about | {"results": out}, indent=1) + "\n")


if __name__ == "__main__":
    main()
