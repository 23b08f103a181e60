"""The stage that finds the tree: by MIMOSA, from the ground truth, from the user's files or from another run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.errors import NoComponentFound, UserError
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.saving.model_card import CARD, MIMOSA_FOLDER
from disentree.runs.config import RunConfig
from disentree.runs.files.integrity import problem_of_file
from disentree.runs.files.schemas import Step
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.tables import Codec, Schema
from disentree.utils.arrays import read_array, read_arrays
from disentree.utils.files import atomic_path

STRUCTURE_FILES = ("hierarchy.json", "labels.npz", "structure.json")
PATHS = "paths.npy"  # of all rows, where the run works with a sample
# What `MIMOSA.save` writes, beside its card.
ABOUT = f"{MIMOSA_FOLDER}/mimosa.json"
MIMOSA_FILES = (ABOUT, f"{MIMOSA_FOLDER}/mimosa.safetensors", f"{MIMOSA_FOLDER}/representation.safetensors")
FOUND_FOLDER = "found"  # the MIMOSA before a user steered it
RESAMPLES = "resamples.jsonl"  # finished fits to parts of the rows: a stopped run goes on, and more can be added


def find_structure(run: Run, options: StageOptions) -> str:
    """Write the tree, the path of every row in it, and the MIMOSA that found it."""
    if options.structure_from is not None:
        return _copy_structure(run, options.structure_from)
    train, test = run.split(len(run.data))
    about: dict[str, Any] = {"from": run.config.structure}
    if run.config.structure in ("mimosa", "mimosa-paper"):
        # Of all rows: those that are held out for scores are new to the model, not to the tree.
        everything = None if options.embedding is not None else run.data.everything
        mimosa = options.steered
        if mimosa is None:
            rows, codec = searched_rows(run, options)
            mimosa = _fitted_mimosa(run, options, rows if everything is None else everything, codec)
            if steps := run.steps:
                mimosa.save(run.folder / FOUND_FOLDER)
                mimosa = with_steps(mimosa, steps)
        about |= _describe(mimosa)
        hierarchy, paths, core = mimosa.hierarchy_, mimosa.labels_, mimosa.core_labels_
        (run.folder / PATHS).unlink(missing_ok=True)
        if everything is not None:
            with atomic_path(run.folder / PATHS) as temporary:
                np.save(temporary, paths)
            paths, core = paths[run.data.rows], core[run.data.rows]
        remove_mimosa(run.folder / MIMOSA_FOLDER)  # of an earlier one
        (run.folder / RESAMPLES).unlink(missing_ok=True)
        mimosa.save(run.folder / MIMOSA_FOLDER)
    else:
        hierarchy, paths = _given_structure(run)
        core = paths
    run.write_npz(
        "labels.npz",
        train=train, test=test, labels=paths[train], core_labels=core[train], test_labels=paths[test],
    )  # fmt: skip
    run.write_json("structure.json", about)
    run.write_json("hierarchy.json", hierarchy.to_dict())
    n_paths = len(hierarchy.paths)
    return f"{n_paths} path{'s' * (n_paths != 1)}, {np.mean(core >= 0):.1%} of rows in their cores"


def remove_mimosa(folder: Path) -> None:
    """Remove the files of a saved MIMOSA, also of those that were fitted inside its leaves, and nothing else."""
    for own in (*(path for path in folder.glob("split*") if not path.is_symlink()), folder):
        for name in (*(Path(file).name for file in MIMOSA_FILES), CARD):
            (own / name).unlink(missing_ok=True)
        with suppress(OSError):  # someone's own files are in it
            own.rmdir()


def with_steps(mimosa: Any, steps: Sequence[Step]) -> Any:
    """A fitted MIMOSA after what users did to its tree."""
    for step in steps:
        if step.cut is not None:
            mimosa = mimosa.cut(step.cut)
        elif step.merge is not None:
            mimosa = mimosa.merge(step.merge)
        elif step.split is not None:
            mimosa = mimosa.split(step.split)
        elif step.rename is not None:
            mimosa = mimosa.rename(step.rename)
    return mimosa


def searched_rows(run: Run, options: StageOptions) -> tuple[Any, Codec | None]:
    """All rows as MIMOSA takes them: a data frame with what its columns are, or an array."""
    data = run.data
    if options.embedding is not None:
        return options.embedding, None
    if data.frame is None or run.config.structure != "mimosa":
        return data.searched, None
    if data.codec is not None:  # columns of other kinds than numbers, or empty cells
        return data.frame, data.codec
    own = data.searched
    if data.schema is None or (own is data.X and data.scale is not None):  # not in the units of the columns
        return own, None
    import pandas as pd

    used = Schema(tuple(column for column in data.schema.columns if column.used))
    return pd.DataFrame(own, columns=data.frame.columns), Codec(used)


def make_mimosa(config: RunConfig, options: StageOptions) -> Any:
    """MIMOSA with the settings of a run, not fitted."""
    make = MIMOSA.paper if config.structure == "mimosa-paper" else MIMOSA
    mimosa = make(random_state=config.seed, verbose=options.verbose, **config.structure_settings)
    if options.n_jobs is not None:
        mimosa.set_params(n_jobs=options.n_jobs)
    if options.embedding is not None:
        mimosa.set_params(representation="given")
    return mimosa


def _fitted_mimosa(run: Run, options: StageOptions, rows: Any, codec: Codec | None) -> Any:
    mimosa = make_mimosa(run.config, options)
    try:
        with _kept_representation(run):
            mimosa.fit(rows, **({} if codec is None else {"codec": codec}))
        if getattr(mimosa, "interrupted_", False):  # what a whole search would find may be something else
            raise KeyboardInterrupt
    except NoComponentFound:  # its representation is fitted, and other runs may share it
        if options.on_mimosa is not None:
            options.on_mimosa(mimosa)
        raise
    if options.on_mimosa is not None:
        options.on_mimosa(mimosa)
    return mimosa


def _describe(mimosa: Any) -> dict[str, Any]:
    """What ``structure.json`` says about a fitted MIMOSA, for people and for the report."""
    about = {
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
            "saved_bits": None if mimosa.steering_ else float(mimosa.saved_bits_),  # of what the search found
            "saved_bits_doubt": float(mimosa.saved_bits_doubt_),
            "divisions": mimosa.divisions_,
            "levels": _levels(mimosa),
            "told": list(mimosa.summary_.told),
            "nowhere": mimosa.nowhere_,
        }
    return about


def _levels(mimosa: Any) -> list[dict[str, Any]]:
    """Coarser trees, and the tree itself: their leaves by name, with the paths of the tree that are on each."""
    return [
        {
            "n_leaves": level["n_leaves"],
            "bits": level["bits"],
            "leaves": [{"name": n, "paths": own} for n, own in zip(names, level["paths"], strict=True)],
        }
        for level, names in zip(mimosa.levels_, mimosa.level_names_, strict=True)
    ]


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
    (folder / "representation.safetensors").unlink(missing_ok=True)
    if folder.is_dir() and not os.listdir(folder):
        folder.rmdir()


def _copy_structure(run: Run, other: Run) -> str:
    """Take over what another run found for the same data."""
    if not run.config.same_structure(other.config):
        raise UserError(f"{other.folder} holds the structure of other data, or one found in another way")
    if "structure" not in other.stages:
        raise UserError(f"{other.folder} has not found its structure yet")
    if other.steps:
        raise UserError(f"the tree of {other.folder} was steered: such a tree is not taken over")
    files = other.stages["structure"]["files"]
    for name, checksum in files.items():
        if problem := problem_of_file(other.folder, name, checksum):
            raise UserError(f"{other.folder / name} {problem}")
    for name in files:
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
