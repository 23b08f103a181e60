"""Supervised models: what codes look like when the truth is known

Three data sets whose trees and variables are known, and models that learn from both: every row comes with its path
and with the values of its variables. This is the paper's H+A+Z, a bound for methods that have to find all of it.
"""

from disentree import explore, metrics
from disentree.baselines import ABLATIONS
from disentree.datasets import load_dataset
from disentree.plots import draw_pairwise


def supervised(name, seed=0):
    """A model of 18,000 rows with their true codes, scored on 2,000 others, and its page; codes of the others."""
    ds = load_dataset(name, n_samples=20_000, seed=seed)
    train, test = slice(18_000), slice(18_000, None)
    model = ABLATIONS["hier-a-z"].quick(hidden=(128, 128), random_state=seed)
    model.fit(ds.X[train], hierarchy=ds.hierarchy, paths=ds.paths[train], codes=ds.codes[train])
    Z = model.transform(ds.X[test])
    print(ds.hierarchy)
    print("rows on the true path", round(float((model.hierarchy_.path_of(Z) == ds.paths[test]).mean()), 3))
    print("R4c", round(metrics.r4c_score(ds.codes[test], Z, ds.hierarchy, model.hierarchy_), 3))
    explore(model, ds.X[test], title=name).save(f"supervised-{name}.html")
    return ds.codes[test], Z, ds.hierarchy, model.hierarchy_


# %%
# Sticks with a slope and an intercept, chopped at most once. Choose a branch and move its sliders: each is one of
# the true variables, the slope or the intercept of one stick.

codes = supervised("chopsticks-depth2-both")

# %%
# Each true variable against each learned one, where both are active. What was learned is what was true:

draw_pairwise(*codes)

# %%
# Sticks with a slope or an intercept, chopped at most twice: 14 paths and 21 variables, of which at most three are
# open at a time.

codes = supervised("chopsticks-depth3-either")

# %%
# Markers on a robot arm, one to three of whose joints move: curved leaves, each inside the next.

codes = supervised("robot-arm")
