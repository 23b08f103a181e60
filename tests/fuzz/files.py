"""Files given to `run`, `apply` and `score`: right, or refused in one sentence; the same for training and use."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from disentree.runs import Run
from disentree.runs.files.writing import RESULTS
from fuzz.arrays import make_images, make_npy, make_npz, make_structure
from fuzz.driver import Failure, Target, damaged, run_command
from fuzz.stand_ins import quick_models
from fuzz.tables import Made, make_csv, make_parquet

KINDS = {make_csv: 6, make_parquet: 2, make_npy: 3, make_npz: 3, make_images: 1}


class Files(Target):
    """Files of all kinds that are read."""

    name = "files"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        np.save(folder / "good.npy", rng.normal(size=(100, 3)))
        (folder / "good.csv").write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in rng.normal(size=(100, 2))))
        with quick_models():
            for name in ("npy", "csv"):
                good = run_command("run", folder / f"good.{name}", "--out", folder / name, "--no-report")
                assert good[0], good[1]

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        with quick_models():
            if rng.random() < 0.1:
                return self._score(rng, folder)
            if rng.random() < 0.1:
                tree, labels = make_structure(rng, folder)
                words = ("--hierarchy", tree, "--labels", labels, "--no-report")
                return run_command("run", self.folder / "good.npy", "--out", folder / "r", *words)[0]
            chances = np.array(list(KINDS.values()))
            make = list(KINDS)[rng.choice(len(KINDS), p=chances / chances.sum())]
            made = make(rng, folder)
            if made.path.is_file() and rng.random() < 0.35:
                made.path.write_bytes(damaged(made.path.read_bytes(), rng))
                made = Made(made.path)
            if made.path.is_file() and rng.random() < 0.2:  # a file that another run knows nothing of
                known = self.folder / str(rng.choice(["npy", "csv"]))
                out = folder / str(rng.choice(["z.npy", "z.csv", "z.parquet"]))
                return run_command("apply", known, made.path, "--out", out)[0]
            return self._train(rng, folder, made)

    def _score(self, rng: np.random.Generator, folder: Path) -> bool:
        made = make_npz(rng, folder)
        if rng.random() < 0.3:
            made.path.write_bytes(damaged(made.path.read_bytes(), rng))
        files = [made.path, self.folder / "npy" / "learned.npz"]
        true, learned = files if rng.random() < 0.5 else files[::-1]
        words = ("--out", folder / "s.json", "--n-splits", 1, "--n-jobs", 1)
        return run_command("score", "--true", true, "--learned", learned, *words)[0]

    def _train(self, rng: np.random.Generator, folder: Path, made: Made) -> bool:
        words: list[object] = ["run", made.path, "--out", folder / "r", "--no-report"]
        raw = rng.random() < 0.2
        words += ["--no-standardize"] * raw
        if made.path.suffix.lower() in (".csv", ".tsv", ".parquet") and rng.random() < 0.3:
            words += (
                ["--types", "text=category"] if b"text" in made.path.read_bytes()[:200] else ["--drop", "text"]
            )
        accepted, said = run_command(*words)
        if not accepted:
            return False
        if made.refused:
            raise Failure(f"{made.path.name} was accepted although names and values do not agree: {said[-300:]}")
        run = Run.open(folder / "r")
        data = run.data
        if made.truth is not None:
            _check_truth(data, made.truth)
        if not made.path.is_dir():
            self._check_application(rng, folder, run)
        return True

    def _check_application(self, rng: np.random.Generator, folder: Path, run: Run) -> None:
        """The run's own file must get the codes that its rows had in training."""
        source = Path(run.config.source)
        out = folder / str(rng.choice(["z.npy", "z.csv", "z.parquet"]))
        accepted, said = run_command("apply", folder / "r", source, "--out", out)
        if not accepted:
            if "is stored by columns" in said:
                return
            raise Failure(f"the run cannot be applied to its own {source.name}: {said[-300:]}")
        codes = _codes_in(out)
        rows = run.data.rows if run.data.rows is not None else np.arange(len(run.data))
        expected = run.encode(run.model("cpu"), np.arange(len(run.data)))
        if len(codes) <= rows.max():
            raise Failure(f"{source.name}: {len(codes)} rows when applied, row {rows.max()} in training")
        if run.data.frame is not None:  # what was too far out to be believed in training is not in a new file
            whole = run.data.frame.select_dtypes("number").notna().all(axis=1).to_numpy()
            rows, expected = rows[whole], expected[whole]
        if not len(rows):
            return
        size = max(1.0, float(np.abs(expected).max()))
        if not np.allclose(codes[rows], expected, rtol=1e-9, atol=1e-9 * size):
            raise Failure(f"{source.name}: rows have other values when the run is applied than in training")


def _codes_in(path: Path) -> np.ndarray:
    import pandas as pd

    if path.suffix == ".npy":
        return np.load(path)
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return frame.drop(columns=list(RESULTS)).to_numpy(dtype=float)


def _check_truth(data: object, truth: dict[str, np.ndarray]) -> None:
    n_rows = len(next(iter(truth.values())))
    rows = data.rows if data.rows is not None else np.arange(n_rows)
    if data.frame is not None:
        values = {str(name): column.to_numpy() for name, column in data.frame.items()}
    elif data.X.ndim == 2:
        X = data.X if data.scale is None else data.X * data.scale + data.center
        names = list(truth) if data.columns is None else [list(truth)[j] for j in data.columns]
        values = dict(zip(names, X.T, strict=False))
    else:
        return
    for name, column in values.items():
        if name not in truth or column.dtype.kind not in "iuf":
            continue
        # what is infinite, or hides all others, is empty and told
        expected = np.where(np.isnan(column), np.nan, truth[name][rows])
        size = np.nanmax(np.abs(expected)) if np.isfinite(expected).any() else 1.0
        if not np.allclose(column, expected, rtol=1e-9, atol=1e-9 * size, equal_nan=True):
            raise Failure(f"column {name!r} does not hold the values of the file")
