"""Baselines on images, with the decoder and the likelihood that COFHAE draws images with, and about the time of
its training."""

from __future__ import annotations

from typing import Any

from disentree.studies.images import N_SAMPLES, PIXELS, SCORES
from disentree.studies.models import title
from disentree.studies.options import Options
from disentree.studies.published import R4, R4C
from disentree.studies.results import Picture, Results, Section, mean, spread
from disentree.studies.task import Study, Task, make_task

BASELINES = ("vae", "tcvae", "factorvae", "jointvae", "cascadevae")
# The encoder is the mirror image of the decoder that COFHAE draws images with, and pixels are Bernoulli, as there.
# 64 rows are the minibatch of most work on disentanglement: an estimate of the total correlation needs that many.
NETWORKS: dict[str, Any] = {"encoder": "sharp", "decoder": "sharp", "likelihood": "bernoulli", "batch_size": 64}
# 72,000, 720,000 and 1,440,000 images: about 1, 10 and 20 minutes of a core for a VAE. COFHAE's decoder sees
# 480,000; its training takes about as long as the second, a whole run of it, the representation included, as the
# third.
EPOCHS = {"quick": 4, "default": 8, "medium": 8, "paper": 16}
SHOWN = {**{name: SCORES[name] for name in ("r4c", "r4", "mig", "sap", "factor_vae", "dci")}, **PIXELS}


def plan(options: Options) -> list[Task]:
    """All baselines of a seed, then those of the next."""
    return [
        make_task(
            {"dataset": dataset, "model": model},
            dataset=dataset,
            seed=seed,
            n_samples=N_SAMPLES[options.scale],
            extras=("metrics",),
            model=model,
            structure="true",
            epochs=EPOCHS[options.scale],
            model_settings=NETWORKS,
        )
        for dataset in options.datasets
        for seed in options.seeds
        for model in BASELINES
    ]


def report(results: Results) -> list[Section]:
    """Scores of all models."""
    rows = []
    for dataset in results.levels("dataset"):
        for model in results.levels("model"):
            found = results.where(dataset=dataset, model=model)
            if not found:
                continue
            scores = [spread(results.values(name, dataset=dataset, model=model)) for name in SHOWN]
            times = [results.seconds(row).get("cpu", {}) for row in found]
            cpu = [stages["model"] for stages in times if stages.get("model")]
            stated = R4C.get((dataset, model))
            rows.append(
                [
                    dataset,
                    title(model),
                    *scores,
                    f"{mean(cpu):.0f} s" if cpu else "",
                    "" if stated is None else f"{R4[dataset, model]:g}, {stated:g}",
                ]
            )
    header = ["data set", "model", *SHOWN.values(), "time of training", "paper's R4, R4c"]
    seen = round(0.9 * N_SAMPLES[results.options.scale] * EPOCHS[results.options.scale])
    text = [
        f"Of held-out images, mean ± standard deviation over seeds. Each baseline sees {seen:,} images, in "
        "minibatches of 64. Encoder and decoder are convolutional: the decoder is the one that COFHAE draws "
        "images with, the encoder its mirror image. Pixels are Bernoulli. Baselines are given the true number of "
        "continuous variables, JointVAE and CascadeVAE the true numbers of options; COFHAE (study `images`) is "
        "told nothing. The time is that of one core. DCI is the disentanglement score.",
    ]
    caption = "R4c, R4 and R² of the pixels; a point is the mean over seeds, dashes are single runs."
    picture = Picture("image_baselines", caption, lambda: _draw(results))
    return [Section("Scores", text, header, rows, numbers=range(2, 3 + len(SHOWN)), pictures=[picture])]


def _draw(results: Results):
    from disentree.studies.figures import draw_groups

    shown = {name: SHOWN[name] for name in ("r4c", "r4", "reconstruction_r2")}
    models = results.levels("model")
    panels = {
        dataset: {title(m): [results.values(name, dataset=dataset, model=m) for name in shown] for m in models}
        for dataset in results.levels("dataset")
    }
    return draw_groups(list(shown.values()), panels, limits=(-0.02, 1.02))


STUDY = Study(
    name="image-baselines",
    title="Baselines on images",
    reproduces="Figure 4, for Spaceshapes",
    datasets=dict.fromkeys(N_SAMPLES, ("spaceshapes",)),
    seeds={"quick": 1, "default": 3, "medium": 3, "paper": 5},
    scale_descriptions={
        scale: f"{n:,} images, {EPOCHS[scale]} epochs of each model" for scale, n in N_SAMPLES.items()
    },
    plan=plan,
    report=report,
)
