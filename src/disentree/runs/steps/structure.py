"""The stage that finds the tree: by MIMOSA, from the ground truth, from the user's files or from another run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.errors import NoComponentFound, UserError
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.saving.folder import table_to_json
from disentree.runs.config import RunConfig
from disentree.runs.files.integrity import problem_of_file
from disentree.runs.options import StageOptions
from disentree.runs.run import Run
from disentree.utils.arrays import read_array, read_arrays
from disentree.utils.files import atomic_path

STRUCTURE_FILES = ("hierarchy.json", "labels.npz", "structure.json")
REPRESENTATION = "representation.safetensors"  # only of images
TABLE = "table.json"  # only if the data is a table with columns of other kinds than numbers, or with empty cells
RESAMPLES = "resamples.jsonl"  # finished fits to parts of the rows: a stopped run goes on, and more can be added


def find_structure(run: Run, options: StageOptions) -> str:
    """Write the tree, and the path of every row in it."""
    if options.structure_from is not None:
        return _copy_structure(run, options.structure_from)
    train, test = run.split(len(run.data))
    about: dict[str, Any] = {"from": run.config.structure}
    if run.config.structure in ("mimosa", "mimosa-paper"):
        hierarchy, labels, core_labels, test_labels = _run_mimosa(run, options, train, test, about)
    else:
        hierarchy, paths = _given_structure(run)
        labels, test_labels = paths[train], paths[test]
        core_labels = labels
    run.write_npz(
        "labels.npz",
        train=train, test=test, labels=labels, core_labels=core_labels, test_labels=test_labels,
    )  # fmt: skip
    run.write_json("structure.json", about)
    run.write_json("hierarchy.json", hierarchy.to_dict())
    n_paths = len(hierarchy.paths)
    return f"{n_paths} path{'s' * (n_paths != 1)}, {np.mean(core_labels >= 0):.1%} of rows in their cores"


def make_mimosa(config: RunConfig, options: StageOptions) -> Any:
    """MIMOSA with the settings of a run, not fitted."""
    make = MIMOSA.paper if config.structure == "mimosa-paper" else MIMOSA
    mimosa = make(random_state=config.seed, verbose=options.verbose, **config.structure_settings)
    if options.n_jobs is not None:
        mimosa.set_params(n_jobs=options.n_jobs)
    if options.embedding is not None:
        mimosa.set_params(representation="given")
    return mimosa


def _run_mimosa(
    run: Run,
    options: StageOptions,
    train: Int[np.ndarray, " n"],
    test: Int[np.ndarray, " m"],
    about: dict[str, Any],
) -> tuple[Hierarchy, Int[np.ndarray, " n"], Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """The tree, labels and core labels of the training rows, labels of the others; `about` gets the rest."""
    mimosa = make_mimosa(run.config, options)
    X = run.data.searched if options.embedding is None else options.embedding
    codec = run.data.codec if run.config.structure == "mimosa" and options.embedding is None else None
    for name in (TABLE, RESAMPLES):
        (run.folder / name).unlink(missing_ok=True)
    rows_of, more = X.__getitem__, {}
    if codec is not None:  # columns of other kinds than numbers, or empty cells
        rows_of, more = run.data.frame.iloc.__getitem__, {"codec": codec}
    try:
        with _kept_representation(run):
            mimosa.fit(rows_of(train), **more)
        if getattr(mimosa, "interrupted_", False):  # what a whole search would find may be something else
            raise KeyboardInterrupt
    except NoComponentFound:  # its representation is fitted, and other runs may share it
        if options.on_mimosa is not None:
            options.on_mimosa(mimosa)
        raise
    about |= {
        "summary": mimosa.summary(),
        "description_length": float(mimosa.description_length_),
        "components": [
            {"dimension": int(c.dimension), "size": int(c.size), "parent": c.parent, "parents": list(c.parents)}
            for c in mimosa.components_
        ],
        "lost": mimosa.lost_,
        "matches": mimosa.matches_,
        "timings": {step: round(float(s), 3) for step, s in mimosa.timings_.items()},
    }
    if hasattr(mimosa, "candidates_"):  # the paper's has none
        about |= {
            "candidates": [{**row, "seconds": round(row["seconds"], 3)} for row in mimosa.candidates_],
            "saved_bits": float(mimosa.saved_bits_),
            "saved_bits_doubt": float(mimosa.saved_bits_doubt_),
        }
    representation: Any = getattr(mimosa, "representation_", None)
    is_network = hasattr(getattr(representation, "network", None), "decode")
    if is_network or (run.data.X.ndim > 2 and getattr(representation, "kind", None) == "linear"):
        representation.save(run.folder / REPRESENTATION)  # COFHAE starts from it
    if options.on_mimosa is not None:
        options.on_mimosa(mimosa)
    if codec is not None and mimosa.table_ is not None:
        run.write_json(TABLE, table_to_json(mimosa.table_))
    hierarchy = getattr(mimosa, "plain_hierarchy_", mimosa.hierarchy_)  # names.json has names for it
    return hierarchy, mimosa.labels_, mimosa.core_labels_, mimosa.predict(rows_of(test))


@contextmanager
def _kept_representation(run: Run) -> Iterator[None]:
    """Within the block, the network of images saves its state, and goes on where an earlier run was stopped."""
    if run.data.X.ndim < 3:
        yield
        return
    from disentree.training.checkpoints import checkpoints_in

    folder = run.folder / "checkpoint"
    with checkpoints_in(folder):
        yield
    (folder / REPRESENTATION).unlink(missing_ok=True)
    if folder.is_dir() and not os.listdir(folder):
        folder.rmdir()


def _copy_structure(run: Run, other: Run) -> str:
    """Take over what another run found for the same data."""
    if not run.config.same_structure(other.config):
        raise UserError(f"{other.folder} holds the structure of other data, or one found in another way")
    if "structure" not in other.stages:
        raise UserError(f"{other.folder} has not found its structure yet")
    for name, checksum in other.stages["structure"]["files"].items():
        if problem := problem_of_file(other.folder, name, checksum):
            raise UserError(f"{other.folder / name} {problem}")
    more = [name for name in (REPRESENTATION, TABLE) if (other.folder / name).is_file()]
    for name in (*STRUCTURE_FILES, *more):
        with atomic_path(run.folder / name) as temporary:
            shutil.copyfile(other.folder / name, temporary)
    return f"that of {other.folder}"


def _given_structure(run: Run) -> tuple[Hierarchy, Int[np.ndarray, " n"]]:
    """A tree and the path of every row: the ground truth, or the user's files."""
    data = run.data
    if run.config.structure == "true":
        assert data.codes is not None
        assert data.hierarchy is not None
        return data.hierarchy, data.hierarchy.path_of(data.codes)
    hierarchy_file, labels_file = run.config.hierarchy_file, run.config.labels_file
    if not hierarchy_file or not labels_file:
        raise UserError("a structure needs both --hierarchy and --labels")
    try:
        hierarchy = Hierarchy.from_json(Path(hierarchy_file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{hierarchy_file}: {error}") from None
    labels = _read_labels(Path(labels_file))
    if data.rows is not None and len(labels) > int(data.rows.max()):
        labels = labels[data.rows]  # the file has labels for all rows, some of which were left out
    if len(labels) != len(data):
        raise UserError(f"{labels_file} has {len(labels)} labels for {len(data)} rows")
    if labels.min() < -1 or labels.max() >= len(hierarchy.paths):
        raise UserError(
            f"{labels_file} must hold paths 0..{len(hierarchy.paths) - 1} of {hierarchy_file}, or -1 for none; "
            f"it has {int(labels.min())}..{int(labels.max())}"
        )
    return hierarchy, labels


def _read_labels(path: Path) -> Int[np.ndarray, " n"]:
    if path.suffix.lower() == ".npy":
        loaded = read_array(path)
    else:
        found = read_arrays(path, optional=("labels", "paths"))
        if not found:
            raise UserError(f"{path} must have an array 'labels'")
        loaded = next(iter(found.values()))
    if loaded.ndim != 1 or loaded.dtype.kind not in "iu":
        raise UserError(f"{path} must hold one whole number for each row, got {loaded.dtype} of {loaded.shape}")
    return loaded.astype(np.int64)
