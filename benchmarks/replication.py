"""What it costs to look for leaves again in parts of the rows, and which leaves come back.

    python benchmarks/replication.py --seeds 0 1
    python benchmarks/replication.py --only chopsticks

Each data set is fitted with and without that, in one process: seconds of processor time, their ratio, leaves and
the adjusted Rand index. The last line has the ratio of all together and the mean over data sets; 1.2 is the goal.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack

import numpy as np
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.studies.running.constants import without

CASES = {  # rows of each, and options: thin leaves, exact and in noise, groups, and nothing
    "nested-curved": (4000, {"noise": 0.01}),
    "circles-disc": (3000, {}),
    "fault-series": (2000, {}),
    "noisy-leaves": (4000, {}),
    "swiss-roll": (4000, {"noise": 0.005}),
    "chopsticks-depth2-either": (3000, {"noise": 0.02}),
    "robot-arm": (4000, {}),
    "clusters": (1000, {}),
    "blobs": (800, {}),
    "gaussian": (1500, {}),
}
RULES = ("thin leaves come back", "groups come back")


def fitted(X: np.ndarray, seed: int) -> tuple[float, MIMOSA]:
    began = time.process_time()
    model = MIMOSA(random_state=seed, n_jobs=1).fit(X)
    return time.process_time() - began, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--only", default="", help="data sets whose name contains this word")
    options = parser.parse_args()
    took: dict[str, list[tuple[float, float]]] = {}
    for name, (n, settings) in CASES.items():
        for seed in options.seeds if options.only in name else []:
            data = load_dataset(name, n_samples=n, seed=seed, **settings)
            if not took:
                fitted(data.X, seed)  # compiles
            seconds, model = fitted(data.X, seed)
            with ExitStack() as stack:
                for rule in RULES:
                    stack.enter_context(without(rule))
                before, plain = fitted(data.X, seed)
            took.setdefault(name, []).append((seconds, before))
            leaves, others = len(model.components_), len(plain.components_)
            scores = [adjusted_rand_score(data.paths, m.labels_) for m in (model, plain)]
            print(
                f"{name:26} {seed:5} {seconds:6.1f} s, without {before:6.1f} s: {seconds / before:5.2f}; "
                f"{leaves} leaves, without {others}; ARI {scores[0]:.2f}, without {scores[1]:.2f}",
                flush=True,
            )
    each = np.array([np.sum(pairs, axis=0) for pairs in took.values()])
    ratios = each[:, 0] / each[:, 1]
    print(f"ratio of all {each[:, 0].sum() / each[:, 1].sum():.2f}, mean of data sets {ratios.mean():.2f}")


if __name__ == "__main__":
    main()
