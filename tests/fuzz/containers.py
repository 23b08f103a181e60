"""The same rows in other containers and units: the same leaves, or one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from disentree import MIMOSA
from fuzz.driver import Failure, Target


class Containers(Target):
    """Rows on two lines, in any container that Python has for numbers, times any power of ten."""

    name = "containers"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng, n = np.random.default_rng(0), 80
        line, at = rng.integers(2, size=n), rng.uniform(1, 2, size=(n, 1))
        self.rows = at * np.array([[1.0, 2, 0, 0.5], [0, -1, 3, 0.25]])[line]
        self.expected = self._leaves(self.rows)
        assert len(np.unique(self.expected)) == 2

    def _leaves(self, X: Any) -> np.ndarray:
        return MIMOSA(n_jobs=1).fit(X).labels_

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        X, made = self.rows, "array"
        if rng.random() < 0.5:
            power = int(rng.integers(-300, 331))  # smaller numbers lose digits in any program
            with np.errstate(over="ignore", invalid="ignore"):
                X, made = X * float(f"1e{power}"), f"array times 1e{power}"
        if made == "array" or rng.random() < 0.3:
            held = CONTAINERS[rng.integers(len(CONTAINERS))]
            X, made = held(X, folder), f"{made} as {held.__name__}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                found = self._leaves(X)
        except (ValueError, TypeError) as error:
            if len(str(error).splitlines()) != 1 or isinstance(error, np.linalg.LinAlgError):
                raise Failure(f"{made} has no sentence: {type(error).__name__}: {str(error)[:300]}") from None
            return False
        if len(found) != len(self.rows) or not _same_groups(found, self.expected):
            raise Failure(f"{made} has {len(np.unique(found))} leaves, and others than the rows as they are")
        return True


def _same_groups(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = {*zip(one.tolist(), other.tolist(), strict=True)}
    return len(pairs) == len({*one.tolist()}) == len({*other.tolist()})


# ------------------------------------------------------------------ containers


def lists(X: np.ndarray, folder: Path) -> Any:
    return X.tolist()


def columns_first(X: np.ndarray, folder: Path) -> Any:
    return np.asfortranarray(X)


def every_second_of_a_view(X: np.ndarray, folder: Path) -> Any:
    return np.repeat(X, 2, axis=0)[::2]


def other_bytes(X: np.ndarray, folder: Path) -> Any:
    return X.astype(">f8")


def read_only(X: np.ndarray, folder: Path) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X: np.ndarray, folder: Path) -> Any:
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def long_floats(X: np.ndarray, folder: Path) -> Any:
    return X.astype(np.longdouble)


def objects(X: np.ndarray, folder: Path) -> Any:
    return X.astype(object)


def text(X: np.ndarray, folder: Path) -> Any:
    return X.astype(str)


def frame(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd"))


def frame_of_nullable(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd")).astype("Float64")


def frame_of_another_index(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd"), index=pd.Index(np.arange(len(X)) // 2))


def frame_of_objects(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd")).astype(object)


def frame_of_arrow(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd")).astype("double[pyarrow]")


def frame_of_sparse(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))


def frame_of_levels(X: np.ndarray, folder: Path) -> Any:
    return pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a", "b"], ["c", "d"]]))


def sparse_rows(X: np.ndarray, folder: Path) -> Any:
    return sparse.csr_array(X)


def sparse_columns(X: np.ndarray, folder: Path) -> Any:
    return sparse.csc_matrix(X)


def masked_without_mask(X: np.ndarray, folder: Path) -> Any:
    return np.ma.masked_array(X)


def records(X: np.ndarray, folder: Path) -> Any:
    return frame(X, folder).to_records(index=False)


def durations(X: np.ndarray, folder: Path) -> Any:
    return (_of_days(X) * 1e4).astype("timedelta64[ms]")


def frame_of_durations(X: np.ndarray, folder: Path) -> Any:
    return frame(_of_days(X), folder).apply(pd.to_timedelta, unit="D")


def _of_days(X: np.ndarray) -> np.ndarray:
    """In a unit in which durations, which are whole nanoseconds, can tell them apart."""
    largest = float(np.abs(X).max())
    return X / largest if 0 < largest < np.inf else np.where(np.isfinite(X), X, 0.0)


def series_of_rows(X: np.ndarray, folder: Path) -> Any:
    return pd.Series(X.tolist())


def delayed(X: np.ndarray, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(50, 4))


def delayed_frame(X: np.ndarray, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame(X, folder), npartitions=2)


CONTAINERS: tuple[Callable[[np.ndarray, Path], Any], ...] = (
    lists, columns_first, every_second_of_a_view, other_bytes, read_only, mapped, long_floats, objects, text,
    frame, frame_of_nullable, frame_of_another_index, frame_of_objects, frame_of_arrow, frame_of_sparse,
    frame_of_levels,
    sparse_rows, sparse_columns, masked_without_mask, records, durations, frame_of_durations, series_of_rows,
    delayed, delayed_frame,
)  # fmt: skip
