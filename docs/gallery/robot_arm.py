"""A robot arm: curved leaves

32 numbers: positions of markers on a robot arm with three joints. In some rows the waist alone turns, in some
the shoulder too, in some also the elbow. Positions are sines and cosines of sums of angles, so that the leaves
are curved.
"""

from matplotlib import pyplot as plt

from disentree import MIMOSA, metrics
from disentree.datasets import load_dataset

ds = load_dataset("robot-arm", n_samples=3000, seed=0)
print(ds.X.shape)
print(ds.hierarchy)

# %%
# The finder called *atlas* covers the data with curved charts, and joins those that continue one another.

m = MIMOSA(random_state=0).fit(ds.X)
print(m.summary())
print("H-error", metrics.h_error(ds.hierarchy, m.hierarchy_))
print("purity", round(metrics.purity_score(ds.paths, m.labels_), 3))

# %%
# The two main directions of the data, by leaf: the rows in which the waist alone turns are a curve, those with
# two a surface that contains it.

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for leaf in sorted(range(len(m.components_)), key=lambda k: -m.components_[k].dimension):
    here = m.labels_ == leaf
    label = f"{m.components_[leaf].dimension}-dimensional"
    ax.scatter(m.embedding_[here, 0], m.embedding_[here, 1], s=3, label=label)
ax.legend()
