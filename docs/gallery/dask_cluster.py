"""A Dask cluster

A fitted model is applied to arrays that are larger than memory, block by block, on the workers of a cluster.
This cluster has one worker thread in this process; `Client("tcp://head:8786")` is a real one.
"""

import dask.array as da
import numpy as np
from dask.distributed import Client
from matplotlib import pyplot as plt

from disentree import MIMOSA
from disentree.datasets import load_dataset

client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
ds = load_dataset("chopsticks-depth2-either", n_samples=6000, seed=0)
m = MIMOSA(random_state=0).fit(ds.X[:3000])  # a part is enough to find the tree
print(m.hierarchy_)

# %%
# `predict` and `transform` take dask arrays and return lazy ones. Nothing is computed until it is asked for.

X = da.from_array(ds.X, chunks=(1000, 64))
paths = m.predict(X)
print(paths)
counts = np.bincount(paths.compute())
print("rows on each leaf:", counts)
client.close()

figure, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
ax.bar(range(len(counts)), counts, color="#1b6ca8")
ax.set(xlabel="leaf", ylabel="rows")

# %%
# Files of any size go the same way without Python: `disentree apply RUN rows.npy --out codes.npy --engine dask`.
# Studies run on a cluster with `disentree study table1 --engine dask --address tcp://head:8786`, see
# [studies](../studies.md).
