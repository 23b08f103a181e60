"""How long the benchmark data sets take to make: 100,000 samples of each.

    .venv/bin/python benchmarks/datasets.py

Targets on two cores: depth-3 either in 2 s, Spaceshapes in 60 s and under 1 GiB.
"""

import resource
import sys
import time

import numpy as np

from disentree import __version__
from disentree.datasets import list_datasets, load_dataset

print(f"disentree {__version__}, numpy {np.__version__}, Python {sys.version.split()[0]}, seed 0")
load_dataset("spaceshapes", n_samples=10)  # numba compiles once
print(f"{'data set':26} {'seconds':>8} {'MiB of X':>9} {'peak MiB':>9}")
for info in list_datasets():
    start = time.perf_counter()
    ds = load_dataset(info.name, n_samples=100_000, seed=0)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of the whole process so far
    print(f"{info.name:26} {seconds:8.2f} {ds.X.nbytes / 2**20:9.0f} {peak:9.0f}")
    del ds
