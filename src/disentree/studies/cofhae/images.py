"""COFHAE on images, from end to end: the drawings of this project, and those of the paper."""

from __future__ import annotations

import math
from typing import Any

from disentree.studies.published import R4C
from disentree.studies.running.options import Options, Scale, at_scale
from disentree.studies.running.results import Results, Row, Section
from disentree.studies.running.task import Study, Task, make_task

_N_IMAGES: dict[Scale, int] = {"quick": 20_000, "paper": 100_000}
# Drawings like those of the paper's code are grey at edges, where the paper says binary: both are measured.
KINDS: dict[str, dict[str, Any]] = {
    "smooth": {},
    "paper": {"style": "paper"},
    "paper, binary": {"style": "paper", "binarize": True},
}
# At most so many seeds of each.
DRAWN: dict[Scale, dict[str, int]] = {
    "quick": {"smooth": 1},
    "default": {"smooth": 5, "paper": 1},
    "medium": {"smooth": 5, "paper": 3, "paper, binary": 1},
    "paper": dict.fromkeys(KINDS, 5),
}
SCORES = {
    "h_error": "H-error",
    "purity_held_out": "purity",
    "r4c": "R4c",
    "r4": "R4",
    "mig": "MIG",
    "sap": "SAP",
    "factor_vae": "FVAE",
    "dci": "DCI",
}
PIXELS = {"reconstruction_r2": "R² of pixels", "reconstruction_overlap": "overlap"}
STAGES = ("structure", "model", "scores")


def n_images(scale: Scale) -> int:
    """Images of a study of images; not those of the other studies."""
    return at_scale(_N_IMAGES, scale)


def image_task(scale: Scale, dataset: str, seed: int, columns: dict[str, str], **settings: Any) -> Task:
    """A model of images, with all metrics."""
    same = {"dataset": dataset, "seed": seed, "n_samples": n_images(scale)}
    return make_task({"dataset": dataset, **columns}, extras=("metrics",), **same, **settings)


def plan(options: Options) -> list[Task]:
    """Smooth images with all seeds, then other drawings."""
    return [
        image_task(options.scale, dataset, seed, {"images": kind, "model": "cofhae"}, options=KINDS[kind])
        for dataset in options.datasets
        for kind, most in DRAWN[options.scale].items()
        for seed in options.seeds[:most]
    ]


def report(results: Results) -> list[Section]:
    """Means over seeds; then every run, with its variables and its time."""
    variables = list(dict.fromkeys(name for row in results.rows for name in row.get("factors") or {}))
    means = []
    for here, found in results.groups("images"):
        scores = [results.spread(name, **here) for name in (*SCORES, *PIXELS)]
        stated = R4C.get((found[0]["dataset"], "cofhae"))
        means.append([here["images"], str(len(found)), *scores, "" if stated is None else f"{stated:g}"])
    header = ["images", "seeds", *SCORES.values(), *PIXELS.values(), "paper's R4c"]
    seconds = [f"{stage}, s" for stage in STAGES]
    every = ["images", "seed", "H-error", "R4c", *variables, *PIXELS.values(), *seconds]
    rows = [_run(results, row, variables) for row in results.rows]
    return [
        Section("Scores", WHAT, header, means, numbers=range(1, len(header))),
        Section("Every run", [EVERY], every, rows, numbers=range(1, len(every))),
    ]


WHAT = [
    "`disentree run` with nothing set: structure from MIMOSA on the 90 % of the images that train, scores of the "
    "10 % held out. Mean ± standard deviation over seeds. R² and overlap (intersection over union of the pixels "
    "above one half) are of held-out images that were encoded and decoded. DCI is the disentanglement score.",
    "Smooth images are drawn where they are, with grey edges. The paper's drawings have positions in steps "
    "of a quarter of a pixel and variables in 256 steps, and are reduced from four times their size; binary ones "
    "are black and white.",
]
EVERY = "R4c, and its parts by true variable. Each run has one core; seconds are of structure, model and scores."


def _run(results: Results, row: Row, variables: list[str]) -> list[str]:
    of_variables = row.get("factors") or {}
    scores = [row.get("r4c"), *map(of_variables.get, variables), *map(row.get, PIXELS)]
    times = [results.seconds(row).get("stages", {}).get(stage) for stage in STAGES]
    return [
        row["images"],
        str(row["seed"]),
        f"{row.get('h_error', math.nan):g}",
        *("" if score is None else f"{score:.3f}" for score in scores),
        *("" if seconds is None else f"{seconds:.0f}" for seconds in times),
    ]


STUDY = Study(
    name="images",
    title="COFHAE on images",
    reproduces="the scores of the paper's text, for Spaceshapes",
    datasets={"paper": ("spaceshapes",)},
    seeds={"quick": 1, "paper": 5},
    scale_descriptions={
        scale: f"{n_images(scale):,} images, default settings; seeds at most: "
        + ", ".join(f"{most} of {kind} images" for kind, most in drawn.items())
        for scale, drawn in DRAWN.items()
    },
    plan=plan,
    report=report,
)
