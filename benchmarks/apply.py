"""Paths and codes for ten million rows: speed and memory of `disentree apply`.

    python benchmarks/apply.py [--rows 10000000] [--run FOLDER] [--jobs 1] [--engine local] [--folder DIR]

Trains a quick run of a Chopsticks data set unless it is given one, writes rows of it to a file in a temporary
folder (512 bytes a row), applies the run to it in a process of its own, and compares the first 200,000 rows with
`transform` in memory. Prints rows per second and the peak of resident memory.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from disentree.datasets import load_dataset
from disentree.runs import Run, RunConfig, finish_run, start_run

NAME = "chopsticks-depth2-either"
BLOCK, COMPARED = 200_000, 200_000


def write_rows(path: Path, n_rows: int) -> None:
    rows = np.lib.format.open_memmap(path, mode="w+", dtype="<f8", shape=(n_rows, 64))
    for seed, start in enumerate(range(0, n_rows, BLOCK)):
        X = load_dataset(NAME, min(BLOCK, n_rows - start), seed=1000 + seed).X
        rows[start : start + len(X)] = X


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--run", type=Path, help="a run of " + NAME)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        run = args.run
        if run is None:
            run = folder / "run"
            finish_run(start_run(RunConfig.of(NAME, preset="quick"), run), until="scores", device="cpu")
        began = time.perf_counter()
        write_rows(folder / "x.npy", args.rows)
        print(f"{args.rows:,} rows written in {time.perf_counter() - began:.0f} s", flush=True)
        command = [sys.executable, "-m", "disentree", "apply", str(run), str(folder / "x.npy")]
        command += ["--out", str(folder / "z.npy"), "--jobs", str(args.jobs), "--engine", args.engine]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        began = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak = used.ru_maxrss / (1024**2 if sys.platform != "darwin" else 1024**3)  # of one process
        print(f"{args.rows / seconds:,.0f} rows/s with start-up, {used.ru_utime - before:.0f} s of processor time")
        print(f"peak memory of a process {peak:.2f} GiB, {args.jobs} process{'es' * (args.jobs > 1)}")
        n = min(COMPARED, args.rows)
        X = np.load(folder / "x.npy", mmap_mode="r")[:n]
        model = Run.open(run).model("cpu")
        codes = model.transform(np.asarray(X))
        got = np.load(folder / "z.npy", mmap_mode="r")
        assert got.shape[0] == args.rows
        np.testing.assert_allclose(got[:n], codes, rtol=1e-5, atol=1e-6)
        paths = np.load(folder / "z.paths.npy", mmap_mode="r")[:n]
        assert (paths == model.hierarchy_.path_of(codes)).all()
        print(f"the first {n:,} rows are equal to transform in memory")


if __name__ == "__main__":
    main()
