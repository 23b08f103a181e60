"""A finished run, used from Python in the units of its data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.runs.models import find_model
from disentree.runs.run import Run
from disentree.runs.stages import check_stages


class OpenedRun:
    """A run's tree and model, for rows as they are in the file that the run was made from.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    model : estimator
        The trained model, which takes and gives rows in their own units.
    """

    def __init__(self, folder: str | os.PathLike[str], device: str = "auto"):
        run = Run.open(Path(folder))
        check_stages(run, "data", "structure", "model")
        self.folder = run.folder
        self.model: Any = find_model(run.config.model).load_class().load(run.folder, device=device)
        self.hierarchy: Hierarchy = self.model.hierarchy_

    def predict(self, X: Any) -> Int[np.ndarray, " n"]:
        """The path of every row.

        Parameters
        ----------
        X : DataFrame or array
            Rows as they are in the run's file: with its columns, in its units. Empty cells are fine where the
            run's file had them.

        Returns
        -------
        array of shape (n,)
            Indices into ``hierarchy.paths``.
        """
        return self.hierarchy.path_of(self.transform(X))

    def transform(self, X: Any) -> Float[np.ndarray, "n v"]:
        """Codes of rows.

        Parameters
        ----------
        X : as for `predict`

        Returns
        -------
        array of shape (n, n_variables)
            NaN where a variable is not active.
        """
        return self.model.transform(X)

    def inverse_transform(self, Z: ArrayLike) -> Any:
        """Rows from codes.

        Parameters
        ----------
        Z : array-like of shape (n, n_variables)

        Returns
        -------
        DataFrame or array
            In the units of the run's file; empty cells where a column is not active.
        """
        return self.model.inverse_transform(Z)

    def __repr__(self) -> str:
        n = len(self.hierarchy.paths)
        return f"<OpenedRun {self.folder}: {type(self.model).__name__}, {n} path{'s' * (n != 1)}>"


def open_run(folder: str | os.PathLike[str], device: str = "auto") -> OpenedRun:
    """Open the folder of a run whose model is trained.

    Parameters
    ----------
    folder : str or path
        That was given to ``disentree run --out``.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
        Where the model computes.

    Returns
    -------
    OpenedRun
        With ``predict``, ``transform`` and ``inverse_transform`` for rows in the units of the run's data.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig, finish_run, start_run
    >>> folder = tempfile.mkdtemp()
    >>> finish_run(start_run(RunConfig.of("iris"), folder), until="model")
    >>> from disentree.datasets import load_dataset
    >>> iris = load_dataset("iris").X
    >>> run = open_run(folder)
    >>> list(run.inverse_transform(run.transform(iris))) == list(iris)
    True
    """
    return OpenedRun(folder, device)
