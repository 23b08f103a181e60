"""Pages of HTML from Jinja2 templates: everything that comes from outside is escaped, nothing is loaded.

`templates/` holds what all pages share (`base.html`, `style.css`, `macros.html`) and the report of a run. Another
package keeps its own templates in a folder and names it in `render_page`.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

SHARED_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Picture:
    """A PNG file as part of a page."""

    path: Path
    alternative: str  # text for readers who cannot see it

    @property
    def base64(self) -> str:
        """The bytes of the file, as a data URL has them."""
        return base64.b64encode(self.path.read_bytes()).decode("ascii")


def render_page(template: str, context: dict[str, Any], *, folder: Path | None = None) -> str:
    """Fill in a template; every value is escaped unless a template marks it as safe, a missing one is an error.

    Templates are those of `folder`, which may extend ``base.html`` and import from ``macros.html``, and the shared
    ones of this package.
    """
    return _environment(folder).get_template(template).render(context)


@cache
def _environment(folder: Path | None) -> jinja2.Environment:
    folders = [SHARED_TEMPLATES] if folder is None else [folder, SHARED_TEMPLATES]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["breakable"] = breakable
    return environment


def breakable(text: str) -> Markup:
    """A name, escaped, whose parts may stand on two lines: bill_length_mm, od280/od315.

    >>> str(breakable("a_b<i>"))
    'a_<wbr>b&lt;i&gt;'
    """
    parts = re.split(r"(?<=[_/.=:])(?=\w)", text)
    return Markup("<wbr>").join(parts)
