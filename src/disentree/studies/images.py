"""COFHAE and the baselines on images, with the same networks, the same likelihood and as many images seen."""

from __future__ import annotations

from itertools import product
from typing import Any

from disentree.studies.models import title
from disentree.studies.options import Options
from disentree.studies.published import R4, R4C
from disentree.studies.results import Picture, Results, Section, mean, spread
from disentree.studies.task import Study, Task, make_task

BASELINES = ("vae", "tcvae", "factorvae", "jointvae", "cascadevae")
# The encoder is the mirror image of the decoder that COFHAE draws images with, and pixels are Bernoulli, as there.
# 64 rows are the minibatch of most work on disentanglement: an estimate of the total correlation needs that many.
NETWORKS: dict[str, Any] = {"encoder": "sharp", "decoder": "sharp", "likelihood": "bernoulli", "batch_size": 64}
N_SAMPLES = {"quick": 20_000, "default": 100_000, "medium": 100_000, "paper": 100_000}
# 72,000, 360,000 and 1,440,000 images: about 1, 5 and 20 minutes of a core for a VAE. A run of COFHAE takes about
# as long as the last, its representation included.
EPOCHS = {"quick": 4, "default": 4, "medium": 4, "paper": 16}
PIXELS = ("reconstruction_r2", "reconstruction_overlap")
STAGES = ("structure", "model", "scores")
SHOWN = {
    "r4c": "R4c",
    "r4": "R4",
    "mig": "MIG",
    "sap": "SAP",
    "factor_vae": "FVAE",
    "dci": "DCI",
    "h_error": "H-error",
    "purity_held_out": "purity",
    "reconstruction_r2": "R² of pixels",
    "reconstruction_overlap": "overlap",
}


# Drawings like those of the paper's code are grey at edges, where the paper says binary: both are measured.
KINDS: dict[str, dict[str, Any]] = {
    "smooth": {},
    "paper": {"style": "paper"},
    "paper, binary": {"style": "paper", "binarize": True},
}
COMPARED = 3  # seeds of baselines; COFHAE has all
DRAWN = {"paper": 2, "paper, binary": 1}  # seeds of COFHAE on other drawings


def plan(options: Options) -> list[Task]:
    """COFHAE with all seeds, then baselines, then COFHAE on other drawings."""
    fair = {"structure": "true", "epochs": EPOCHS[options.scale], "model_settings": NETWORKS}

    def task(dataset: str, kind: str, model: str, seed: int) -> Task:
        return make_task(
            {"dataset": dataset, "images": kind, "model": model},
            dataset=dataset,
            seed=seed,
            n_samples=N_SAMPLES[options.scale],
            options=KINDS[kind],
            extras=("metrics",),
            model=model,
            **({} if model == "cofhae" else fair),
        )

    return [
        one
        for dataset in options.datasets
        for one in (
            *(task(dataset, "smooth", "cofhae", seed) for seed in options.seeds),
            *(task(dataset, "smooth", model, seed) for seed in options.seeds[:COMPARED] for model in BASELINES),
            *(task(dataset, kind, "cofhae", seed) for kind, n in DRAWN.items() for seed in options.seeds[:n]),
        )
    ]


def report(results: Results) -> list[Section]:
    """Scores of all models; every run of COFHAE with its variables; where its time goes."""
    models = results.levels("model")
    rows = []
    for dataset, kind, model in product(*map(results.levels, ("dataset", "images", "model"))):
        found = results.where(dataset=dataset, images=kind, model=model)
        if not found:
            continue
        scores = [spread(results.values(name, dataset=dataset, images=kind, model=model)) for name in SHOWN]
        times = [results.seconds(row).get("cpu", {}) for row in found]
        cpu = [stages.get("structure", 0.0) + stages["model"] for stages in times if stages.get("model")]
        stated = R4C.get((dataset, model))
        rows.append(
            [
                dataset,
                kind,
                title(model),
                str(len(found)),
                *scores,
                f"{mean(cpu):.0f} s" if cpu else "",
                "" if stated is None else f"{R4[dataset, model]:g}, {stated:g}",
            ]
        )
    header = ["data set", "images", "model", "seeds", *SHOWN.values(), "time of training", "paper's R4, R4c"]
    seen = round(0.9 * N_SAMPLES[results.options.scale] * EPOCHS[results.options.scale])
    text = [
        f"Of held-out images, mean ± standard deviation over seeds. Each baseline sees {seen:,} images, in "
        "minibatches of 64. Encoder and decoder are convolutional: the decoder is the one that COFHAE draws "
        "images with, the encoder its mirror image. Pixels are Bernoulli. Baselines are given the true number of "
        "continuous variables, JointVAE and CascadeVAE the true numbers of options too; COFHAE is told nothing.",
        "The time is that of one core (CPU time): of COFHAE for its representation, its tree, its codes and its "
        "decoder, of the baselines for their one training. DCI is the disentanglement score. A flat code has one "
        "leaf for each combination of its options, so H-error and purity say little about baselines.",
        "Smooth images are drawn where they are, edges in shades of grey. The paper's drawings have positions in "
        "steps of a quarter of a pixel and variables in 256 steps, and are reduced from four times their size; "
        "binary ones are black and white.",
    ]
    caption = "R4c, R4 and R² of the pixels; a point is the mean over seeds, dashes are single runs."
    picture = Picture("images", caption, lambda: _draw(results, models))
    return [
        Section("Scores", text, header, rows, numbers=range(3, 5 + len(SHOWN)), pictures=[picture]),
        *_every_run(results),
    ]


def _every_run(results: Results) -> list[Section]:
    found = results.where(model="cofhae")
    variables = list(dict.fromkeys(name for row in found for name in row.get("factors") or {}))
    runs = []
    for row in found:
        of_variables = row.get("factors") or {}
        scores = [row.get("r4c"), *map(of_variables.get, variables), *map(row.get, PIXELS)]
        times = [results.seconds(row).get("stages", {}).get(stage) for stage in STAGES]
        runs.append(
            [
                row["images"],
                str(row["seed"]),
                str(row.get("h_error", "")),
                *("" if score is None else f"{score:.3f}" for score in scores),
                *("" if seconds is None else f"{seconds:.0f}" for seconds in times),
            ]
        )
    header = ["images", "seed", "H-error", "R4c", *variables, *(SHOWN[name] for name in PIXELS)]
    header += [f"{stage}, s" for stage in STAGES]
    text = "R4c, and its parts by true variable. Overlap: intersection over union of the pixels above one half."
    return [Section("Every run of COFHAE", [text], header, runs, numbers=range(1, len(header)))]


def _draw(results: Results, models: list[str]):
    from disentree.studies.figures import draw_groups

    shown = {name: SHOWN[name] for name in ("r4c", "r4", "reconstruction_r2")}
    panels = {
        dataset: {
            title(m): [results.values(name, dataset=dataset, images="smooth", model=m) for name in shown]
            for m in models
        }
        for dataset in results.levels("dataset")
    }
    return draw_groups(list(shown.values()), panels, limits=(-0.02, 1.02))


STUDY = Study(
    name="images",
    title="COFHAE and baselines on images",
    reproduces="Figure 4, for Spaceshapes",
    datasets=dict.fromkeys(("quick", "default", "medium", "paper"), ("spaceshapes",)),
    seeds={"quick": 1, "default": 5, "medium": 5, "paper": 5},
    scale_descriptions={
        scale: f"{n:,} images; baselines with {EPOCHS[scale]} epochs and at most {COMPARED} seeds, COFHAE by its "
        "default preset"
        for scale, n in N_SAMPLES.items()
    },
    plan=plan,
    report=report,
)
