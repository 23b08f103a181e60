"""Spaceshapes: images, on a small scale

Gray images of 64x64 pixels: moons with a phase, stars with a sharpness, ships with an angle, some of which have
a jet of some length. The data set can draw an image for any values of its variables.
"""

from matplotlib import pyplot as plt

from disentree import COFHAE
from disentree.datasets import load_dataset
from disentree.plots import draw_traversals

ds = load_dataset("spaceshapes", n_samples=1000, seed=0)
print(ds.X.shape)
print(ds.hierarchy)

# %%
# Each row of pictures is one true variable on one leaf, from its 1st to its 99th percentile. `phase` exists for
# moons only, `jetlen` only for ships with a jet.

draw_traversals(ds.codes, ds.hierarchy, ds.generate)

# %%
# The benchmark has 100,000 images, from which the tree is found as well: `disentree run spaceshapes --out ships`
# takes a quarter of an hour and more. [The results](../reproduction.md) are of that scale. To show the calls,
# this page trains on 1,000 images for less than a minute, and tells the model the tree and the leaf of each image.

model = COFHAE(epochs=40, random_state=0)
model.fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
print("images on their leaf:", round(float((model.predict_path(ds.X) == ds.paths).mean()), 3))

# %%
# Images and what comes back of them from three or four numbers and a leaf. So few images and so short a training
# leave ships blurred, of which there are least.

codes = model.transform(ds.X[:8])
again = model.inverse_transform(codes)
figure, axes = plt.subplots(2, 8, figsize=(7, 1.9), layout="constrained")
for j in range(8):
    axes[0, j].imshow(ds.X[j], cmap="gray")
    axes[1, j].imshow(again[j], cmap="gray")
for ax in axes.flat:
    ax.axis("off")

# %%
# The page with sliders for this model would be large and is not embedded here: `disentree.explore(model,
# ds.X).save("ships.html")` writes it.
