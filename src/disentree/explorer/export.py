"""The page as one file: scripts, style, rows and networks inside it, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError

from disentree.explorer.content import Explored
from disentree.explorer.interpreter import checked_program
from disentree.explorer.loading import from_model
from disentree.utils.files import atomic_path

MODULES = (
    "main.js", "panel.js", "controls.js", "map.js", "scatter.js", "groups.js", "stage.js", "barlist.js",
    "strips.js", "movers.js", "mydata.js", "table.js", "draw.js", "state.js", "tree.js", "model.js", "runtime.js",
)  # fmt: skip
_ROWS_TO_CHECK = 64

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


@cache
def asset(name: str) -> str:
    """A file of the page, from the package."""
    return (resources.files("disentree.explorer") / "page" / name).read_text(encoding="utf-8")


def render(explored: Explored) -> str:
    """The whole page as one file.

    The networks are checked against the models before they are written.

    Parameters
    ----------
    explored : Explored
        What to show.

    Returns
    -------
    str
        HTML that loads nothing.
    """
    content = explored.to_json()
    weights = []
    codes = explored.codes()
    for model, about, own in zip(explored.models, content["models"], codes, strict=True):
        some = own[:: max(1, len(own) // _ROWS_TO_CHECK)] if len(own) else model.hierarchy_.sample(_ROWS_TO_CHECK)
        program, tensors = checked_program(model, some)
        about["program"] = program
        weights.append(tensors.buffer())
    page = asset("index.html")
    page = page.replace("<!--head-->", f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">')
    page = page.replace("<title></title>", f"<title>{escape(explored.title)}</title>")
    page = page.replace('<link rel="stylesheet" href="assets/style.css">', f"<style>{asset('style.css')}</style>")
    return page.replace('<script type="module" src="assets/main.js"></script>', _scripts(content, weights))


def _scripts(content: dict[str, Any], weights: list[bytes]) -> str:
    """Modules cannot be loaded from file://, but an import map may name data URLs."""
    urls = {name: _data_url(asset(name)) for name in MODULES}
    imports = json.dumps({"imports": {f"explorer/{name}": url for name, url in urls.items()}})
    parts = [f'<script type="importmap">{imports}</script>', _inert("content", "application/json", content)]
    for i, buffer in enumerate(weights):
        text = base64.b64encode(buffer).decode("ascii")
        parts.append(f'<script type="application/octet-stream" id="weights-{i}">{text}</script>')
    return "\n".join([*parts, '<script type="module">import "explorer/main.js";</script>'])


def _data_url(script: str) -> str:
    """A module, which imports others by their names in the import map."""
    script = re.sub(r'(from|import) "\./', r'\1 "explorer/', script)
    return "data:text/javascript;base64," + base64.b64encode(script.encode()).decode("ascii")


def _inert(name: str, kind: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f'<script type="{kind}" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'


class Page:
    """A page that a notebook shows inline.

    Parameters
    ----------
    explored : Explored
        What to show.
    height : int, default=860
        Height of the inline frame, in pixels.

    Attributes
    ----------
    html : str
        The whole page.
    """

    def __init__(self, explored: Explored, height: int = 860):
        self.html = render(explored)
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file that works without a server.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Path
            The file.
        """
        with atomic_path(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" title="disentree explorer" '
            f'sandbox="allow-scripts allow-popups" style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<explorer page of {len(self.html) / 1e6:.1f} MB; .save(path) writes it>"


def explore(model: Any, X: Any = None, *, title: str = "", feature_names: Sequence[str] = ()) -> Page:
    """A page with a slider or radio buttons for every variable of a trained model.

    Parameters
    ----------
    model : COFHAE or baseline
        A fitted model.
    X : array or DataFrame, default=None
        Rows of the same kind as in `fit`: they give the histograms behind the sliders and examples to look at.
        Without them the page has the ranges that were kept from training, and no rows.
    title : str, default=""
        The heading of the page; the name of the model's class if empty.
    feature_names : sequence of str, default=()
        The names of the columns of X; those of a DataFrame are known.

    Returns
    -------
    Page
        A notebook shows it inline; `Page.save` writes a file that works without a server.

    Examples
    --------
    >>> from disentree import COFHAE, explore
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0)
    >>> model = COFHAE.quick(epochs=1).fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    >>> page = explore(model, ds.X, title="Sticks")
    >>> page.html.startswith("<!doctype html>")
    True
    """
    if not hasattr(model, "hierarchy_"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first")
    return Page(from_model(model, X, title=title, feature_names=feature_names))
