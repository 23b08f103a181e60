"""`disentree apply` on files of several sizes: memory does not grow with them.

    python benchmarks/apply.py                                  # 0.5, 2 and 6 million rows; some minutes
    python benchmarks/apply.py --rows 500000

It ends with an error if the largest file needs more than 50 MiB more than the smallest, or if results differ from
`transform` in memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from disentree.datasets import load_dataset
from disentree.runs import Run, RunConfig, finish_run, start_run

NAME = "chopsticks-depth2-either"
BLOCK, COMPARED = 100_000, 100_000
MOST_GROWTH = 50  # MiB; repeats differ by 25

MEASURE = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2))  # MiB
print(used.ru_utime + used.ru_stime)
"""


def write_rows(path: Path, n_rows: int) -> None:
    """Rows of the benchmark, a block at a time."""
    rows = np.lib.format.open_memmap(path, mode="w+", dtype="<f8", shape=(n_rows, 64))
    for seed, start in enumerate(range(0, n_rows, BLOCK)):
        X = load_dataset(NAME, min(BLOCK, n_rows - start), seed=1000 + seed).X
        rows[start : start + len(X)] = X


def apply(run: Path, source: Path, out: Path) -> tuple[float, float, float]:
    """Seconds with start-up, processor seconds, and MiB at most."""
    command = ["-m", "disentree", "-q", "apply", str(run), str(source), "--out", str(out), "--force"]
    began = time.perf_counter()
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True
    )
    peak, used = map(float, measured.stdout.split())
    return time.perf_counter() - began, used, peak


def check(run: Path, source: Path, out: Path) -> None:
    """The first rows must have the codes that the model gives them in memory."""
    X = np.asarray(np.load(source, mmap_mode="r")[:COMPARED])
    model = Run.open(run).model("cpu")
    codes = model.transform(X)
    np.testing.assert_allclose(np.load(out, mmap_mode="r")[:COMPARED], codes, rtol=1e-5, atol=1e-6)
    paths = np.load(out.with_name("z.paths.npy"), mmap_mode="r")[:COMPARED]
    assert (paths == model.hierarchy_.path_of(codes)).all()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 2_000_000, 6_000_000])
    parser.add_argument("--run", type=Path, help=f"a run of {NAME}; without it one is trained")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        run = args.run
        if run is None:
            run = folder / "run"
            finish_run(start_run(RunConfig.of(NAME, preset="quick"), run), until="scores", device="cpu")
        print("rows seconds rows/s processor-seconds MiB")
        peaks = []
        for n_rows in args.rows:
            write_rows(folder / "x.npy", n_rows)
            took, used, peak = apply(run, folder / "x.npy", folder / "z.npy")
            peaks.append(peak)
            print(f"{n_rows} {took:.1f} {n_rows / took:.0f} {used:.1f} {peak:.0f}", flush=True)
            check(run, folder / "x.npy", folder / "z.npy")
        assert max(peaks) - min(peaks) < MOST_GROWTH, f"memory grows with the file: {peaks} MiB"


if __name__ == "__main__":
    main()
