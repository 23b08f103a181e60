"""Arguments and options that several subcommands share: one name for one thing."""

from __future__ import annotations

import json
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

# ------------------------------------------------------------------ files

_FILES = "Files"
Categorical = Annotated[
    str | None, typer.Option(help="Tables: drop text columns, or onehot.", rich_help_panel=_FILES)
]
Drop = Annotated[
    str | None, typer.Option(help="Tables: columns to leave out, with commas.", rich_help_panel=_FILES)
]
MaxMissing = Annotated[
    float | None,
    typer.Option(help="Leave out columns that miss more than this share (.2).", rich_help_panel=_FILES),
]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Scale columns to mean 0 and standard deviation 1 (yes).",
        rich_help_panel=_FILES,
    ),
]
ImageSize = Annotated[
    int | None, typer.Option(help="Folders of images: the side in pixels.", rich_help_panel=_FILES)
]

# ------------------------------------------------------------------ benchmarks

_BENCHMARKS = "Benchmarks"
Noise = Annotated[
    float | None, typer.Option(help="Standard deviation of Gaussian noise.", rich_help_panel=_BENCHMARKS)
]
Length = Annotated[int | None, typer.Option(help="Chopsticks: values per series.", rich_help_panel=_BENCHMARKS)]
MinOffset = Annotated[
    float | None,
    typer.Option(
        help="Chopsticks: keep factors this fraction of their bound away from 0.", rich_help_panel=_BENCHMARKS
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(
        help="Chopsticks: offset, overwrite, overwrite-slope or overwrite-inter.", rich_help_panel=_BENCHMARKS
    ),
]
Distribution = Annotated[
    str | None, typer.Option(help="Chopsticks: uniform or gaussian.", rich_help_panel=_BENCHMARKS)
]
Stop = Annotated[
    str | None,
    typer.Option(help="Chopsticks: paper or equal shares of the levels.", rich_help_panel=_BENCHMARKS),
]
Binarize = Annotated[
    bool | None,
    typer.Option("--binarize/--gray", help="Spaceshapes: black and white only.", rich_help_panel=_BENCHMARKS),
]


def given_options(*, drop: str | None = None, **options: Any) -> dict[str, Any]:
    """The options that were given, as `load_dataset` and `load_file` take them."""
    options["drop"] = [name.strip() for name in drop.split(",")] if drop else None
    return {name: value for name, value in options.items() if value is not None}


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
