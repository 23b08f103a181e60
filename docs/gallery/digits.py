"""Handwritten digits

1,797 digits of 8x8 pixels, which come with scikit-learn. The table has no nested structure: this page shows what
is found then.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset

digits = load_dataset("digits", numeric=True)
X = np.asarray(digits.X, dtype=float).reshape(len(digits.X), -1)
m = MIMOSA(random_state=0).fit(X)
print(m.verdict_)
print(*m.summary().splitlines()[-2:], sep="\n")

# %%
# There are more groups than digits: ones are written in three ways and fives in two, and these have a valley
# between them. The number of groups was not given.

print("adjusted Rand index", round(adjusted_rand_score(digits.paths, m.labels_), 2))
digit = np.array(digits.path_names)[digits.paths]
print(pd.crosstab(pd.Series(digit, name="digit"), pd.Series(m.labels_, name="leaf")).to_string())

# %%
# The mean image of each leaf:

count = len(m.components_)
figure, axes = plt.subplots(1, count, figsize=(0.7 * count, 0.9), layout="constrained")
for leaf, ax in enumerate(axes):
    ax.imshow(X[m.labels_ == leaf].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.axis("off")
