"""How fast the scores are, against the targets of this project.

    python benchmarks/metrics.py [--rows 10000] [--reference-rows 1000] [--out results/metric-costs.json]

Seconds are of one core: processor time, which other work on the machine does not change.

R4c is timed on depth-3 `either` Chopsticks, 21 by 21 variables, for three learned codes: the true ones pushed
down (easy: most pairs can be dropped after one fit), noisy ones, and a flat mixture of everything (hard: few
pairs can be dropped and no branch shortens the rows). The reference runs in the same process on parts of it.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np

from disentree import Hierarchy
from disentree.datasets import load_dataset
from disentree.metrics import (
    dci_scores,
    dependence_score,
    evaluate,
    factor_vae_score,
    h_error,
    mig_score,
    r4_score,
    r4c_score,
    sap_score,
)
from disentree.metrics.inputs import pair_up
from disentree.metrics.pairs import PairScorer
from disentree.utils.files import write_json
from disentree.utils.versions import build_versions

TARGETS = {"r4c_seconds": 60.0, "speedup": 25.0, "h_error_seconds": 5.0}


def noisy(codes: np.ndarray, hierarchy: Hierarchy, seed: int = 0) -> np.ndarray:
    """A tenth of the rows on a wrong path, and noise on all continuous codes."""
    rng = np.random.default_rng(seed)
    out, other = codes.copy(), hierarchy.sample(len(codes), rng)
    wrong = rng.random(len(codes)) < 0.1
    out[wrong] = other[wrong]
    noise = 0.3 * np.nanstd(codes, axis=0) * rng.standard_normal(out.shape)
    return out + np.where(hierarchy.is_categorical, 0, noise)


def mixture(codes: np.ndarray, seed: int = 0) -> tuple[np.ndarray, Hierarchy]:
    """21 continuous codes, each a random combination of all variables and some noise."""
    rng = np.random.default_rng(seed)
    flat = np.nan_to_num(codes)
    flat = (flat - flat.mean(0)) / flat.std(0)
    mixed = flat @ (np.eye(flat.shape[1]) + 0.2 * rng.standard_normal((flat.shape[1], flat.shape[1])))
    return mixed + 0.1 * rng.standard_normal(mixed.shape), Hierarchy.flat(flat.shape[1])


def seconds(call) -> tuple[float, float]:
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def against_reference(V, h, Z, other, options) -> dict[str, dict[str, float]]:
    """Both estimators on the hard codes, one split: all of R4c on few rows, and some pairs on all rows."""
    few = slice(0, options.reference_rows)
    pairing = pair_up(V, Z, h, other)
    everything = np.arange(len(V))

    def all_factors(estimator):
        return r4c_score(V[few], Z[few], h, other, n_splits=1, n_jobs=options.n_jobs, estimator=estimator)

    def some_pairs(estimator):
        scorer = PairScorer(estimator=estimator, n_splits=1)
        v, z = pairing.flat()
        return float(np.mean([scorer.score(v[i], z[j], everything) for i, j in ((0, 0), (1, 1), (1, 11))]))

    out = {}
    for what, call in {
        f"R4c of {options.reference_rows} rows": all_factors,
        f"three pairs of {len(V)} rows": some_pairs,
    }.items():
        (fast, a), (reference, b) = (seconds(lambda e=e, c=call: c(e)) for e in ("fast", "reference"))
        out[what] = {
            "fast_seconds": fast,
            "reference_seconds": reference,
            "speedup": reference / fast,
            "fast_score": a,
            "reference_score": b,
        }
    return out


def random_hierarchy(n_groups: int, seed: int) -> Hierarchy:
    """A hierarchy with this many groups, the root included."""
    rng = random.Random(seed)
    groups: list[dict] = [{"variables": [{"kind": "continuous"}]}]
    while len(groups) < n_groups:
        parent = rng.choice(groups[-12:])
        options = [{"variables": [{"kind": "continuous"}] * rng.randint(0, 2)} for _ in range(rng.randint(1, 3))]
        options = options[: n_groups - len(groups)]
        if any(v["kind"] == "categorical" for v in parent["variables"]):
            continue
        parent["variables"] = [*parent["variables"], {"kind": "categorical", "options": options}]
        groups += options
    return Hierarchy.from_dict(groups[0])


def n_nodes(tree: tuple) -> int:
    return 1 + sum(map(n_nodes, tree[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--reference-rows", type=int, default=1_000)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()

    ds = load_dataset("chopsticks-depth3-either", n_samples=options.rows, seed=0)
    V, h = ds.codes, ds.hierarchy
    down = h.pushed_down()
    flat_codes, flat = mixture(V)
    codes = {
        "pushed down": (h.transfer(V, down), down),
        "noisy": (noisy(V, h), h),
        "mixture": (flat_codes, flat),
    }
    evaluate(V[:200], V[:200], h, h)  # compile, or load what was compiled before

    result: dict = {
        "command": f"python benchmarks/metrics.py --rows {options.rows} --reference-rows {options.reference_rows}",
        "versions": build_versions(),
        "rows": len(V),
        "r4c": {},
    }
    for name, (Z, other) in codes.items():
        took, value = seconds(lambda Z=Z, other=other: r4c_score(V, Z, h, other, n_jobs=options.n_jobs))
        result["r4c"][name] = {"seconds": took, "score": value}
        print(
            f"R4c, {name:12s} {len(V)} rows, 21 x {other.n_variables}: {took:7.2f} s   score {value:.4f}",
            flush=True,
        )
    Z, other = codes["noisy"]
    timed = {
        "r4": lambda: r4_score(V, Z, h, other, n_jobs=options.n_jobs),
        "dependence": lambda: dependence_score(Z, other),
        "mig": lambda: mig_score(V, Z, h, other),
        "sap": lambda: sap_score(V, Z, h, other),
        "factor_vae": lambda: factor_vae_score(V, Z, h, other),
        "dci": lambda: dci_scores(V, Z, h, other)[0],
    }
    for name, call in timed.items():
        took, value = seconds(call)
        result[name] = {"seconds": took, "score": value}
        print(f"{name}, noisy: {took:7.2f} s   score {value:.4f}", flush=True)

    result["against_reference"] = against_reference(V, h, *codes["mixture"], options)
    for what, r in result["against_reference"].items():
        print(
            f"{what}: fast {r['fast_seconds']:.3f} s, reference {r['reference_seconds']:.1f} s, "
            f"{r['speedup']:.0f} times faster, scores {r['fast_score']:.4f} and {r['reference_score']:.4f}",
            flush=True,
        )

    first, second = random_hierarchy(200, 0), random_hierarchy(200, 1)
    sizes = n_nodes(first.canonical()), n_nodes(second.canonical())
    took, value = seconds(lambda: h_error(first, second))
    result["h_error"] = {"nodes": sizes, "seconds": took, "value": value}
    print(f"H-error of {sizes[0]} and {sizes[1]} nodes: {took:.3f} s", flush=True)

    Z, other = codes["noisy"]
    took, _ = seconds(lambda: evaluate(V, Z, h, other, n_jobs=options.n_jobs))
    result["evaluate_seconds"] = took
    print(f"everything at once, noisy: {took:.1f} s", flush=True)

    met = {
        "r4c_seconds": max(r["seconds"] for r in result["r4c"].values()) < TARGETS["r4c_seconds"],
        "speedup": min(r["speedup"] for r in result["against_reference"].values()) >= TARGETS["speedup"],
        "h_error_seconds": result["h_error"]["seconds"] < TARGETS["h_error_seconds"],
    }
    result["targets"], result["met"] = TARGETS, met
    print("targets: " + ", ".join(f"{name} {'met' if ok else 'MISSED'}" for name, ok in met.items()))
    if options.out:
        write_json(options.out, result)
    raise SystemExit(0 if all(met.values()) else 1)


if __name__ == "__main__":
    main()
