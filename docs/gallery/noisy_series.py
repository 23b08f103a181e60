"""Series with noise

Chopsticks are series of 64 values made of one or two straight sticks. The second one begins in the middle, and
has a slope of its own. Here every value has Gaussian noise.
"""

from matplotlib import pyplot as plt

from disentree import COFHAE, MIMOSA, explore, metrics
from disentree.datasets import load_dataset

ds = load_dataset("chopsticks-depth2-slope", n_samples=3000, seed=0, noise=0.02)
figure, axes = plt.subplots(1, 2, figsize=(7, 2.2), sharey=True, layout="constrained")
for path, ax in enumerate(axes):
    ax.plot(ds.X[ds.paths == path][:4].T, lw=0.8)
    ax.set_title(["one stick", "two sticks"][path], fontsize=9)

# %%
# Series of one stick fill a line in the space of 64 values, those of two sticks a plane through it. Noise makes
# both fuzzy.

m = MIMOSA(random_state=0).fit(ds.X)
print(m.summary())

# %%
# The tree is the true one (H-error 0: no edit is needed). A stick whose second half has nearly the same slope
# looks like a single one in noise, so that some rows go to the other leaf.

print("H-error", metrics.h_error(ds.hierarchy, m.hierarchy_))
print("rows on the true path", round(float((m.labels_ == ds.paths).mean()), 3))

# %%
# `predict_proba` says which rows are in doubt: blue rows are on the right leaf, red ones on the wrong one.

probability = m.predict_proba(ds.X).max(axis=1)
slope = abs(ds.codes[:, -1])
two = ds.paths == 1
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.scatter(slope[two], probability[two], s=4, c=(m.labels_ == ds.paths)[two], cmap="coolwarm_r", vmin=0, vmax=1)
ax.set(xlabel="slope that the second stick adds", ylabel="probability of the likelier leaf")

# %%
# Codes of what is left without the noise, and a page with a slider for every slope:

model = COFHAE(random_state=0).fit(ds.X, hierarchy=m.hierarchy_, paths=m.labels_)
explore(model, ds.X, title="Noisy series").save("noisy_series.html")
