"""Arguments and options that several subcommands share: one name for one thing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
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
        help="A benchmark by its name, or your own .csv, .tsv, .csv.gz, .parquet, .xlsx, .json, .jsonl, database "
        "(.sqlite, .db, .duckdb), .npz, .npy or folder of images.",
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `disentree run` made.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
NSamples = Annotated[
    int | None, typer.Option(help="Samples of a benchmark (100000; preset quick: 20000), or rows of a file (all).")
]
FileEngine = Annotated[
    str, typer.Option("--engine", help="Passes over files: local, in threads of this process, or dask, a cluster.")
]
Engine = Annotated[str, typer.Option(help="local processes, or dask.")]
Address = Annotated[str | None, typer.Option(help="A Dask scheduler, as tcp://host:8786.")]
NJobs = Annotated[int | None, typer.Option(help="Cores to use; all if not given. Results do not depend on it.")]
Leaves = Annotated[
    int | None, typer.Option(min=1, help="At most so many leaves: those that differ least are merged.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the model, or of MIMOSA as mimosa.NAME=VALUE, by its name in Python; may be repeated.",
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Print all of the tree, not what fits on a screen.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files that exist.")]
StartOver = Annotated[bool, typer.Option("--force", "-f", help="Start over where the folder holds another run.")]

_given: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())


def remember_given(names: Iterable[str]) -> None:
    """Which parameters of the command the user has given."""
    _given.set(frozenset(names))


def refuse(reason: str, *names: str) -> None:
    """Refuse options that were given although they would do nothing: "--port REASON"."""
    for name in names:
        if name in _given.get():
            raise UserError(f"--{name.strip('_').replace('_', '-')} {reason}")


def given_options() -> list[str]:
    """Names of the parameters that the user has given."""
    return sorted(_given.get())


# ------------------------------------------------------------------ options of the data


def _option(type_: Any, *names: str, panel: str, **settings: Any) -> Any:
    return Annotated[type_ | None, typer.Option(*names, rich_help_panel=panel, **settings)]


_of_files = partial(_option, panel="Files")
_of_benchmarks = partial(_option, panel="Benchmarks")

FILE_OPTIONS = {  # of `load_file`
    "types": _of_files(
        list[str],
        metavar="COLUMN=KIND",
        help="Tables: what a column is, if it is not to be inferred: number, integer, date, category, ordinal or "
        "boolean; may be repeated.",
    ),
    "drop": _of_files(list[str], metavar="COLUMN", help="Tables: a column to leave out; may be repeated."),
    "log": _of_files(
        list[str], metavar="COLUMN", help="Tables: a column whose logarithm is taken; may be repeated."
    ),
    "max_missing": _of_files(float, help="Leave out columns that miss more than this share (tables: none)."),
    "standardize": _of_files(
        bool, "--standardize/--no-standardize", help="Scale columns to mean 0 and standard deviation 1 (yes)."
    ),
    "skip_rows": _of_files(int, help="Tables: rows above the header of a .csv, .tsv or .xlsx (none)."),
    "table": _of_files(
        str,
        metavar="NAME|QUERY",
        help="The sheet of an .xlsx, or the table of a database or a SELECT (the only one).",
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
    "style": _of_benchmarks(str, help="Spaceshapes: smooth, or paper for its steps and hard edges."),
    "second": _of_benchmarks(str, help="Spaceshapes: a second categorical, color or size."),
    "shares": _of_benchmarks(str, help="Products: unequal or equal shares of the switches."),
    "missing": _of_benchmarks(bool, "--missing/--no-missing", help="Products: leave out one combination."),
    "offset": _of_benchmarks(float, help="Products: what a switch that is on adds to its variables."),
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
            if data_options.get("types"):
                data_options["types"] = types_from(data_options["types"])
            command(**given, data_options={n: v for n, v in data_options.items() if v not in (None, "", [])})

        parameters = [*(p.replace(kind=Parameter.KEYWORD_ONLY) for p in own), *more]
        vars(with_options)["__signature__"] = Signature(parameters)
        with_options.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return with_options

    return decorate


# ------------------------------------------------------------------ settings


def types_from(words: Sequence[str]) -> dict[str, str]:
    """COLUMN=KIND words, each of which may hold several with commas between, as kinds by column."""
    from disentree.tables.column import KINDS

    types: dict[str, str] = {}
    for word in words:
        found = re.findall(rf"(.+?)=({'|'.join(KINDS)})(?:,|$)", word)
        if "".join(f"{name}={kind}," for name, kind in found).rstrip(",") != word.rstrip(","):
            raise UserError(f"--types takes COLUMN=KIND, where KIND is {', '.join(KINDS)}; got {word!r}")
        types |= {name.strip(): kind for name, kind in found}
    return types


def settings_from(words: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """NAME=VALUE words as settings of the model and of MIMOSA; a value is read as JSON, or else as text."""
    model: dict[str, Any] = {}
    mimosa: dict[str, Any] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        settings, own = (mimosa, name[7:]) if name.startswith("mimosa.") else (model, name)
        if not equals or not own.isidentifier():
            raise UserError(f"--set takes NAME=VALUE, got {word!r}")
        try:
            settings[own] = json.loads(value)
        except json.JSONDecodeError:
            settings[own] = value
    return model, mimosa
