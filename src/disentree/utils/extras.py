"""Libraries that are not installed with the package itself, and the extras that install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from disentree.errors import MissingExtra

# By the name that is imported: the name of the library, and the extra.
EXTRAS = {
    "torch": ("torch", "torch"),
    "tensorboard": ("tensorboard", "tensorboard"),
    "uvicorn": ("uvicorn", "explorer"),
    "dask": ("Dask", "dask"),
    "distributed": ("Dask", "dask"),
    "pyarrow": ("pyarrow", "files"),
    "openpyxl": ("openpyxl", "files"),
    "duckdb": ("DuckDB", "files"),
    "anndata": ("anndata", "anndata"),
    "onnx": ("onnx", "onnx"),
}


@contextmanager
def needing(what: str, instead: str = "") -> Iterator[None]:
    """Turn the failed import of an optional library within the block into a sentence that names the extra.

    `what` needs the library: the subject of the sentence, in the singular. `instead` can be done without it.

    >>> with needing("COFHAE"):
    ...     raise ModuleNotFoundError("No module named 'torch'", name="torch")
    Traceback (most recent call last):
        ...
    disentree.errors.MissingExtra: COFHAE needs torch: pip install 'disentree[torch]'
    """
    try:
        yield
    except MissingExtra as error:  # it names what needs the library more closely
        if not instead:
            raise
        raise MissingExtra(f"{error}; {instead}") from None
    except ModuleNotFoundError as error:
        root = (error.name or "").partition(".")[0]
        if root not in EXTRAS:
            raise
        library, extra = EXTRAS[root]
        sentence = f"{what} needs {library}: pip install 'disentree[{extra}]'"
        raise MissingExtra(f"{sentence}; {instead}" if instead else sentence) from None
