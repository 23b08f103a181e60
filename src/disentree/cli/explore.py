"""`disentree explore`: a page with sliders and radio buttons for what a run has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disentree.cli.options import Device, RunFolder, refuse
from disentree.errors import UserError


def explore(
    run: RunFolder,
    export: Annotated[
        Path | None, typer.Option(help="Write the page to this .html, which needs no server and no network.")
    ] = None,
    compare: Annotated[Path | None, typer.Option(help="A second run of the same data, side by side.")] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; beyond this machine, a token is needed.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(help="A free one is taken if this one is not.", min=0, max=65535)] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    device: Device = "auto",
) -> None:
    """Move through what a run has learned: sliders for variables, radio buttons for branches."""
    from disentree.explorer.export import Page
    from disentree.explorer.loading import from_run
    from disentree.runs.run import Run

    if export is not None and export.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"--export writes a page: its name must end in .html, got {export}")
    if export is not None:
        refuse("is for a server, and --export starts none", "host", "port", "browser")
    opened = Run.open(run)
    explored = from_run(opened, None if compare is None else Run.open(compare), device)
    if export is not None:
        page = Page(explored)
        page.save(export)
        print(f"page: {export} ({len(page.html) / 1e6:.1f} MB)")
        return

    import matplotlib

    from disentree.explorer.server import serve
    from disentree.explorer.steering import Steerer

    matplotlib.use("Agg")  # reports are drawn again
    steerer = Steerer(opened, device) if explored.steering is not None else None
    serve(explored, host, port, browser=browser, steerer=steerer)
