"""How much COFHAE's constants matter: each is varied by itself, and the targets and guides are scored.

    python benchmarks/cofhae_constants.py [NAME ...]

"flat" is the worst R2 between a variable of Chopsticks and its target (3,000 rows, 3 % of the paths wrong, three
data sets); "curved" the worst R2 between a variable of two nested, rolled leaves and its guide (2 x 1,500 rows).
Lower than the line "as they are" by .01 or more means that the constant matters there.
"""

import sys

import numpy as np

from disentree import Hierarchy
from disentree.cofhae import constants
from disentree.cofhae.fitting.targets import Targets, leaf_targets
from disentree.cofhae.fitting.unrolling import guides
from disentree.cofhae.inputs import fit_input_layer
from disentree.datasets import load_dataset
from disentree.training.data import ArraySource

FACTORS = (1 / 4, 4)
FLAT = ("THINNEST", "RANK_TOLERANCE")
CURVED = (
    "LAID_OUT", "LANDMARKS", "NEIGHBORS", "FEWEST_POINTS", "CLEAR", "FIRM", "WINDOW", "NARROW", "OVERLAP",
    "INTERPOLATED_FROM", "NEAREST_PAIRS", "LEAST_CORRELATION",
)  # fmt: skip


def worst_r2(values, codes, hierarchy):
    """Of the best match of each continuous variable, over all leaves that have it."""
    scores = []
    continuous = [v for v in hierarchy.variables if v.kind == "continuous"]
    for v in continuous:
        here = [w.index for w in continuous if (w.parent, w.option) == (v.parent, v.option)]
        matches = [0.0]
        for column in here:
            known = ~np.isnan(values[:, v.index]) & ~np.isnan(codes[:, column])
            if known.sum() > 2:
                matches.append(np.corrcoef(values[known, v.index], codes[known, column])[0, 1] ** 2)
        scores.append(max(matches))
    return min(scores)


def flat():
    worst = 1.0
    for name in ("depth2-both", "depth2-either", "depth3-both"):
        ds = load_dataset(f"chopsticks-{name}", n_samples=3000, seed=0)
        rng = np.random.default_rng(0)
        source = ArraySource(ds.X)
        Z = fit_input_layer(source, "auto", "auto", rng).geometry(ds.X)
        wrong = rng.random(len(ds.X)) < 0.03
        paths = np.where(wrong, rng.integers(len(ds.hierarchy.paths), size=len(ds.X)), ds.paths)
        values = leaf_targets(Z, ds.hierarchy, paths, 0).values
        values[wrong] = np.nan
        worst = min(worst, worst_r2(values, ds.codes, ds.hierarchy))
    return worst


def curved():
    rng = np.random.default_rng(0)
    n = 1500
    u, v = 3 * rng.random(2 * n), 2 * rng.random(2 * n)
    w = np.where(np.arange(2 * n) < n, np.nan, rng.random(2 * n))
    X = np.stack([np.sin(u), np.cos(u), v, np.nan_to_num(w + 0.05)], axis=1)
    third = {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]}
    hierarchy = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, {"kind": "continuous"}, third]})
    none = Targets.trusted(np.full((2 * n, hierarchy.n_variables), np.nan), np.zeros(2))
    paths = np.repeat([0, 1], n)
    found = guides(X, hierarchy, paths, np.arange(2), np.random.default_rng(0), none)
    codes = np.stack([u, v, paths.astype(float), w], axis=1)
    return worst_r2(found.values, codes, hierarchy)


def main() -> None:
    chosen = sys.argv[1:] or [*FLAT, *CURVED]
    print(f"{'as they are':22} flat {flat():.4f}   curved {curved():.4f}")
    for name in chosen:
        usual, measure = getattr(constants, name), flat if name in FLAT else curved
        scores = []
        for factor in FACTORS:
            value = type(usual)(usual * factor)
            if isinstance(usual, int):
                value = max(1, value)
            setattr(constants, name, min(value, 1.0) if isinstance(usual, float) and usual < 1 else value)
            scores.append(f"{getattr(constants, name):g}: {measure():.4f}")
        setattr(constants, name, usual)
        print(f"{name:22} {'flat' if name in FLAT else 'curved':6} {'   '.join(scores)}", flush=True)


if __name__ == "__main__":
    main()
