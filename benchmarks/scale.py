"""Many rows: seconds and memory of a fit, of a run of a file, and kinds that are too rare for the rows searched.

    python benchmarks/scale.py                              # a million rows, rare kinds in 500,000
    python benchmarks/scale.py --rows 5000000 --rare-rows 2000000 --share .0005 --seeds 4000 4001
    python benchmarks/scale.py --rows 1000000 5000000 --hdbscan 1000000 --file-rows 20000000 --kinds

Memory is the peak of the process and all that it starts, above what it holds before the fit, rows included.
MiniBatchKMeans, which is told the number of leaves, has the same rows in the same run, and so has fast_hdbscan if
it is asked for (its clusters have a thousandth of the rows or more). A run of a .parquet of float32 is `disentree
mimosa`, beside the time of reading the file once. `steps` are the seconds of what a fit does, one after the other.
A rare kind is a share of the rows: on a line, on a plane or in a ball, some deviations away from the middle of all
others; "nothing" has none, and one leaf is right.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.utils.versions import build_versions

COLUMNS = 20
FAR = 6.0  # deviations of a column, from the middle of the rows to a rare kind


def leaves_in_noise(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A line, a plane and a space of three dimensions, with noise, and the rows of each; the spaces are always the
    same."""
    axes = np.random.default_rng(0)
    rng = np.random.default_rng(seed)
    kind, X = rng.integers(3, size=n), np.zeros((n, COLUMNS))
    for i in range(3):
        own = kind == i
        X[own] = rng.random((int(own.sum()), i + 1)) @ axes.standard_normal((i + 1, COLUMNS))
    X += 0.01 * rng.standard_normal(X.shape)
    return X, kind


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Seconds, seconds of processors, and the peak of the memory of this process and its children in MB, above
    what there was."""
    found: dict[str, float] = {}
    own = psutil.Process()

    def held() -> float:
        total = 0.0
        for process in (own, *own.children(recursive=True)):
            try:
                total += process.memory_info().rss / 1e6
            except psutil.Error:  # it has ended
                continue
        return total

    def spent() -> float:
        times = own.cpu_times()
        return times.user + times.system + times.children_user + times.children_system

    def largest_child() -> float:
        sizes = [0.0]
        for process in own.children(recursive=True):
            with suppress(psutil.Error):
                sizes.append(process.memory_info().rss / 1e6)
        return max(sizes)

    before, cpu, start = held(), spent(), time.perf_counter()
    peak, largest, done = before, 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak, largest
        while not done.wait(0.05):
            peak, largest = max(peak, held()), max(largest, largest_child())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        found |= {"seconds": round(time.perf_counter() - start, 1), "cpu seconds": round(spent() - cpu, 1)}
        done.set()
        thread.join()
        found["MB above"] = round(peak - before)
        if largest:
            found["MB of the largest process it started"] = round(largest)


def cost(n: int, name: str = "MIMOSA") -> dict[str, Any]:
    """Of a fit, in a process of its own."""
    X, kind = leaves_in_noise(n)
    if name == "fast_hdbscan":
        from fast_hdbscan import HDBSCAN

        HDBSCAN().fit(X[:2000])  # compiles
        m = HDBSCAN(min_cluster_size=max(100, n // 1000))
    else:
        m = MIMOSA() if name == "MIMOSA" else MiniBatchKMeans(3, random_state=0)
    with measured() as found:
        m.fit(X)
    ari = adjusted_rand_score(kind, m.labels_)
    steps = {"steps": steps_of(m.timings_)} if isinstance(m, MIMOSA) else {}
    return {"fitted": name, "rows": n, **found, "MB of rows": round(X.nbytes / 1e6), "ARI": round(ari, 3), **steps}


def steps_of(timings: dict[str, float]) -> dict[str, float]:
    """Those of a tenth of a second or more."""
    return {step: round(seconds, 1) for step, seconds in timings.items() if seconds >= 0.1}


def write_parquet(path: Path, n: int) -> None:
    """Rows of float32 in row groups of a quarter of a million."""
    import pyarrow
    from pyarrow import parquet

    names, million = [f"column{j}" for j in range(COLUMNS)], 1_000_000
    schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
    with parquet.ParquetWriter(path, schema) as file:
        for k, start in enumerate(range(0, n, million)):
            X = leaves_in_noise(min(million, n - start), k)[0].astype(np.float32)
            file.write_table(pyarrow.table(dict(zip(names, X.T, strict=True))), row_group_size=million // 4)


def cost_of_file(n: int) -> dict[str, Any]:
    """Of a run of a .parquet with tree and paths, and of reading the file once."""
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        write_parquet(path := Path(folder) / "rows.parquet", n)
        with measured() as once, parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=100_000):
                batch.to_pandas()
        out = f"{folder}/run"
        command = [sys.executable, "-m", "disentree", "mimosa", str(path), "--out", out, "--no-figures"]
        with measured() as found:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        n_paths = int(np.load(f"{out}/paths.npy", mmap_mode="r").max()) + 1
        steps = steps_of(json.loads(Path(out, "structure.json").read_text())["timings"])
    return {"rows of a file": n, "reading once": once["seconds"], **found, "leaves": n_paths, "steps": steps}


def cost_of_cluster(n: int) -> dict[str, Any]:
    """Of a fit of a .parquet by two processes of a Dask cluster with 3 GB each, one of which is killed in each
    pass, and whether tree and labels are those that threads of this process find."""
    import distributed

    from disentree.rows import Blocks
    from disentree.rows.engines import Cluster, engine_of

    run, markers = Cluster.run, list[Path]()
    with tempfile.TemporaryDirectory() as folder:

        def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
            markers.append(marker := Path(folder) / f"killed{len(markers)}")

            def call(*given: Any) -> Any:
                with suppress(FileExistsError):
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given)

            return call

        write_parquet(path := Path(folder) / "rows.parquet", n)
        with measured() as here:
            right = MIMOSA().fit(Blocks.of(path))
        how = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": None}
        made: Any = distributed.LocalCluster
        with made(**how) as cluster, engine_of("dask", cluster.scheduler_address) as engine:
            Cluster.run = lambda self, source, places, function: run(self, source, places, deadly(function))
            with measured() as found:
                m = MIMOSA().fit(Blocks.of(path, engine=engine))
        killed = sum(marker.exists() for marker in markers)
    return {
        "rows of a file": n,
        **{f"threads: {name}": value for name, value in here.items()},
        **found,
        "passes": len(markers),
        "killed": killed,
        "same labels": bool(np.array_equal(m.labels_, right.labels_)),
        "same tree": m.hierarchy_ == right.hierarchy_,
        "leaves": len(m.components_),
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
    parser.add_argument("--hdbscan", type=int, nargs="*", default=[], help="rows that fast_hdbscan has beside")
    parser.add_argument("--limit", type=int, default=1800, help="seconds of one measurement")
    parser.add_argument("--file-rows", type=int, nargs="*", default=[])
    parser.add_argument("--cluster-rows", type=int, nargs="*", default=[])
    parser.add_argument("--rare-rows", type=int, default=500_000)
    parser.add_argument("--share", type=float, default=0.0005)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--others", nargs="*", default=list(BULKS), choices=list(BULKS))
    parser.add_argument("--kinds", nargs="*", default=list(RARE), choices=list(RARE))
    parser.add_argument("--sparse", type=int, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    fitted = {
        n: ["MIMOSA", "MiniBatchKMeans", *(["fast_hdbscan"] if n in args.hdbscan else [])] for n in args.rows
    }
    tasks: list[tuple[str, str, Callable[..., dict[str, Any]], tuple[Any, ...]]] = [
        *(("fits", f"{n}, {name}", cost, (n, name)) for n in args.rows for name in fitted[n]),
        *(("files", str(n), cost_of_file, (n,)) for n in args.file_rows),
        *(("cluster", str(n), cost_of_cluster, (n,)) for n in args.cluster_rows),
        *(("sparse", f"{n}, seed {seed}", fit_sparse, (n, seed)) for n in args.sparse for seed in args.seeds),
        *(
            ("rare", f"{kind} in {bulk}, seed {seed}", rare, (bulk, kind, args.rare_rows, args.share, seed))
            for bulk in args.others
            for kind in args.kinds
            for seed in args.seeds
        ),
    ]
    found: dict[str, Any] = {}
    for part, name, function, values in tasks:
        if part == "cluster":  # which starts processes that outlive a pool's
            row = function(*values)
        else:
            with multiprocessing.get_context("spawn").Pool(1) as pool:  # a peak of its own
                try:
                    row = pool.apply_async(function, values).get(args.limit)
                except multiprocessing.TimeoutError:
                    row = {"unfinished after seconds": args.limit}
        found.setdefault(part, {})[name] = row
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        if args.out:  # after each, so that nothing is lost if one is stopped
            asked = [word for word in sys.argv[1:] if word not in ("--out", str(args.out))]
            command = " ".join(["python benchmarks/scale.py", *asked])
            about = {"command": command, "versions": build_versions(), "load": round(os.getloadavg()[0])}
            args.out.write_text(json.dumps(about | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
