"""Minerals: the crystal systems

A crystal is built of equal cells, each described by three lengths and three angles. These are 8,596 measured
ones. The crystal system that a textbook gives for each mineral is not in the table. (The data is fetched once,
with pip, from the package `xraylarch`.)
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from disentree.cli.run import print_summary
from disentree.datasets import load_dataset
from disentree.explorer import Page, from_run
from disentree.runs import RunConfig, finish_run, start_run

minerals = load_dataset("minerals")
print(minerals.X.head(4).to_string())

# %%
# This is `disentree run minerals --resamples 0 --out run` in Python. It takes about a minute.

run = start_run(RunConfig.of("minerals", resamples=0), "run")
finish_run(run)
print_summary(run)

# %%
# [How to read a tree](../guide/reading.md) explains each line of this. Beside the crystal systems that
# crystallographers give to these minerals, by the symmetry of the whole crystal:

rows = run.read_npz("labels.npz")
system = np.array(minerals.path_names)[minerals.paths][rows["train"]]
leaf = rows["labels"]
print(pd.crosstab(pd.Series(system, name="crystal system"), pd.Series(leaf, name="leaf")).to_string())

# %%
# Hexagonal and trigonal minerals have cells of the same shape, so that no method could tell them apart here.
# Some minerals have a cell with equal lengths though nothing demands it.
#
# Each leaf fills as many dimensions as it has variables. Seen by the ratios of lengths, cubic cells are a point,
# tetragonal ones a line and orthorhombic ones an area:

cells = minerals.X.iloc[rows["train"]]
figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
names = {2: "orthorhombic", 5: "hexagonal, trigonal", 1: "tetragonal", 0: "cubic"}
for number, name in names.items():
    here = leaf == number
    ax.scatter((cells["b"] / cells["a"])[here], (cells["c"] / cells["a"])[here], s=5, label=name)
ax.set(xlim=(0.2, 3), ylim=(0.2, 4), xlabel="b / a", ylabel="c / a")
ax.legend()

# %%
# The page with sliders. It is a single file: the maps run in the browser.

Page(from_run(run, device="cpu")).save("minerals.html")
