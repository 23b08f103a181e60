"""How much of a tree comes back when MIMOSA is fitted again to a part of the rows."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import clone

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.sizes import with_sizes
from disentree.mimosa.coordinates.choosing import Coordinates
from disentree.mimosa.explain.factors import factor_columns, factor_likeness, jaccard
from disentree.mimosa.explain.verdict import came_back, verdict
from disentree.mimosa.inputs import is_frame
from disentree.utils import progress
from disentree.utils.files import atomic_path
from disentree.utils.interrupts import plain_interrupts
from disentree.utils.pools import open_pool

# Two leaves are the same if they share this part of the rows that either has (Jaccard): half of a leaf that was
# cut in two, or a leaf that was joined with one of half its size, is not the same.
SAME = 0.75
FEW = 1000  # rows below which resamples are larger than one half: halves of few rows show too little
FRACTION, FRACTION_OF_FEW = 0.5, 0.8
MOST_ROWS = 20_000  # of a resample: trees are found on no more
IN_PROCESS = 1.0  # seconds of a fit, below which starting processes takes longer than they save


@dataclass(frozen=True)
class Found:
    """A tree and where its rows are, as far as two of them are compared.

    Attributes
    ----------
    hierarchy : Hierarchy
    labels : array of shape (n,)
        The path of each row.
    parents : list of int or None
        For every path the one that it encloses.
    """

    hierarchy: Hierarchy
    labels: Int[np.ndarray, " n"]
    parents: Sequence[int | None]

    @classmethod
    def of(cls, model: Any) -> Found:
        """What a fitted MIMOSA found."""
        return cls(model.hierarchy_, model.labels_, [c.parent for c in model.components_])

    def __getitem__(self, rows: Int[np.ndarray, " m"]) -> Found:
        return Found(self.hierarchy, self.labels[rows], self.parents)

    @property
    def branches(self) -> list[tuple[int, int]]:
        """Column of a categorical and option, for every option of the tree."""
        return [(v.index, k) for v in self.hierarchy.variables for k in range(v.n_options)]

    @property
    def on_branch(self) -> Bool[np.ndarray, "paths branches"]:
        """Which paths go through which branches."""
        choices = [set(path.choices) for path in self.hierarchy.paths]
        return np.array([[b in own for b in self.branches] for own in choices], dtype=bool).reshape(
            len(choices), len(self.branches)
        )


@dataclass(frozen=True)
class Stability:
    """How often the parts of a tree came back, as `MIMOSA.stability` reports it.

    Attributes
    ----------
    support : array of shape (n_components,)
        For each component, the share of resamples in which a leaf was found that has three quarters of the rows in
        common with it (Jaccard index). NaN for one that had no row in any resample.
    jaccard : array of shape (n_components,)
        The Jaccard index with the likest leaf, on average.
    dimensions : list of dict
        For each component, how often it came back with which dimension.
    parents : list of dict
        For each component that came back, how often with which parent: a component, None, or -1 for a leaf that
        is none of the components.
    tree : float
        The share of resamples with the same tree: as many leaves, all of which came back, with the same dimensions
        and parents; of a product, the same choices with the same numbers of variables, all of which came back.
    branch_support : array of shape (n_branches,)
        As `support`, for every option of every categorical in the order of `branches`: the rows of all leaves
        below it.
    branches : sequence of two str
        Names of categorical and option.
    n_components : dict
        How often how many leaves were found.
    n_resamples : int
    fraction : float
        The part of the rows that each resample has.
    verdict : str
        What was found and how sure it is, in a sentence.
    factors : list of dict
        For each of the categoricals that are chosen independently of each other at the root, its `name` and
        `support`: the share of resamples in which some categorical divided the rows as it does, option by option
        (Jaccard indices of three quarters and more). Empty if there are fewer than two.
    """

    support: Float[np.ndarray, " components"]
    jaccard: Float[np.ndarray, " components"]
    dimensions: list[dict[int, int]]
    parents: list[dict[int | None, int]]
    tree: float
    branch_support: Float[np.ndarray, " branches"]
    branches: Sequence[Sequence[str]]
    n_components: dict[int, int]
    n_resamples: int
    fraction: float
    verdict: str
    factors: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_records(cls, found: Found, records: Sequence[dict[str, Any]], fraction: float) -> Stability:
        """What the records of single resamples say together."""
        leaves, branches, factors = (
            np.array([[np.nan if j is None else j for j in r[kind]] for r in records], dtype=float)
            for kind in ("jaccard", "branches", "factors")
        )
        columns = factor_columns(found.hierarchy)
        back = leaves >= SAME
        names = [(found.hierarchy.variables[v], k) for v, k in found.branches]
        branch_support = _share(branches)
        support, factor_support = _share(leaves), _share(factors)
        parts = factor_support if columns else branch_support
        return cls(
            support=support,
            jaccard=_mean(leaves),
            dimensions=[
                _counts(r["dimensions"][c] for r in records if r["dimensions"][c] is not None)
                for c in range(leaves.shape[1])
            ],
            parents=[
                _counts(r["parents"][c] for r, ok in zip(records, back[:, c], strict=True) if ok)
                for c in range(leaves.shape[1])
            ],
            tree=float(np.mean([r["same_tree"] for r in records])),
            branch_support=branch_support,
            branches=[(variable.name, variable.options[k]) for variable, k in names],
            factors=[
                {"name": found.hierarchy.variables[c].name, "support": float(one)}
                for c, one in zip(columns, factor_support, strict=True)
            ],
            n_components=_counts(r["components"] for r in records),
            n_resamples=len(records),
            fraction=fraction,
            verdict=verdict(found.hierarchy, [s for s in parts if np.isfinite(s)]),
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it.

        Returns
        -------
        dict
        """
        components = [
            {
                "path": c,
                "support": _number(self.support[c]),
                "jaccard": _number(self.jaccard[c]),
                "dimensions": {str(d): n for d, n in self.dimensions[c].items()},
                "parents": {_parent(p): n for p, n in self.parents[c].items()},
            }
            for c in range(len(self.support))
        ]
        branches = [
            {"categorical": name, "option": option, "support": _number(support)}
            for (name, option), support in zip(self.branches, self.branch_support, strict=True)
        ]
        return {
            "n_resamples": self.n_resamples,
            "fraction": self.fraction,
            "tree": self.tree,
            "verdict": self.verdict,
            "n_components": {str(k): n for k, n in sorted(self.n_components.items())},
            "components": components,
            "branches": branches,
            "factors": [{**factor, "support": _number(factor["support"])} for factor in self.factors],
        }

    def factor_lines(self) -> list[str]:
        """How often each factor came back, a line each.

        Returns
        -------
        list of str
        """
        return [f"{factor['name']}: {in_words(factor['support'])}" for factor in self.factors]

    def __str__(self) -> str:
        lines = [
            self.verdict,
            f"{self.n_resamples} resamples of {self.fraction:.0%} of the rows, "
            f"{self.tree:.0%} of them with the same tree",
        ]
        lines += self.factor_lines()
        for c, support in enumerate(self.support):
            dims = ", ".join(f"{d}-D {n} times" for d, n in sorted(self.dimensions[c].items()))
            lines.append(f"component {c}: {in_words(support)}; its likest leaf was {dims or 'none'}")
        return "\n".join(lines)


def product_summary(hierarchy: Hierarchy, labels: Int[np.ndarray, " n"], stability: Stability | None) -> str:
    """The factors of a product with the share of rows on every option, and how often each came back."""
    tree = str(with_sizes(hierarchy, labels))
    used = len(np.unique(labels[labels >= 0]))
    combinations = f"{used} of {len(hierarchy.paths)} combinations have rows"
    return "\n".join([tree, combinations, *([] if stability is None else stability.factor_lines())])


def in_words(support: float) -> str:
    """How often something came back; a warning sign if in fewer than half of the resamples."""
    if not np.isfinite(support):
        return "too few rows to tell"
    return f"came back in {support:.0%} of resamples" + ("  (!)" if not came_back(support) else "")


def stability_of(
    model: Any,
    X: Any,
    found: Found,
    *,
    n_resamples: int = 20,
    fraction: float | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    codec: Any = None,
    coordinates: Coordinates | None = None,
    unasked: Sequence[str] = (),
    verbose: bool = False,
    seconds: float = np.inf,
) -> Stability:
    """Fit MIMOSA again to random parts of the rows, and compare what it finds there.

    A part of the rows cannot show what is significant in all of them, so the deviations of chance that a valley or
    a saving must exceed are lowered by the root of that part.

    Parameters
    ----------
    model : MIMOSA
        With the settings to use; a copy is fitted.
    X : as for `MIMOSA.fit`
    found : Found
        What was found in all rows.
    n_resamples : int, default=20
    fraction : float or None, default=None
        Of the rows in each resample; None for one half, and four fifths of fewer than 1,000 rows.
    n_jobs : int or None, default=None
        Processes; None or -1 for all cores.
    checkpoint : path or None, default=None
        A file to which every finished resample is written, and from which they are taken if it exists.
    codec : Codec or None, default=None
        What the columns of a data frame are.
    coordinates : Coordinates or None, default=None
        Those of all resamples, if they are not to be found again.
    unasked : sequence of str, default=()
        Finders that had nothing to offer for all rows, and are not asked for a part of them.
    verbose : bool, default=False
        Show progress on stderr.
    seconds : float, default=inf
        How long a fit takes, if that is known: short ones are done in this process.

    Returns
    -------
    Stability
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be 1 or more, got {n_resamples}")
    n = len(found.labels)
    if fraction is None:
        fraction = FRACTION_OF_FEW if n < FEW else FRACTION
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be between 0 and 1, got {fraction}")
    done = _read_checkpoint(checkpoint, len(found.hierarchy.paths), len(factor_columns(found.hierarchy)))
    done = {i: record for i, record in done.items() if i < n_resamples}  # there may be more than are asked for
    todo = [i for i in range(n_resamples) if i not in done]
    rows = {i: _rows(n, fraction, i) for i in todo}
    settings: Any = clone(model)
    refit = _Refit(settings.set_params(n_jobs=1, verbose=False), fraction, codec, coordinates, tuple(unasked))
    jobs = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    jobs = 0 if seconds * len(todo) < 2 * IN_PROCESS or jobs == 1 else min(jobs, len(todo))
    with progress.bar("resample", n_resamples, verbose, done=len(done)) as tell:
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
                f"interrupted: {len(done)} of {n_resamples} resamples were finished", RuntimeWarning, stacklevel=2
            )
    return Stability.from_records(found, [done[i] for i in sorted(done)], fraction)


# ------------------------------------------------------------------ one resample


@dataclass(frozen=True)
class _Refit:
    """Fits MIMOSA to some of the rows, and compares."""

    model: Any
    fraction: float
    codec: Any
    coordinates: Coordinates | None
    unasked: tuple[str, ...]

    def __call__(self, i: int, X: Any, found: Found) -> dict[str, Any]:
        model: Any = clone(self.model)
        model.set_params(random_state=i)
        model._rigor = float(np.sqrt(self.fraction))
        model._coordinates = self.coordinates
        model._unasked = self.unasked
        more = {} if self.codec is None else {"codec": self.codec}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say was said about all rows, or is about a part of them
            again = Found.of(model.fit(X, **more))
        if getattr(model, "interrupted_", False):  # the paper's is not
            raise KeyboardInterrupt
        return compare(found, again)


def compare(found: Found, again: Found) -> dict[str, Any]:
    """How alike two trees of the same rows are, leaf by leaf and branch by branch."""
    known = (found.labels >= 0) & (again.labels >= 0)
    n_paths, n_again = len(found.hierarchy.paths), len(again.hierarchy.paths)
    both = np.bincount(found.labels[known] * n_again + again.labels[known], minlength=n_paths * n_again)
    both = both.reshape(n_paths, n_again).astype(float)
    leaves = jaccard(both, np.eye(n_paths, dtype=bool), np.eye(n_again, dtype=bool))
    branches = jaccard(both, found.on_branch, again.on_branch)
    likest = leaves.argmax(axis=1)
    nearest = leaves.max(axis=1)
    there = both.sum(axis=1) > 0
    back_to = {int(likest[c]): c for c in range(n_paths) if there[c] and nearest[c] >= SAME}
    parents = [again.parents[k] for k in likest]
    parents = [None if p is None else back_to.get(p, -1) for p in parents]
    dimensions = [again.hierarchy.paths[k].dimension for k in likest]
    same = (
        n_paths == n_again
        and len(back_to) == n_paths
        and parents == list(found.parents)
        and dimensions == [path.dimension for path in found.hierarchy.paths]
    )
    factors = factor_likeness(found.hierarchy, again.hierarchy, both)
    if factors:  # rare combinations do not decide whether a product is the same
        alike = all(likeness is None or likeness >= SAME for likeness in factors)
        same = alike and found.hierarchy.canonical() == again.hierarchy.canonical()
    through = both.sum(axis=1) @ found.on_branch > 0
    likest_branch = branches.max(axis=1, initial=0.0)
    return {
        "components": n_again,
        "same_tree": bool(same),
        "jaccard": [float(j) if ok else None for j, ok in zip(nearest, there, strict=True)],
        "dimensions": [int(d) if ok else None for d, ok in zip(dimensions, there, strict=True)],
        "parents": parents,
        "branches": [float(j) if ok else None for j, ok in zip(likest_branch, through, strict=True)],
        "factors": factors,
    }


# ------------------------------------------------------------------ many


def _rows(n: int, fraction: float, i: int) -> Int[np.ndarray, " m"]:
    size = max(2, min(round(fraction * n), MOST_ROWS))
    return np.sort(np.random.default_rng([n, i]).choice(n, min(size, n), replace=False))


def _take(X: Any, rows: Int[np.ndarray, " m"]) -> Any:
    return X.iloc[rows] if is_frame(X) else np.asarray(X)[rows]


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


def _read_checkpoint(
    checkpoint: str | os.PathLike[str] | None, n_paths: int, n_factors: int
) -> dict[int, dict[str, Any]]:
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


def _write_checkpoint(checkpoint: str | os.PathLike[str] | None, i: int, record: dict[str, Any]) -> None:
    if checkpoint is not None:
        with Path(checkpoint).open("a", encoding="utf-8") as file:
            file.write(_line(i, record))


def _share(jaccard: Float[np.ndarray, "r c"]) -> Float[np.ndarray, " c"]:
    return _mean(np.where(np.isnan(jaccard), np.nan, jaccard >= SAME))


def _mean(values: Float[np.ndarray, "r c"]) -> Float[np.ndarray, " c"]:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)


def _counts(values: Iterable[Any]) -> dict[Any, int]:
    return dict(Counter(values))


def _number(value: float) -> float | None:
    return None if not np.isfinite(value) else round(float(value), 4)


def _parent(parent: int | None) -> str:
    return "none" if parent is None else "another" if parent < 0 else str(parent)
