"""Fitting MIMOSA again to parts of the rows, in processes, with a checkpoint after each."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from jaxtyping import Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.factors import factor_columns
from disentree.mimosa.fit import fit
from disentree.mimosa.inputs import is_frame
from disentree.mimosa.search.structure import Settings
from disentree.mimosa.stability.comparing import Found, compare
from disentree.mimosa.stability.constants import STABILITY
from disentree.mimosa.stability.stability import Stability
from disentree.mimosa.tree.levels import Levels
from disentree.mimosa.tree.steering import Steering
from disentree.tables import Codec
from disentree.utils import progress
from disentree.utils.files import atomic_path
from disentree.utils.interrupts import plain_interrupts
from disentree.utils.pools import open_pool

PathLike = str | os.PathLike[str]


def resample(
    X: Any,
    found: Found,
    settings: Settings,
    codec: Codec | None = None,
    *,
    n_resamples: int,
    fraction: float | None,
    checkpoint: PathLike | None,
    seconds: float,
    n_leaves: int | None = None,
) -> Stability:
    """Fit random parts of the rows again, and compare what is found there, cut to so many leaves if a number is
    given, with what was found in all of them. A fit takes about so many seconds: short ones are done in this
    process. With a checkpoint, a file of finished resamples, a call that was stopped goes on.

    A part of the rows cannot show what is significant in all of them, so the deviations of chance that a valley or
    a saving must exceed are lowered by the root of that part."""
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be 1 or more, got {n_resamples}")
    n = len(found.labels)
    if fraction is None:
        fraction = 1 - 1 / FIT.folds if n < FIT.few else FIT.half
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be between 0 and 1, got {fraction}")
    done = _read_checkpoint(checkpoint, len(found.hierarchy.paths), len(factor_columns(found.hierarchy)))
    done = {i: record for i, record in done.items() if i < n_resamples}  # there may be more than are asked for
    todo = [i for i in range(n_resamples) if i not in done]
    rows = {i: _rows(n, fraction, i) for i in todo}
    of_part = replace(settings, n_jobs=1, verbose=False, part=fraction)
    refit = Refit(of_part, codec, n_leaves)
    jobs = joblib.effective_n_jobs(settings.n_jobs)
    jobs = 0 if seconds * len(todo) < STABILITY.in_process or jobs == 1 else min(jobs, len(todo))
    with progress.bar("resample", n_resamples, settings.verbose, done=len(done)) as tell:
        calls = ((i, refit, _take(X, rows[i]), found[rows[i]]) for i in todo)
        try:
            with plain_interrupts():
                for i, record in _run(calls, jobs):
                    done[i] = record
                    _write_checkpoint(checkpoint, i, record)
                    tell(len(done))
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(
                f"interrupted: {len(done)} of {n_resamples} resamples were finished", RuntimeWarning, stacklevel=3
            )
    return Stability.from_records(found, [done[i] for i in sorted(done)], fraction)


@dataclass(frozen=True)
class Refit:
    """Fits some of the rows, and compares."""

    settings: Settings
    codec: Codec | None
    n_leaves: int | None = None

    def __call__(self, i: int, X: Any, found: Found) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say was said about all rows, or is about a part of them
            again = fit(X, self.settings, random_state=i, codec=self.codec)
        if again.interrupted:
            raise KeyboardInterrupt
        parents = [c.parent for c in again.components]
        if self.n_leaves is None or len(parents) <= self.n_leaves:
            return compare(found, Found(again.hierarchy, again.labels, parents))
        tree, enclosed = again.plain_hierarchy, [list(c.parents) for c in again.components]
        Z = again.embedding if again.features is None else again.features
        steering = Steering(tree, tree, enclosed, again.labels, again.core_labels)
        steering = steering.cut(Levels(tree, Z, again.labels), self.n_leaves)
        parents = [own[0] if own else None for own in steering.tree_enclosed()]
        return compare(found, Found(steering.tree, steering.paths(again.labels), parents))


def _rows(n: int, fraction: float, i: int) -> Int[np.ndarray, " m"]:
    size = max(2, min(round(fraction * n), FIT.landmarks))  # trees are found on no more
    return np.sort(np.random.default_rng([n, i]).choice(n, min(size, n), replace=False))


def _take(X: Any, rows: Int[np.ndarray, " m"]) -> Any:
    return X.iloc[rows] if is_frame(X) else X[rows]


def _run(calls: Iterator[tuple[int, Callable[..., dict[str, Any]], Any, Found]], jobs: int) -> Iterator[Any]:
    """Results as they come, of at most so many calls at a time."""
    with open_pool("local", jobs) as pool:
        pending: dict[Any, int] = {}
        for i, refit, X, found in calls:
            pending[pool.submit(refit, i, X, found)] = i
            if len(pending) >= pool.room():
                yield from _finished(pending)
        while pending:
            yield from _finished(pending)


def _finished(pending: dict[Any, int]) -> Iterator[tuple[int, dict[str, Any]]]:
    for future in wait(pending, return_when=FIRST_COMPLETED).done:
        yield pending.pop(future), future.result()


def _read_checkpoint(checkpoint: PathLike | None, n_paths: int, n_factors: int) -> dict[int, dict[str, Any]]:
    """Finished resamples by their number; a last line that was cut short is left out."""
    done: dict[int, dict[str, Any]] = {}
    if checkpoint is None or not Path(checkpoint).exists():
        return done
    for line in Path(checkpoint).read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
            number = record.pop("resample")
        except (ValueError, KeyError, AttributeError):
            continue
        sizes = [len(record.get(kind, ())) for kind in ("jaccard", "factors")]
        if sizes == [n_paths, n_factors] and "factors" in record:
            done[number] = record
    with atomic_path(Path(checkpoint)) as whole:  # without what cannot be read
        whole.write_text("".join(map(_line, done, done.values())), encoding="utf-8")
    return done


def _line(number: int, record: dict[str, Any]) -> str:
    return json.dumps({"resample": number, **record}) + "\n"


def _write_checkpoint(checkpoint: PathLike | None, i: int, record: dict[str, Any]) -> None:
    if checkpoint is not None:
        with Path(checkpoint).open("a", encoding="utf-8") as file:
            file.write(_line(i, record))
