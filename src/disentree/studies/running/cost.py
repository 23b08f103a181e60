"""Rough estimates of how long a run takes: seconds on one core of an ordinary machine, fitted to timed runs.

They order the runs and tell users how long to wait. An error of a factor of two is acceptable: the remaining time
of a study is corrected by how long its runs really take.
"""

from __future__ import annotations

import math

from disentree.datasets import dataset_info
from disentree.hierarchy import Hierarchy
from disentree.runs.config import RunConfig
from disentree.studies.running.task import Task

START = 1.0  # making the data, reading and writing files


def estimate(task: Task) -> float:
    """Seconds for a run on one core."""
    config = task.config
    if task.method is not None:
        each = 1e-3 if task.method.startswith("mimosa") else 2e-4
        return START + each * (config.n_samples or 1000)
    seconds = START + (4e-4 if config.source == "spaceshapes" else 2e-5) * (config.n_samples or 0)
    if task.structure_from is None:
        seconds += structure_seconds(config, trains=task.embedding_from is None)
    if task.until != "structure":
        seconds += model_seconds(config) + score_seconds(config)
        if "metrics" in task.extras:
            seconds += 2 * score_seconds(config)
    if task.until == "report":
        seconds += 8
    return seconds


def structure_seconds(config: RunConfig, trains: bool = True) -> float:
    rows, images = _train_rows(config), config.source == "spaceshapes"
    if config.structure == "mimosa":
        if images:
            return 400 * rows / 90_000
        paths = len(_hierarchy(config).paths)
        return (6 + 2.2 * paths + 0.15 * paths**2) * rows / 90_000
    if config.structure == "mimosa-paper":
        steps = config.structure_settings.get("epochs", 50) * math.ceil(rows / 256)
        dim = config.structure_settings.get("initial_dim", 4)
        training = steps * (PAPER_IMAGE_STEP if images else 0.006) if trains else 0.0
        return training + (8 + 3 * dim) * rows / 90_000
    return 0.0


# Seconds for a step of 256 rows of 64 values, and of 256 images.
STEP = {"ae": 0.004, "vae": 0.005, "tcvae": 0.009, "factorvae": 0.02, "jointvae": 0.006, "cascadevae": 0.02}
# With the paper's networks; its discriminators have up to six layers of 1000.
PAPER_STEP = {
    **dict.fromkeys(("ae", "vae", "jointvae", "flat", "hier", "hier-a", "hier-a-z"), 0.01),
    "cascadevae": 0.03,
    "tcvae": 0.035,
    "factorvae": 0.39,
    "hier-a-tc": 0.12,
}
PAPER_OTHER = 0.4  # COFHAE's, with its conditional penalty
IMAGE_STEP, PAPER_IMAGE_STEP = 0.12, 0.22
STEPS = {"quick": 1000, "default": 4000}


def model_seconds(config: RunConfig) -> float:
    rows, images = _train_rows(config), config.source == "spaceshapes"
    batches = math.ceil(rows / 256)
    if config.epochs is not None:
        steps = config.epochs * batches
    elif config.preset == "paper":
        steps = 50 * batches
    else:
        steps = batches * math.ceil(STEPS[config.preset] / batches)
    known, other = (PAPER_STEP, PAPER_OTHER) if config.preset == "paper" else (STEP, 0.012)
    step = known.get(config.model, other)
    if images:
        step += PAPER_IMAGE_STEP if config.preset == "paper" else IMAGE_STEP
    return 3 + steps * step


def score_seconds(config: RunConfig) -> float:
    tree = _hierarchy(config)
    return 1 + 0.02 * tree.n_variables**2 * (config.n_samples or 0) * config.held_out / 10_000


def _hierarchy(config: RunConfig) -> Hierarchy:
    """The true tree; of real data and files one of a few variables stands for it."""
    if config.kind == "file":
        return Hierarchy.flat(4)
    return dataset_info(config.source, **config.options).hierarchy or Hierarchy.flat(4)


def _train_rows(config: RunConfig) -> float:
    return (config.n_samples or 100_000) * (1 - config.held_out)
