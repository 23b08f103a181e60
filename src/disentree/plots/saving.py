"""A figure as files: a PNG for pages, and a PDF for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from disentree.utils.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 110},
    "pdf": {"metadata": {"CreationDate": None}},  # the same figure has the same bytes
}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure beside `path`, which has no suffix, in all formats, and close it."""
    from matplotlib import pyplot as plt

    for suffix, settings in FORMATS.items():
        with atomic_path(path.with_name(f"{path.name}.{suffix}")) as temporary:
            figure.savefig(
                temporary, format=suffix, facecolor="white", bbox_inches="tight", pad_inches=0.08, **settings
            )
    plt.close(figure)
