"""PyTorch networks of your own

`COFHAE` takes any encoder and decoder that are `torch.nn.Module`s. The encoder's output and the decoder's input
have one number for every continuous variable and one for every option of a choice.
"""

import torch
from matplotlib import pyplot as plt
from torch import nn

from disentree import COFHAE, metrics
from disentree.datasets import load_dataset

ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
print(ds.hierarchy)

# %%
# Two continuous variables and a choice of two options make four items. Inputs are whitened before they get to
# the encoder, on as many directions as the data has: two here.

items, features = 4, 2


class Residual(nn.Module):
    def __init__(self, n_in: int, n_out: int, width: int = 32):
        super().__init__()
        self.straight = nn.Linear(n_in, n_out)
        self.bent = nn.Sequential(nn.Linear(n_in, width), nn.SiLU(), nn.Linear(width, n_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.straight(x) + self.bent(x)


model = COFHAE(encoder=Residual(features, items), decoder=Residual(items, features), epochs=80, random_state=0)
model.fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
Z = model.transform(ds.X)
print("R4c", round(metrics.r4c_score(ds.codes, Z, ds.hierarchy, model.hierarchy_), 3))

# %%
# The history has a row for each epoch.

figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
for name in ("reconstruction", "assignment"):
    ax.semilogy([row["epoch"] for row in model.history_], [row[name] for row in model.history_], label=name)
ax.set(xlabel="epoch", ylabel="loss")
ax.legend()

# %%
# A saved folder has weights and settings, and no code: give the modules again when it is loaded.

model.save("saved")
again = COFHAE.load("saved", encoder=Residual(features, items), decoder=Residual(items, features))
print(
    "the same codes:", bool((again.transform(ds.X[:5]) == Z[:5])[~torch.isnan(torch.tensor(Z[:5])).numpy()].all())
)
