"""The paper's MIMOSA, step by step: Algorithms 1 and 3 to 7 with the settings of its appendix.

Where text and published code differ, this follows what the published numbers were computed with, and says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.hulls import on_edge
from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.estimator import MIMOSA
from disentree.mimosa.finders.components import build_components, similar_neighbors
from disentree.mimosa.finders.decompose import Decomposition
from disentree.mimosa.finders.merge import drop_small, renumber, rows_of
from disentree.mimosa.finders.tangents import Tangents, local_svd
from disentree.mimosa.paper.autoencoder import flat_autoencoder, given
from disentree.mimosa.representation.linear import Representation
from disentree.mimosa.tree import choose_parents, enclosure_ratios


def common_edge_frac(d: int) -> float:
    """Two neighbouring hypercubes of dimension d share one of 2^d sides; the mean of that and of the fraction
    for one dimension more."""
    return 2.0 ** -(d + 1) + 2.0 ** -(d + 2)


class PaperMIMOSA(MIMOSA):
    """The paper's algorithm with its settings by their names; `MIMOSA.paper(...)` makes one.

    Points that are in no component keep the label -1: `labels_` equals `core_labels_`. `predict`, which the
    paper does not have, assigns new points to the likeliest component as the default `MIMOSA` does.

    Parameters
    ----------
    initial_dim : int, default=4
        Dimension of the autoencoder's latent. The paper takes it from the truth: 3 for Chopsticks of depth 2,
        but 4 for `either` and 5 for `both`; 4 at depth 3, but 5 for `either` and 7 for `both`; 7 for
        Spaceshapes.
    num_nearest_neighbors : int, default=40
        Size of a neighbourhood, the point itself included.
    ransac_frac : float, default=2/3
        The fraction of a neighbourhood that the second SVD is fitted to; 1 for no second SVD.
    eig_cumsum_thresh : float, default=0.95
        The fraction of variance that the local dimensions must explain.
    eig_decay_thresh : float, default=4
        The factor by which the variance must drop after them.
    cos_simil_thresh : float, default=0.99
        The least cosine between tangent planes of neighbours that are joined (Spaceshapes: 0.95).
    contagion_num : int, default=5
        The number of members that must have a point as similar neighbour for it to join (Spaceshapes: 3).
    min_size_init, min_size_merged : float or int, default=0.0002 and 0.02
        Smaller components are dropped before and after merging: a fraction of the rows if below 1, else a
        number of rows.
    min_common_edge_frac : callable, float or None, default=None
        For each dimension the fraction of edge points that components must share to be merged; None for
        2^-(d+1) + 2^-(d+2), a number for that many times as much.
    neighbor_lengthscale_mult : float, default=10
        A component encloses another if this is at most that many times its neighbour distance away.
    ransac_first_dimension : {0, 1}, default=0
        Reconstruction errors are aggregated from this dimension on: 1 in the text, 0 in the published code.
    activation : {"softplus", "relu"}, default="softplus"
        Of the autoencoder. ReLU folds manifolds sharply, which local SVDs do not take well.
    representation : {"autoencoder", "given"}, default="autoencoder"
        "given" if `X` is the initial representation already; `initial_dim` is not used then.
    epochs, batch_size, learning_rate
        Of the autoencoder.
    random_state, n_jobs, verbose
        As for `MIMOSA`.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
    >>> m = MIMOSA.paper(representation="given").fit(ds.codes[ds.paths == 1][:, [0, 2]])
    >>> len(m.hierarchy_.paths)
    1
    """

    max_landmarks = sys.maxsize

    def __init__(
        self,
        *,
        initial_dim: int = 4,
        num_nearest_neighbors: int = 40,
        ransac_frac: float = 2 / 3,
        eig_cumsum_thresh: float = 0.95,
        eig_decay_thresh: float = 4.0,
        cos_simil_thresh: float = 0.99,
        contagion_num: int = 5,
        min_size_init: float = 0.0002,
        min_size_merged: float = 0.02,
        min_common_edge_frac: Callable[[int], float] | float | None = None,
        neighbor_lengthscale_mult: float = 10.0,
        ransac_first_dimension: int = 0,
        activation: str = "softplus",
        representation: str = "autoencoder",
        epochs: int = 50,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.initial_dim = initial_dim
        self.num_nearest_neighbors = num_nearest_neighbors
        self.ransac_frac = ransac_frac
        self.eig_cumsum_thresh = eig_cumsum_thresh
        self.eig_decay_thresh = eig_decay_thresh
        self.cos_simil_thresh = cos_simil_thresh
        self.contagion_num = contagion_num
        self.min_size_init = min_size_init
        self.min_size_merged = min_size_merged
        self.min_common_edge_frac = min_common_edge_frac
        self.neighbor_lengthscale_mult = neighbor_lengthscale_mult
        self.ransac_first_dimension = ransac_first_dimension
        self.activation = activation
        self.representation = representation
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> PaperMIMOSA:
        self._check_settings()
        super().fit(X)
        return self

    # ---------------------------------------------------------------- the steps

    def _check_settings(self) -> None:
        """Refuse before any long work."""
        ranges: dict[str, tuple[float, float]] = {
            "initial_dim": (1, np.inf),
            "num_nearest_neighbors": (2, np.inf),
            "ransac_frac": (1e-9, 1),
            "eig_cumsum_thresh": (0, 1),
            "eig_decay_thresh": (1, np.inf),
            "cos_simil_thresh": (0, 1),
            "contagion_num": (1, np.inf),
            "min_size_init": (0, np.inf),
            "min_size_merged": (0, np.inf),
            "neighbor_lengthscale_mult": (0, np.inf),
            "ransac_first_dimension": (0, 1),
            "epochs": (1, np.inf),
            "batch_size": (1, np.inf),
            "learning_rate": (0, np.inf),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                limits = f"{low:g} or more" if high == np.inf else f"between {low:g} and {high:g}"
                raise ValueError(f"{name} must be {limits}, got {value!r}")
        if self.activation not in ("softplus", "relu"):
            raise ValueError(f"activation must be 'softplus' or 'relu', got {self.activation!r}")
        if self.representation not in ("autoencoder", "given"):
            raise ValueError(f"representation must be 'autoencoder' or 'given', got {self.representation!r}")
        if self.representation != "given" and self.num_nearest_neighbors <= self.initial_dim:
            raise ValueError(
                f"num_nearest_neighbors must exceed initial_dim, got {self.num_nearest_neighbors} "
                f"and {self.initial_dim}"
            )

    def _represent(self, X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Representation:
        """Algorithm 1, line 1."""
        if self.representation == "given":
            if (dims := int(np.prod(X.shape[1:]))) >= self.num_nearest_neighbors:
                raise ValueError(
                    f"a given representation must have fewer dimensions than num_nearest_neighbors="
                    f"{self.num_nearest_neighbors}, got {dims}"
                )
            return given(X)
        return flat_autoencoder(
            X,
            self.initial_dim,
            seed,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            activation=self.activation,
            verbose=self.verbose,
        )

    def _decompose(self, Z: Float[np.ndarray, "n D"], seed: np.random.SeedSequence) -> Decomposition:
        """Algorithm 1, lines 2 to 5."""
        k = min(self.num_nearest_neighbors - 1, len(Z) - 1)
        with self._timed("neighbors"):
            _, neighbors = nearest_neighbors(Z, k, self._workers)
        with self._timed("local SVD"):
            tangents = local_svd(
                Z,
                neighbors,
                self.ransac_frac,
                self.eig_cumsum_thresh,
                self.eig_decay_thresh,
                self.ransac_first_dimension,
            )
        with self._timed("growing"):
            similar = similar_neighbors(tangents, neighbors, self.cos_simil_thresh)
            labels = build_components(neighbors, similar, self.contagion_num)
        with self._timed("merging"):
            labels = drop_small(labels, self._rows(self.min_size_init, len(Z)))
            labels = renumber(labels, tangents.dimensions)
            self.n_pieces_ = int(labels.max(initial=-1)) + 1
            labels = merge_over_edges(
                Z,
                tangents,
                labels,
                neighbors,
                self.cos_simil_thresh,
                self._least_common_edge,
                self._workers,
            )
            labels = drop_small(labels, self._rows(self.min_size_merged, len(Z)))
            labels = renumber(labels, tangents.dimensions)
        if labels.max(initial=-1) < 0:
            raise ValueError(
                "no component was found that has min_size_merged="
                f"{self.min_size_merged:g} of the rows: lower cos_simil_thresh or contagion_num"
            )
        # For predict: what tangent planes may differ by, points may be off them by.
        tolerance = float(np.sqrt(max(1 - self.cos_simil_thresh**2, 1e-6)))
        return Decomposition(labels, tangents, tolerance, 0.0)

    def _build_tree(self, Z: Float[np.ndarray, "n D"], found: Decomposition) -> None:
        """Algorithm 7. The distance is that from the enclosed component's points to the enclosing one, as in
        the appendix on hyperparameters and the published code; the algorithm box has it the other way."""
        cores = rows_of(found.labels)
        ratios = enclosure_ratios(Z, cores, found.dimensions)
        parents = choose_parents(found.dimensions, ratios, ratios <= self.neighbor_lengthscale_mult)
        self._set_tree(Z, found, cores, parents)

    def _label(
        self, Z: Float[np.ndarray, "n D"], core: Int[np.ndarray, " n"], seen: Int[np.ndarray, " m"]
    ) -> None:
        self.core_labels_ = core
        self.labels_ = core.copy()

    def _least_common_edge(self, d: int) -> float:
        asked = self.min_common_edge_frac
        if callable(asked):
            return asked(d)
        return common_edge_frac(d) * (1.0 if asked is None else asked)

    @staticmethod
    def _rows(size: float, n: int) -> int:
        return round(size * n) if size < 1 else int(size)


def component_edges(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    neighbors: Int[np.ndarray, "n k"],
    n_jobs: int = -1,
) -> Bool[np.ndarray, " n"]:
    """Points that are outside the convex hull of their neighbours within their own component."""
    k = neighbors.shape[1]
    edge = np.zeros(len(Z), dtype=bool)
    # Where all neighbours are of the same component they are its nearest, and need not be looked for again.
    at_home = (labels[neighbors] == labels[:, None]).all(axis=1)
    for rows in rows_of(labels):
        d = int(tangents.dimensions[rows[0]])
        near = neighbors[rows]
        away = np.flatnonzero(~at_home[rows])
        few = min(k, len(rows) - 1)
        if few == 0:
            edge[rows] = True
            continue
        if len(away):
            indices = np.asarray(KDTree(Z[rows]).query(Z[rows[away]], few + 1, workers=n_jobs)[1])
            itself = indices == away[:, None]
            itself[~itself.any(axis=1), -1] = True  # among more duplicates than neighbours
            near[away, :few] = rows[indices[~itself].reshape(-1, few)]
            near[away, few:] = near[away, :1]
        edge[rows] = on_edge(Z, tangents.bases[rows, :d], near, rows)
    return edge


def edge_overlap(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    edge: Bool[np.ndarray, " n"],
    cos_simil_thresh: float,
    n_jobs: int = -1,
) -> Float[np.ndarray, "c c"]:
    """M of Algorithm 6: for components of equal dimension the share of edge points of one whose nearest edge
    point of the other has a similar tangent plane, the mean of both directions."""
    pieces = rows_of(labels)
    dims = np.array([tangents.dimensions[rows[0]] for rows in pieces], dtype=np.int64)
    edges = [rows[edge[rows]] for rows in pieces]
    overlap = np.zeros((len(pieces), len(pieces)))
    for d in np.unique(dims):
        same = [c for c in np.flatnonzero(dims == d) if len(edges[c])]
        if len(same) < 2:
            continue
        points = np.concatenate([edges[c] for c in same])
        owner = np.repeat(same, [len(edges[c]) for c in same])
        for c in same:
            others = owner != c
            nearest = edges[c][KDTree(Z[edges[c]]).query(Z[points[others]], workers=n_jobs)[1]]
            fits = similar_neighbors(tangents, nearest[:, None], cos_simil_thresh, points[others])[:, 0]
            shared = np.bincount(owner[others], fits, minlength=len(pieces))
            overlap[:, c] = shared / np.maximum([len(e) for e in edges], 1)
    return (overlap + overlap.T) / 2


def merge_over_edges(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    neighbors: Int[np.ndarray, "n k"],
    cos_simil_thresh: float,
    min_common_edge_frac: Callable[[int], float],
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """Algorithm 6 for components that are numbered from 0 on."""
    if labels.max(initial=-1) < 1:
        return labels
    edge = component_edges(Z, tangents, labels, neighbors, n_jobs)
    overlap = edge_overlap(Z, tangents, labels, edge, cos_simil_thresh, n_jobs)
    dims = [int(tangents.dimensions[rows[0]]) for rows in rows_of(labels)]
    least = np.array([min_common_edge_frac(d) for d in dims])
    a, b = np.nonzero(np.triu((overlap >= least[:, None]) & (overlap > 0), 1))
    graph = coo_matrix((np.ones(len(a)), (a, b)), shape=overlap.shape)
    _, group = connected_components(graph, directed=False)
    return np.where(labels >= 0, group[labels], -1)
