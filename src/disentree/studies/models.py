"""Models that studies compare, by their names on the command line, and the runs that train them."""

from __future__ import annotations

from typing import Any

from disentree.studies.options import Options
from disentree.studies.published import mimosa_settings, n_samples
from disentree.studies.task import Task, make_task

BASELINES = ("ae", "vae", "tcvae", "factorvae", "jointvae", "cascadevae")
ABLATIONS = ("flat", "hier", "hier-a", "hier-a-tc", "hier-a-tcon", "hier-tcon", "hier-a-z")
TITLES = {
    "ae": "AE",
    "vae": "VAE",
    "tcvae": "β-TCVAE",
    "factorvae": "FactorVAE",
    "jointvae": "JointVAE",
    "cascadevae": "CascadeVAE",
    "cofhae": "COFHAE",
    "cofhae-paper": "COFHAE, paper",
    "flat": "Flat",
    "hier": "H",
    "hier-a": "H+A",
    "hier-a-tc": "H+A+TC(Z)",
    "hier-a-tcon": "H+A+TC(Z|on)",
    "hier-tcon": "H+TC(Z|on)",
    "hier-a-z": "H+A+Z",
}


def title(model: str) -> str:
    return TITLES.get(model, model)


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
    settings: dict[str, Any] = {"preset": options.scale, "model": model, "structure": "true"}
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
        structure_from=shared if model == "cofhae" else None,
        **{**settings, **more},
    )
