"""What the paper states: its settings for each benchmark, and its results."""

from __future__ import annotations

from typing import Any

from disentree.datasets import dataset_info, load_file
from disentree.studies.running.options import is_file

CHOPSTICKS = tuple(f"chopsticks-depth{d}-{v}" for d in (2, 3) for v in ("inter", "slope", "both", "either"))
BENCHMARKS = (*CHOPSTICKS, "spaceshapes")

# The settings of MIMOSA that the paper took from the truth, one set for each data set.
MIMOSA_SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"initial_dim": dim} for name, dim in zip(CHOPSTICKS, (3, 3, 5, 4, 4, 4, 7, 5), strict=True)},
    "spaceshapes": {"initial_dim": 7, "cos_simil_thresh": 0.95, "contagion_num": 3},
}

# Table 1: mean and standard deviation over five restarts.
TABLE1: dict[str, dict[str, tuple[float, float]]] = {
    name: dict(zip(("purity", "coverage", "h_error"), values, strict=True))
    for name, *values in (
        ("chopsticks-depth2-inter", (1.0, 0.0), (0.99, 0.0), (0.0, 0.0)),
        ("chopsticks-depth2-slope", (1.0, 0.0), (0.99, 0.0), (0.0, 0.0)),
        ("chopsticks-depth2-both", (1.0, 0.0), (0.96, 0.0), (0.0, 0.0)),
        ("chopsticks-depth2-either", (1.0, 0.0), (0.94, 0.0), (0.0, 0.0)),
        ("chopsticks-depth3-inter", (0.98, 0.0), (0.98, 0.0), (0.0, 0.0)),
        ("chopsticks-depth3-slope", (0.95, 0.0), (0.98, 0.0), (0.0, 0.0)),
        ("chopsticks-depth3-both", (0.94, 0.0), (0.82, 0.01), (0.0, 0.0)),
        ("chopsticks-depth3-either", (0.93, 0.0), (0.75, 0.01), (2.4, 0.89)),
        ("spaceshapes", (1.0, 0.0), (1.0, 0.0), (0.0, 0.0)),
    )
}

# R4c and R4 that the text states; all others are only drawn.
R4C = {("spaceshapes", "cofhae"): 0.89, ("spaceshapes", "tcvae"): 0.69}
R4 = {("spaceshapes", "cofhae"): 0.79, ("spaceshapes", "tcvae"): 0.47}
NEAR_PERFECT = tuple(name for name in CHOPSTICKS if name not in CHOPSTICKS[-2:])  # six of nine


def mimosa_settings(dataset: str) -> dict[str, Any]:
    """The paper's settings for a benchmark; for other data its rule, the largest dimension plus one."""
    if dataset in MIMOSA_SETTINGS:
        return dict(MIMOSA_SETTINGS[dataset])
    hierarchy = load_file(dataset).hierarchy if is_file(dataset) else dataset_info(dataset).hierarchy
    if hierarchy is None:
        raise ValueError(f"{dataset} is real data: the paper's rule for initial_dim needs its hierarchy")
    return {"initial_dim": 1 + max(path.dimension for path in hierarchy.paths)}


def short(dataset: str) -> str:
    """chopsticks-depth2-inter as 'depth 2 inter'."""
    if not dataset.startswith("chopsticks-depth"):
        return dataset
    depth, variant = dataset.removeprefix("chopsticks-depth").split("-")
    return f"depth {depth} {variant}"


def stated_scores(dataset: str, model: str) -> str:
    """R4 and R4c that the paper states of a model, in a cell; "" for none."""
    key = (dataset, model)
    return f"{R4[key]:g}, {R4C[key]:g}" if key in R4 else ""


def stated_structure(dataset: str, name: str) -> str:
    """A cell of the paper's Table 1; "" for other data."""
    return "{:g} ± {:g}".format(*TABLE1[dataset][name]) if dataset in TABLE1 else ""
