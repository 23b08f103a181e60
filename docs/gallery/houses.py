"""Houses: what exists where

Sales of 600 houses in Ames, Iowa, a random sample of the whole table that comes with the package. The columns
are of all kinds, and empty cells mean something: a house without a garage has no garage type.
"""

from matplotlib import pyplot as plt

from disentree import open_run
from disentree.cli.run import print_summary
from disentree.datasets import load_dataset
from disentree.explorer import Page, from_run
from disentree.runs import RunConfig, finish_run, start_run

columns = [
    "area",
    "price",
    "Garage.Type",
    "Garage.Area",
    "Fireplaces",
    "Fireplace.Qu",
    "X2nd.Flr.SF",
    "Wood.Deck.SF",
]
houses = load_dataset("ames-sample").X[columns]
houses.to_csv("houses.csv", index=False)
print(houses.head(4).to_string())

# %%
# This is `disentree run houses.csv --resamples 0 --out run`, as for a file of your own. It finds the tree, fits
# maps from rows to variables and back, and scores them on rows that were held out.

run = start_run(RunConfig.of("houses.csv", resamples=0), "run")
finish_run(run)
print_summary(run)

# %%
# Garage, deck and second floor stand *side by side*: they are separate choices. A house may have a deck
# whether or not it has a second floor. The fireplace stands below the garage: the few houses without a garage
# hardly ever have one. Every combination of options is a leaf, and each variable is written once.

print(len(run.hierarchy.paths), "combinations of", len(run.hierarchy.root.categoricals), "choices at the root")

# %%
# Codes have a column for each variable, NaN where it does not exist. On the way back, cells are empty where the
# path says that there is nothing.

opened = open_run("run")
codes = opened.transform(houses)
print(codes[:3].round(2))
print(opened.inverse_transform(codes[:3]).round(0).to_string())

# %%
# One variable of the root goes with the size of a house, and so with its price.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
has_fireplace = houses["Fireplaces"] > 0
for here, label, color in ((~has_fireplace, "without", "0.6"), (has_fireplace, "with fireplace", "#b5541c")):
    ax.scatter(codes[here, 0], houses["price"][here], s=8, label=label, color=color)
ax.set(xlabel="first variable of the root", ylabel="price")
ax.legend()

# %%
# The page with sliders: choose what the house has, and the variables of it appear.

Page(from_run(run, device="cpu")).save("houses.html")
