"""Tables in which there is nothing to find: how many leaves are told.

    python benchmarks/no_structure.py --rows 1000 20000 --seeds 0 1 2
    python benchmarks/no_structure.py --only ages --seeds 0

Each kind is made anew for each seed; one leaf is right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from disentree import MIMOSA
from disentree.datasets import load_dataset


def correlated(rng: np.random.Generator, n: int, p: int = 5) -> np.ndarray:
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p))


def ages(rng: np.random.Generator, n: int) -> np.ndarray:
    """Ages that many people round to tens and fives, and two measures that depend on them."""
    age = rng.gamma(9, 5, n)
    step = rng.choice([1, 5, 10], n, p=[0.6, 0.25, 0.15])
    income = np.exp(0.3 * (age - 45) / 15 + 0.5 * rng.standard_normal(n))
    return np.stack([np.round(age / step) * step, income, 0.2 * age + 5 * rng.standard_normal(n)], axis=1)


def autoregressive(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows in the order of time, each near to the one before."""
    X = rng.standard_normal((n, 4))
    for t in range(1, n):
        X[t] = 0.8 * X[t - 1] + 0.6 * X[t]
    return X


KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "gaussian": correlated,
    "cube": lambda rng, n: rng.random((n, 4)),
    "t": lambda rng, n: rng.standard_t(3, (n, 4)),
    "lognormal": lambda rng, n: np.exp(0.3 * correlated(rng, n, 4)),
    "poisson": lambda rng, n: rng.poisson([1, 3, 8, 20, 5], (n, 5)).astype(float),
    "integers": lambda rng, n: rng.integers(0, 10, (n, 5)).astype(float),
    "rounded": lambda rng, n: np.round(correlated(rng, n, 4)),
    "ages": ages,
    "prices": lambda rng, n: load_dataset("prices", n, seed=int(rng.integers(2**31))).X,
    "top-coded": lambda rng, n: np.minimum(correlated(rng, n, 4), [1.0, 2.0, np.inf, np.inf]),
    "bimodal": lambda rng, n: load_dataset("bimodal", n, seed=int(rng.integers(2**31))).X,
    "autoregressive": autoregressive,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", type=int, default=[1000, 20_000])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--only", default="", help="kinds whose name contains this word")
    options = parser.parse_args()
    for n in options.rows:
        for name, make in KINDS.items():
            if options.only not in name:
                continue
            found, began = [], time.process_time()
            for seed in options.seeds:
                m = MIMOSA(random_state=0, n_jobs=1).fit(make(np.random.default_rng(seed), n))
                found.append(
                    f"{len(m.components_)}"
                    + (f" ({m.candidates_[0]['finder']})" if len(m.components_) > 1 else "")
                )
            seconds = (time.process_time() - began) / len(options.seeds)
            right = sum(one == "1" for one in found)
            print(f"{n:6} {name:15} {right} of {len(found)}  {seconds:6.1f} s  {', '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
