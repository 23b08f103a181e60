"""The command line in this process, with types checked at run time."""

from typer.testing import CliRunner

from disentree.cli import app as cli


def invoke(*args):
    try:
        return CliRunner(env={"NO_COLOR": "1"}).invoke(cli.app, [str(arg) for arg in args])
    finally:
        cli.log.handlers.clear()  # they write to a stream of the runner's, which is closed now


def is_one_sentence(result):
    """The last line says what is wrong, and there is no traceback before it."""
    last = result.stderr.splitlines()[-1]
    return last.startswith("disentree: ") and "Traceback" not in result.stderr
