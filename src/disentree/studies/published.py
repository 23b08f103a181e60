"""What the paper states: its settings for each benchmark, and its results."""

from __future__ import annotations

from typing import Any

from disentree.datasets import dataset_info
from disentree.studies.options import Options, Scale

CHOPSTICKS = tuple(f"chopsticks-depth{d}-{v}" for d in (2, 3) for v in ("inter", "slope", "both", "either"))
BENCHMARKS = (*CHOPSTICKS, "spaceshapes")

N_SAMPLES: dict[Scale, int] = {"quick": 20_000, "default": 100_000, "medium": 100_000, "paper": 100_000}
SPACESHAPES_SAMPLES: dict[Scale, int] = {
    "quick": 20_000,
    "default": 60_000,
    "medium": 60_000,
    "paper": 100_000,
}

# The settings of MIMOSA that the paper took from the truth, one set for each data set.
MIMOSA_SETTINGS: dict[str, dict[str, Any]] = {
    "chopsticks-depth2-inter": {"initial_dim": 3},
    "chopsticks-depth2-slope": {"initial_dim": 3},
    "chopsticks-depth2-both": {"initial_dim": 5},
    "chopsticks-depth2-either": {"initial_dim": 4},
    "chopsticks-depth3-inter": {"initial_dim": 4},
    "chopsticks-depth3-slope": {"initial_dim": 4},
    "chopsticks-depth3-both": {"initial_dim": 7},
    "chopsticks-depth3-either": {"initial_dim": 5},
    "spaceshapes": {"initial_dim": 7, "cos_simil_thresh": 0.95, "contagion_num": 3},
}

# Table 1: mean and standard deviation over five restarts.
TABLE1: dict[str, dict[str, tuple[float, float]]] = {
    "chopsticks-depth2-inter": {"purity": (1.0, 0.0), "coverage": (0.99, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth2-slope": {"purity": (1.0, 0.0), "coverage": (0.99, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth2-both": {"purity": (1.0, 0.0), "coverage": (0.96, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth2-either": {"purity": (1.0, 0.0), "coverage": (0.94, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth3-inter": {"purity": (0.98, 0.0), "coverage": (0.98, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth3-slope": {"purity": (0.95, 0.0), "coverage": (0.98, 0.0), "h_error": (0.0, 0.0)},
    "chopsticks-depth3-both": {"purity": (0.94, 0.0), "coverage": (0.82, 0.01), "h_error": (0.0, 0.0)},
    "chopsticks-depth3-either": {"purity": (0.93, 0.0), "coverage": (0.75, 0.01), "h_error": (2.4, 0.89)},
    "spaceshapes": {"purity": (1.0, 0.0), "coverage": (1.0, 0.0), "h_error": (0.0, 0.0)},
}

# R4c and R4 that the text states; all others are only drawn.
R4C = {("spaceshapes", "cofhae"): 0.89, ("spaceshapes", "tcvae"): 0.69}
R4 = {("spaceshapes", "cofhae"): 0.79, ("spaceshapes", "tcvae"): 0.47}
NEAR_PERFECT = tuple(name for name in CHOPSTICKS if name not in CHOPSTICKS[-2:])  # six of nine


def n_samples(dataset: str, scale: Scale) -> int:
    """Samples of a data set at a scale."""
    return (SPACESHAPES_SAMPLES if dataset == "spaceshapes" else N_SAMPLES)[scale]


def describe_samples(options: Options) -> str:
    """The number of samples of each data set, in words."""
    numbers = {dataset: n_samples(dataset, options.scale) for dataset in options.datasets}
    most = max(numbers.values())
    fewer = [f"{n:,} of {dataset}" for dataset, n in numbers.items() if n < most]
    return f"{most:,} samples" + (f" ({', '.join(fewer)})" if fewer else "")


def mimosa_settings(dataset: str) -> dict[str, Any]:
    """The paper's settings for a benchmark; for other data its rule, the largest dimension plus one."""
    if dataset in MIMOSA_SETTINGS:
        return dict(MIMOSA_SETTINGS[dataset])
    hierarchy = dataset_info(dataset).hierarchy
    if hierarchy is None:
        raise ValueError(f"{dataset} is real data: the paper's rule for initial_dim needs its hierarchy")
    return {"initial_dim": 1 + max(path.dimension for path in hierarchy.paths)}


def short(dataset: str) -> str:
    """chopsticks-depth2-inter as 'depth 2 inter'."""
    if not dataset.startswith("chopsticks-depth"):
        return dataset
    depth, variant = dataset.removeprefix("chopsticks-depth").split("-")
    return f"depth {depth} {variant}"
