"""Baselines on images, with the decoder and the likelihood that COFHAE draws images with, and about the time of
its training."""

from __future__ import annotations

from itertools import product
from typing import Any

from disentree.studies.cofhae.images import PIXELS, SCORES, image_task, n_images
from disentree.studies.models import draw_scores, title
from disentree.studies.published import stated_scores
from disentree.studies.running.options import Options, Scale
from disentree.studies.running.results import Picture, Results, Section, mean
from disentree.studies.running.task import Study, Task

BASELINES = ("vae", "tcvae", "factorvae", "jointvae", "cascadevae")
# The encoder is the mirror image of the decoder that COFHAE draws images with, and pixels are Bernoulli, as there.
# 64 rows are the minibatch of most work on disentanglement: an estimate of the total correlation needs that many.
NETWORKS: dict[str, Any] = {"encoder": "sharp", "decoder": "sharp", "likelihood": "bernoulli", "batch_size": 64}
# 72,000, 720,000 and 1,440,000 images: about 1, 10 and 20 minutes of a core for a VAE.
EPOCHS: dict[Scale, int] = {"quick": 4, "default": 8, "medium": 8, "paper": 16}
SHOWN = {**{name: SCORES[name] for name in ("r4c", "r4", "mig", "sap", "factor_vae", "dci")}, **PIXELS}
DRAWN = {name: SHOWN[name] for name in ("r4c", "r4", "reconstruction_r2")}


def plan(options: Options) -> list[Task]:
    """All baselines of a seed, then those of the next."""
    settings = {"structure": "true", "epochs": EPOCHS[options.scale], "model_settings": NETWORKS}
    return [
        image_task(options.scale, dataset, seed, {"model": model}, model=model, **settings)
        for dataset, seed, model in product(options.datasets, options.seeds, BASELINES)
    ]


def report(results: Results) -> list[Section]:
    rows = []
    for here, found in results.groups("dataset", "model"):
        scores = [results.spread(name, **here) for name in SHOWN]
        times = [results.seconds(row).get("cpu", {}) for row in found]
        cpu = [stages["model"] for stages in times if stages.get("model")]
        shown = f"{mean(cpu):.0f} s" if cpu else ""
        rows.append([here["dataset"], title(here["model"]), *scores, shown, stated_scores(**here)])
    header = ["data set", "model", *SHOWN.values(), "time of training", "paper's R4, R4c"]
    seen = round(0.9 * n_images(results.options.scale) * EPOCHS[results.options.scale])
    text = [
        f"Of held-out images, mean ± standard deviation over seeds. Each baseline sees {seen:,} images, in "
        "minibatches of 64. Encoder and decoder are convolutional: the decoder is the one that COFHAE draws "
        "images with, the encoder its mirror image. Pixels are Bernoulli. Baselines are given the true number of "
        "continuous variables, JointVAE and CascadeVAE the true numbers of options; COFHAE (study `images`) is "
        "told nothing. The time is that of one core. DCI is the disentanglement score.",
    ]
    caption = "R4c, R4 and R² of the pixels; a point is the mean over seeds, dashes are single runs."
    picture = Picture("image_baselines", caption, lambda: draw_scores(results, DRAWN))
    return [Section("Scores", text, header, rows, numbers=range(2, 3 + len(SHOWN)), pictures=[picture])]


STUDY = Study(
    name="image-baselines",
    title="Baselines on images",
    reproduces="Figure 4, for Spaceshapes",
    datasets={"paper": ("spaceshapes",)},
    seeds={"quick": 1, "medium": 3, "paper": 5},
    scale_descriptions={
        scale: f"{n_images(scale):,} images, {epochs} epochs of each model" for scale, epochs in EPOCHS.items()
    },
    plan=plan,
    report=report,
)
