"""Arguments and options that several subcommands share: one name for one thing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from disentree.errors import UserError

Source = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE",
        help="A benchmark by its name, or your own .csv, .tsv, .parquet, .npz, .npy or folder of images.",
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `disentree run` made.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
NSamples = Annotated[
    int | None, typer.Option(help="Samples of a benchmark (100000; preset quick: 20000), or rows of a file (all).")
]
Engine = Annotated[str, typer.Option(help="local processes, or dask.")]
Address = Annotated[str | None, typer.Option(help="A Dask scheduler, as tcp://host:8786.")]
MimosaSettings = Annotated[
    list[str] | None,
    typer.Option("--mimosa", metavar="NAME=VALUE", help="A setting of MIMOSA; may be repeated."),
]

# ------------------------------------------------------------------ options of the data


def _option(type_: Any, *names: str, panel: str, **settings: Any) -> Any:
    return Annotated[type_ | None, typer.Option(*names, rich_help_panel=panel, **settings)]


_of_files = partial(_option, panel="Files")
_of_benchmarks = partial(_option, panel="Benchmarks")

FILE_OPTIONS = {  # of `load_file`
    "categorical": _of_files(str, help="Tables: drop text columns, or onehot."),
    "drop": _of_files(str, help="Tables: columns to leave out, with commas."),
    "max_missing": _of_files(float, help="Leave out columns that miss more than this share (.2)."),
    "standardize": _of_files(
        bool, "--standardize/--no-standardize", help="Scale columns to mean 0 and standard deviation 1 (yes)."
    ),
    "image_size": _of_files(int, help="Folders of images: the side in pixels."),
}
BENCHMARK_OPTIONS = {  # of `load_dataset`
    "noise": _of_benchmarks(float, help="Standard deviation of Gaussian noise."),
    "length": _of_benchmarks(int, help="Chopsticks: values per series."),
    "min_offset": _of_benchmarks(float, help="Chopsticks: keep factors this fraction of their bound away from 0."),
    "mode": _of_benchmarks(str, help="Chopsticks: offset, overwrite, overwrite-slope or overwrite-inter."),
    "distribution": _of_benchmarks(str, help="Chopsticks: uniform or gaussian."),
    "stop": _of_benchmarks(str, help="Chopsticks: paper or equal shares of the levels."),
    "binarize": _of_benchmarks(bool, "--binarize/--gray", help="Spaceshapes: black and white only."),
}


def with_data_options(*groups: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `groups`.

    The command has a parameter `data_options`, which gets those that the user gave, by name, as `load_file` and
    `load_dataset` take them.
    """
    names = {name: annotation for group in groups for name, annotation in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(command, eval_str=True).parameters.values() if p.name != "data_options"]
        more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=a) for name, a in names.items()]

        @wraps(command)
        def with_options(**given: Any) -> None:
            data_options = {name: given.pop(name) for name in names}
            if data_options.get("drop"):
                data_options["drop"] = [name.strip() for name in data_options["drop"].split(",")]
            command(**given, data_options={n: v for n, v in data_options.items() if v not in (None, "")})

        parameters = [*(p.replace(kind=Parameter.KEYWORD_ONLY) for p in own), *more]
        vars(with_options)["__signature__"] = Signature(parameters)
        with_options.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return with_options

    return decorate


# ------------------------------------------------------------------ settings


def settings_from(words: list[str] | None, flag: str) -> dict[str, Any]:
    """NAME=VALUE words as settings; a value is read as JSON, or else as text."""
    settings: dict[str, Any] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(f"{flag} takes NAME=VALUE, got {word!r}")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings
