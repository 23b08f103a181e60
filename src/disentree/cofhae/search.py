"""Choosing COFHAE's hyperparameters without ground truth: the paper's grid and its rule."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import joblib
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from disentree.cofhae.checks import check_structure
from disentree.cofhae.estimator import COFHAE
from disentree.cofhae.fitting.structure import Structure, ask_mimosa
from disentree.cofhae.preprocessor import Preprocessor
from disentree.cofhae.saving import plain_parameters
from disentree.hierarchy import Hierarchy
from disentree.tables.frames import as_pandas
from disentree.training.checkpoints import fingerprint
from disentree.training.loop import Diverged
from disentree.training.session import pick_seed, torch_threads
from disentree.utils.files import atomic_path

PAPER_GRID: dict[str, Sequence[Any]] = {
    "tau": (1 / 2, 2 / 3, 1.0),
    "lambda1": (10.0, 100.0, 1000.0),
    "lambda2": (1.0, 10.0, 100.0),
}


class COFHAESearch(BaseEstimator):
    """Train COFHAE over a grid and over restarts, and choose among the models without ground truth.

    The paper's rule: the lowest reconstruction loss among the third of the models with the lowest assignment loss.
    Both are measured on the training data, with hard codes.

    Parameters
    ----------
    estimator : COFHAE or None, default=None
        What to train. None: `COFHAE.paper()`.
    grid : dict or None, default=None
        Values for some of its parameters. None: the paper's 3 x 3 x 3 of tau, lambda1 and lambda2.
    n_restarts : int, default=1
        Trainings for each combination, from different seeds.
    folder : path or None, default=None
        Where finished trials are kept. A search that is run again in the same folder trains only the rest.
    n_jobs : int or None, default=None
        Trials at a time, as in joblib. Each uses one thread if there are several.
    random_state : int, Generator, RandomState or None, default=0
        Seeds of the restarts follow from it; the result is the same for any `n_jobs`.
    verbose : bool, default=False
        Show finished trials on stderr.

    Attributes
    ----------
    best_estimator_ : COFHAE
        The model chosen.
    best_parameters_ : dict
        Its values from the grid.
    results_ : list of dict
        One per trial: parameters, restart, seed, reconstruction, assignment, seconds, diverged, eligible.
    mimosa_ : MIMOSA or None
        The estimator that found the structure, or None if it was given.

    Examples
    --------
    >>> from disentree.cofhae import COFHAE, COFHAESearch
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0)
    >>> base = COFHAE(epochs=2, hidden=(8,), device="cpu")
    >>> search = COFHAESearch(base, grid={"lambda1": [0.1, 1.0]})
    >>> search = search.fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    >>> len(search.results_), search.transform(ds.X).shape
    (2, (300, 3))
    """

    def __init__(
        self,
        estimator: COFHAE | None = None,
        *,
        grid: Mapping[str, Sequence[Any]] | None = None,
        n_restarts: int = 1,
        folder: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.grid = grid
        self.n_restarts = n_restarts
        self.folder = folder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        hierarchy: Hierarchy | Mapping[str, Any] | None = None,
        paths: ArrayLike | None = None,
    ) -> COFHAESearch:
        """Train all models.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            As in `COFHAE.fit`.
        y : ignored
            For scikit-learn.
        hierarchy : Hierarchy or dict, default=None
            The structure. If it is not given, it is found once and shared by all trials.
        paths : array-like of int of shape (n,), default=None
            The path of every row, -1 for none.

        Returns
        -------
        COFHAESearch
            The search itself.
        """
        base: COFHAE = COFHAE.paper() if self.estimator is None else cast(Any, clone(self.estimator))
        grid = PAPER_GRID if self.grid is None else self.grid
        if not isinstance(self.n_restarts, int) or self.n_restarts < 1:
            raise ValueError(f"n_restarts must be a whole number, 1 or more; got {self.n_restarts!r}")
        known = base.get_params(deep=False)
        for name in grid:
            if name not in known:
                raise ValueError(f"grid has {name!r}, which is not a parameter of {type(base).__name__}")
        X = as_pandas(X)
        source = base._read(X)
        seed = pick_seed(self.random_state)
        given = check_structure(hierarchy, paths, source.n_rows)
        whole = Preprocessor()  # each trial has its own
        structure = Structure(*given, whole, []) if given else ask_mimosa(base, X, source, whole, seed)
        self.mimosa_, structure = structure.mimosa, replace(structure, mimosa=None, representation=None)

        seeds = [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(seed).spawn(self.n_restarts)]
        combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        trials = [(c, r) for r in range(self.n_restarts) for c in combinations]
        data = [] if self.folder is None else [fingerprint(source.blocks()), fingerprint([structure.paths])]
        jobs = joblib.effective_n_jobs(self.n_jobs or 1)
        run = joblib.Parallel(n_jobs=self.n_jobs, verbose=10 if self.verbose else 0)
        models = (cast(Any, clone(base)).set_params(**c, random_state=seeds[r]) for c, r in trials)
        trial = joblib.delayed(_trial)
        done: Any = run(trial(model, X, structure, data, self.folder, one_thread=jobs > 1) for model in models)
        self.results_ = [
            {"parameters": parameters, "restart": restart, "seed": seeds[restart], **losses}
            for (parameters, restart), (losses, _) in zip(trials, done, strict=True)
        ]
        best = select(self.results_)
        if done[best][1] is None:
            raise RuntimeError(f"all {len(trials)} trainings diverged; a lower learning_rate or lambda2 may help")
        self.best_estimator_: COFHAE = done[best][1]
        self.best_estimator_.mimosa_ = self.mimosa_  # which says what paths new rows are on
        self.best_parameters_ = trials[best][0]
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n v"]:
        """Codes of X by the chosen model, see `COFHAE.transform`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X)

    def inverse_transform(self, Z: ArrayLike) -> Float[np.ndarray, "n ..."]:
        """Decode codes by the chosen model, see `COFHAE.inverse_transform`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.inverse_transform(Z)


def select(results: list[dict[str, Any]]) -> int:
    """The index of the model that the paper's rule chooses; marks the third that is `eligible`. Trials that
    diverged come last."""
    third = math.ceil(len(results) / 3)
    by_assignment = sorted(range(len(results)), key=lambda i: results[i]["assignment"])
    for rank, i in enumerate(by_assignment):
        results[i]["eligible"] = rank < third
    return min(by_assignment[:third], key=lambda i: results[i]["reconstruction"])


def _trial(
    model: COFHAE,
    X: Any,
    structure: Structure,
    data: list[str],
    folder: str | os.PathLike[str] | None,
    one_thread: bool,
) -> tuple[dict[str, float], COFHAE | None]:
    """Train, measure and save, or load what an earlier search has saved."""
    home = None
    if folder is not None:
        what = json.dumps([plain_parameters(model), structure.hierarchy.to_dict(), data], sort_keys=True)
        home = Path(folder) / f"trial-{hashlib.sha256(what.encode()).hexdigest()[:12]}"
        if (home / "losses.json").exists():
            losses = json.loads((home / "losses.json").read_text())
            if losses["diverged"]:
                return {**losses, "reconstruction": math.inf, "assignment": math.inf}, None
            return losses, COFHAE.load(home)
    try:
        with torch_threads(1 if one_thread else None):
            model.fit(X, hierarchy=structure.hierarchy, paths=structure.paths, matches=structure.matches)
            if model.interrupted_:
                raise KeyboardInterrupt
            seconds = sum(record["seconds"] for record in model.history_)
            losses = {**model.evaluate(X, paths=structure.paths), "seconds": seconds, "diverged": False}
    except Diverged:  # in the first epoch, so that there is no model
        losses = {"reconstruction": math.inf, "assignment": math.inf, "seconds": 0.0, "diverged": True}
    if home is not None:
        if not losses["diverged"]:
            model.save(home)
        finite = {name: value if math.isfinite(value) else None for name, value in losses.items()}
        with atomic_path(home / "losses.json") as temporary:
            temporary.write_text(json.dumps(finite, allow_nan=False))
    return losses, None if losses["diverged"] else model
