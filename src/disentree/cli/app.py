"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 success; 2 an error caused by the user's input, in one sentence; 1 a bug; 130 stopped with Ctrl-C.

A command is a function with typer annotations in a file of `disentree.cli` and of the same name. To add
one, write it and name it in `COMMANDS`. Its module must be quick to import, or ``disentree --help`` is slow:
numpy and whatever is heavier than that is imported inside the function.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from disentree._version import __version__
from disentree.cli.options import remember_given
from disentree.cli.terminal import PlainFormatter, PlainStream, plain
from disentree.errors import UserError
from disentree.utils.extras import needing
from disentree.utils.interrupts import plain_interrupts
from disentree.utils.memory import keep_freed_memory

COMMANDS = ("check", "run", "mimosa", "apply", "drift", "explore", "steer", "report", "score", "datasets", "study")

RESUMED = ("run", "study")  # what these have done so far is not lost when they are stopped

log = logging.getLogger("disentree")


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every error turned into a sentence and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            stdout: Any = PlainStream(sys.stdout)
            with needing(f"`disentree {command.__name__}`"), plain_interrupts(), redirect_stdout(stdout):
                command(*args, **kwargs)
                stdout.flush()  # else Python finds out when it is too late for a sentence
        except (typer.Exit, BrokenPipeError):
            raise  # typer leaves quietly when the reader of our output has gone
        except KeyboardInterrupt:
            resumed = command.__name__ in RESUMED
            _leave(130, "stopped; the same command goes on from there" if resumed else "stopped")
        except OSError as error:
            what = error.strerror or str(error)
            _leave(2, f"{what}: {error.filename}" if error.filename else what)
        except MemoryError as error:
            _leave(2, f"not enough memory: {error}")
        except Exception as error:
            if isinstance(error, UserError) or (isinstance(error, ValueError) and _is_our_check(error)):
                _leave(2, str(error))
            hint = "" if _verbose() else "; disentree --verbose COMMAND shows where"
            _leave(1, f"unexpected {type(error).__name__}: {error}{hint}")

    return run


def _is_our_check(error: ValueError) -> bool:
    """Whether this package raised the error itself; those of the libraries below are not worded for users."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("disentree.")


def _verbose() -> bool:
    return log.isEnabledFor(logging.DEBUG)


def _leave(code: int, sentence: str) -> NoReturn:
    if _verbose():
        log.debug("where it happened", exc_info=True)
    print(plain(f"disentree: {sentence}", sys.stderr.encoding), file=sys.stderr)
    raise typer.Exit(code)


def _set_up_logging(level: int) -> None:
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.logging import RichHandler

        handler: logging.Handler = RichHandler(console=Console(stderr=True), show_path=False)
        formatter = PlainFormatter("%(message)s", "[%X]")
    else:
        handler = logging.StreamHandler(sys.stderr)
        formatter = PlainFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    formatter.encoding = sys.stderr.encoding
    handler.setFormatter(formatter)
    log.handlers[:] = [handler]
    log.setLevel(level)
    log.propagate = False


def _print_version(asked: bool) -> bool:
    if asked:
        print(f"disentree {__version__}")
        raise typer.Exit
    return asked


def _without_types(params: list[Any]) -> list[Any]:
    """Flags take no value, so help shows no type for them."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
        remember_given(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
        return super().invoke(ctx)


app = typer.Typer(
    name="disentree",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def disentree(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only results and errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="More messages, tracebacks included.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Find the tree of manifolds in a data set and learn a representation that follows it."""
    _set_up_logging(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)


for _name in COMMANDS:
    _module = importlib.import_module(f"disentree.cli.{_name}")
    app.command(_name, cls=_Command)(_guarded(getattr(_module, _name)))


def main() -> None:
    """Run the command line. A request to end is an exception, so that no temporary file is left behind."""
    with suppress(ValueError, AttributeError):  # not in the main thread, or not on this system
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    keep_freed_memory()
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except OSError:  # that was told, and would be once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
