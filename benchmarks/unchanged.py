"""Compare trees, labels and scores with recorded values, to show that a refactoring changed none.

    python benchmarks/unchanged.py            # compare
    python benchmarks/unchanged.py --record   # write benchmarks/golden/unchanged.json

Labels are compared by a checksum, scores to 1e-6. `--table FILE` adds a CSV of numbers to the comparison, which is
recorded under its name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path

import numpy as np

from disentree import MIMOSA, Hierarchy, metrics
from disentree.datasets import load_dataset

GOLDEN = Path(__file__).parent / "golden" / "unchanged.json"
CHOPSTICKS = [f"chopsticks-depth{d}-{kind}" for d in (2, 3) for kind in ("inter", "slope", "both", "either")]
SEEDS = (0, 1)
N_ROWS = 10_000


def structure(X, **settings) -> dict:
    """Tree, dimensions and checksums of the labels of the default MIMOSA."""
    m = MIMOSA(random_state=0, **settings).fit(X)
    return {
        "hierarchy": m.hierarchy_.to_dict(),
        "dimensions": [int(c.dimension) for c in m.components_],
        "labels": _checksum(m.labels_),
        "core_labels": _checksum(m.core_labels_),
        "sizes": np.bincount(m.labels_).tolist(),
    }


def scores() -> dict:
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


def _checksum(labels: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes()).hexdigest()[:16]


def compare(name: str, found: dict, golden: dict) -> list[str]:
    """What differs, in words."""
    out = []
    for key, value in found.items():
        before = golden.get(name, {}).get(key)
        same = abs(value - before) <= 1e-6 if isinstance(value, float) and before is not None else value == before
        if not same:
            out.append(f"{name}: {key} is {value}, was {before}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--table", type=Path, action="append", default=[])
    args = parser.parse_args()
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    differences = []

    def check(name: str, found: dict, seconds: float) -> None:
        if args.record:
            golden[name] = found
            GOLDEN.parent.mkdir(exist_ok=True)
            GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
        new = [] if args.record else compare(name, found, golden)
        differences.extend(new)
        print(f"{name:45s} {seconds:6.1f} s  {'recorded' if args.record else 'different' if new else 'equal'}")
        for line in new:
            print("   ", line[:300])

    start = time.perf_counter()
    check("scores", scores(), time.perf_counter() - start)
    for name in CHOPSTICKS:
        for seed in SEEDS:
            ds = load_dataset(name, n_samples=N_ROWS, seed=seed)
            start = time.perf_counter()
            check(f"{name} seed {seed}", structure(ds.X), time.perf_counter() - start)
    for path in args.table:
        import pandas as pd

        frame = pd.read_csv(path).select_dtypes("number")
        start = time.perf_counter()
        check(path.name, structure(frame.to_numpy(dtype=float)), time.perf_counter() - start)
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
