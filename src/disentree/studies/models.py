"""Models that studies compare, by their names on the command line: the runs that train them, their tables and
figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from disentree.runs.models import find_model, names_of
from disentree.studies.figures import draw_groups
from disentree.studies.published import mimosa_settings, short
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, mean
from disentree.studies.running.task import Task, make_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINES, ABLATIONS = names_of("baseline"), names_of("ablation")
FACTORVAE_EPOCHS = 10  # at medium scale: its discriminator of six layers of 1000 takes two hours for 50
UNIT = (-0.02, 1.02)  # limits of an axis for scores


def title(model: str) -> str:
    """What tables and figures call a model of a study."""
    return "COFHAE, paper" if model == "cofhae-paper" else find_model(model).title


def structure_task(options: Options, dataset: str, seed: int) -> Task:
    """The tree that MIMOSA finds, for all models of a study that follow it."""
    same = {"dataset": dataset, "seed": seed, "n_samples": options.n_samples(dataset)}
    return make_task({"dataset": dataset, "model": "structure"}, until="structure", **same)


def model_task(
    options: Options,
    dataset: str,
    seed: int,
    model: str = "cofhae",
    *,
    shared: Task | None = None,
    columns: dict[str, Any] | None = None,
    data_options: dict[str, Any] | None = None,
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
        settings |= {"structure": "mimosa", "preset": options.preset, "structure_from": shared}
    elif model == "cofhae-paper":
        of_paper = {"structure": "mimosa-paper", "structure_settings": mimosa_settings(dataset)}
        settings |= {"model": "cofhae", **of_paper}
    return make_task(
        columns or {"dataset": dataset, "model": model},
        dataset=dataset,
        seed=seed,
        n_samples=options.n_samples(dataset),
        options=data_options or {},
        **{**settings, **more},
    )


def models_of(results: Results) -> list[str]:
    """The models of a study, in order."""
    return [model for model in results.levels("model") if model != "structure"]


def score_table(results: Results, name: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows and numeric columns: data sets down, models across."""
    models, datasets = models_of(results), results.levels("dataset")
    rows = [
        [here["dataset"], *(results.spread(name, model=m, **here) for m in models)]
        for here, _ in results.groups("dataset")
    ]
    if len(rows) > 1:
        means = [[results.mean(name, dataset=d, model=m) for d in datasets] for m in models]
        rows.append(["mean of all", *(f"{mean(m):.3f}" if all(v == v for v in m) else "" for m in means)])
    return ["data set", *map(title, models)], rows, list(range(1, len(models) + 1))


def draw_scores(results: Results, shown: Mapping[str, str]) -> Figure:
    """A panel for each data set: scores across, models by color."""
    models = models_of(results)
    panels = {
        short(d): {title(m): [results.values(name, dataset=d, model=m) for name in shown] for m in models}
        for d in results.levels("dataset")
    }
    return draw_groups(list(shown.values()), panels, limits=UNIT)


def draw_datasets(results: Results, models: Sequence[str]) -> Figure:
    """R4c of models, by color: data sets across."""
    datasets = results.levels("dataset")
    series = {title(m): [results.values("r4c", dataset=d, model=m) for d in datasets] for m in models}
    return draw_groups([short(d) for d in datasets], {"R4c": series}, limits=UNIT)
