"""The figure of the paper's algorithm in docs/mimosa.md: `python docs/figures/mimosa_pieces.py`.

On the principal components of the data, so that no network is trained and the pieces are those of its local rules.
"""

from pathlib import Path

import matplotlib
from sklearn.decomposition import PCA

from disentree import MIMOSA
from disentree.datasets import load_dataset

matplotlib.use("Agg")
from disentree.plots import draw_mimosa

ds = load_dataset("chopsticks-depth2-either", n_samples=20_000, seed=0)
m = MIMOSA.paper(representation="given", whiten=1.0).fit(PCA(4).fit_transform(ds.X))
figure = draw_mimosa(m, ds.paths)
figure.savefig(Path(__file__).with_name("mimosa-pieces.png"), dpi=90, metadata={"Software": None})
