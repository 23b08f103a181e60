"""The command line: one subcommand per module, the frame and the exit codes in `app`."""

from disentree.cli.app import main

__all__ = ["main"]
