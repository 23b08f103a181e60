"""Models that studies compare, by their names on the command line, and the runs that train them."""

from __future__ import annotations

from typing import Any

from disentree.runs.models import MODELS, names_of
from disentree.studies.options import Options
from disentree.studies.published import mimosa_settings, n_samples
from disentree.studies.task import Task, make_task

BASELINES, ABLATIONS = names_of("baseline"), names_of("ablation")


FACTORVAE_EPOCHS = 10  # at medium scale: its discriminator of six layers of 1000 takes two hours for 50


def title(model: str) -> str:
    """What tables and figures call a model of a study."""
    return "COFHAE, paper" if model == "cofhae-paper" else MODELS[model].title


def structure_task(options: Options, dataset: str, seed: int) -> Task:
    """The tree that MIMOSA finds, for all models of a study that follow it."""
    columns = {"dataset": dataset, "model": "structure"}
    return make_task(
        columns, dataset=dataset, seed=seed, n_samples=n_samples(dataset, options.scale), until="structure"
    )


def model_task(
    options: Options,
    dataset: str,
    seed: int,
    model: str,
    *,
    shared: Task | None = None,
    columns: dict[str, Any] | None = None,
    **more: Any,
) -> Task:
    """A model of a benchmark at the study's scale.

    COFHAE follows the tree that MIMOSA finds; baselines and ablations are given the true one, of which
    baselines use no more than the numbers of variables and options, as in the paper. `cofhae-paper` is the
    paper's MIMOSA and COFHAE with its settings.
    """
    preset = "paper" if options.scale == "medium" else options.scale
    settings: dict[str, Any] = {"preset": preset, "model": model, "structure": "true"}
    if options.scale == "medium" and model == "factorvae":
        settings["epochs"] = FACTORVAE_EPOCHS
    if model == "cofhae":
        settings |= {"structure": "mimosa", "preset": "quick" if options.scale == "quick" else "default"}
    elif model == "cofhae-paper":
        settings |= {
            "model": "cofhae",
            "structure": "mimosa-paper",
            "structure_settings": mimosa_settings(dataset),
        }
    return make_task(
        columns or {"dataset": dataset, "model": model},
        dataset=dataset,
        seed=seed,
        n_samples=n_samples(dataset, options.scale),
        **{"structure_from": shared if model == "cofhae" else None, **settings, **more},
    )
