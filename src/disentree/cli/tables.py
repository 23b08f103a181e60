"""Tables for terminals, and plain columns for pipes."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from disentree.cli.terminal import plain


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()) -> None:
    """Print to stdout; the columns named in `numbers` are aligned to the right."""
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for title in header:
            table.add_column(title, justify="right" if title in numbers else "left")
        for row in rows:
            # Names may hold brackets, which are no markup.
            table.add_row(*(Text(plain(cell, sys.stdout.encoding)) for cell in row))
        Console(file=getattr(sys.stdout, "terminal", sys.stdout)).print(table)
        return
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = zip(header, row, widths, strict=True)
        print("  ".join(c.rjust(w) if t in numbers else c.ljust(w) for t, c, w in cells).rstrip())
