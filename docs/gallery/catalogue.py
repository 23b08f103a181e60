"""A product catalogue: one table for many kinds

A shop has one table for all that it sells: 2,400 products of five kinds, each with columns of its own, and
columns that kinds share. Some laptops have a graphics card, and only these have memory on it; weights are
missing here and there. The table is made here, so that the truth is known; the kind is not in it.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA

rng = np.random.default_rng(7)


def products(kind, n, **columns):
    return pd.DataFrame({"kind": kind, **columns}, index=range(n))


def about(center, spread, n):
    return np.round(center * np.exp(spread * rng.normal(size=n)), 2)


screen = rng.normal(15, 1.2, 500).round(1)
laptops = products(
    "laptop", 500, price=about(900, 0.3, 500), weight=(110 * screen + rng.normal(0, 60, 500)).round()
)
laptops = laptops.assign(screen=screen, storage=rng.choice([256, 512, 1024], 500))
laptops.loc[rng.random(500) < 0.4, "graphics_memory"] = 1.0
laptops["graphics_memory"] *= rng.choice([4, 6, 8, 12], 500)
phones = products("phone", 500, price=about(500, 0.4, 500), weight=rng.normal(180, 15, 500).round())
phones = phones.assign(
    screen=rng.normal(6.2, 0.3, 500).round(1), storage=rng.choice([64, 128, 256], 500), camera=about(48, 0.4, 500)
)
books = products("book", 600, price=about(20, 0.4, 600), pages=about(300, 0.4, 600).round())
books["weight"] = (60 + 0.9 * books["pages"] + rng.normal(0, 20, 600)).round()
lamps = products("lamp", 400, price=about(8, 0.4, 400), weight=about(60, 0.2, 400), watts=about(8, 0.4, 400))
lamps["lumens"] = (95 * lamps["watts"]).round()
tires = products("tire", 400, price=about(90, 0.3, 400), width=rng.choice(np.arange(155, 265, 10), 400))
tires = tires.assign(rim=rng.choice(np.arange(14, 21), 400), weight=about(9500, 0.15, 400))
table = pd.concat([laptops, phones, books, lamps, tires], ignore_index=True)
table = table.sample(frac=1, random_state=0, ignore_index=True)
table.loc[rng.random(len(table)) < 0.03, "weight"] = np.nan
kind = table.pop("kind")
table.to_csv("catalogue.csv", index=False)
print(table.notna().mean().round(3).to_string())

# %%
# This is `disentree run catalogue.csv --out found` in Python, for all rows.

m = MIMOSA(random_state=0).fit(table)
print(m.summary())

# %%
# ## What was found
#
# The five kinds, by the columns that are filled, and laptops with a card as a branch of their own: six leaves,
# and every product is on the leaf of its kind. Laptops and phones share a branch, "screen, storage", within
# which a camera tells phones and a card's memory some laptops. Weights that are missing here and there divide
# nothing.

truth = kind + table["graphics_memory"].notna().map({True: " with a card", False: ""})
leaf = pd.Series(m.labels_, name="leaf")
print(pd.crosstab(truth.rename("truth"), leaf).to_string())
print(f"adjusted Rand index {adjusted_rand_score(truth, leaf):.2f}")

filled = table.notna().groupby(leaf).mean()
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.imshow(filled, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
ax.set_xticks(range(filled.shape[1]), filled.columns, rotation=40, ha="right")
ax.set(ylabel="leaf", title="share of the products whose column is filled")

# %%
# ## What is wrong
#
# The variable above all branches is named storage, which only laptops and phones have: what all products share
# are price and weight, and no variable is named after these. There are too few variables, too. A phone has five
# columns that vary by themselves (price, weight, screen, storage, camera), a tire four and a lamp three (its
# lumens follow from the watts):

print(
    "variables of each leaf:",
    {", ".join(truth[leaf == p.index].unique()): p.dimension for p in m.hierarchy_.paths},
)
