"""A new run in a folder, or the one that is there."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from disentree.errors import UserError
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER
from disentree.plots.saving import FORMATS
from disentree.runs.config import RunConfig, check_model, check_settings
from disentree.runs.files.json_files import read_events, read_sealed
from disentree.runs.run import FORMAT, LOCK, Run
from disentree.runs.stages import SUBFOLDERS, WRITTEN, redo_from
from disentree.runs.steps.structure import FOUND_FOLDER, remove_mimosa
from disentree.utils.files import locked, remove_temporaries
from disentree.utils.versions import build_versions

FIRST_WORD = b'{"time": '  # of events.jsonl


def start_run(config: RunConfig, folder: str | os.PathLike[str], *, force: bool = False) -> Run:
    """Make a run, or open the one that is in the folder if its settings are the same. Of these the number of
    resamples may be another one: those that are finished stay, and more are added or some not counted. If none is
    given, the run keeps its own.

    Parameters
    ----------
    config : RunConfig
        What the run computes.
    folder : str or path
        Where its files go. It may be empty or missing, or hold a run.
    force : bool, default=False
        Whether a run that is in the folder is removed first.

    Returns
    -------
    Run
        The run; `finish_run` does its stages.

    Raises
    ------
    UserError
        If the folder holds a run with other settings, or files that are not of a run.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig
    >>> run = start_run(RunConfig.of("chopsticks-depth2-slope", n_samples=500), tempfile.mkdtemp())
    >>> run.stages  # none is finished
    {}
    """
    folder = Path(folder)
    check_model(config)
    check_settings(config)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder")
    _check_is_ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK):
        _check_is_ours(folder)  # another process may have been here
        if not _holds_run(folder):
            _clear(folder)
            return _create(config, folder)
        if not force:
            run = Run.open(folder)
            same = config.model_copy(update={"resamples": run.config.resamples})
            differences = run.config.differences(same if config.resamples is None else config)
            if not differences:
                try:
                    read_sealed(folder / "config.json")
                except UserError:  # the journal has it too
                    run.write_sealed("config.json", dict(run.about))
                return run
            if not run.config.differences(same):
                redo_from(run, "stability")
                return with_resamples(run, config.resamples)
            if run.stages:  # else nothing was done that could be lost
                held = f"{folder} holds a run with {'; '.join(differences)}"
                raise UserError(f"{held}: choose another folder, or --force to start over")
        _clear(folder)
        return _create(config, folder)


def _create(config: RunConfig, folder: Path) -> Run:
    """Write the settings of a new run."""
    about = {
        "format": FORMAT,
        "config": config.model_dump(),
        "command": config.command(folder),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": build_versions(),
    }
    return _write(Run(folder, config, about), "created")


def with_resamples(run: Run, resamples: int | None) -> Run:
    """Write another number of resamples to the settings."""
    config = run.config.model_copy(update={"resamples": resamples})
    about = {**run.about, "config": config.model_dump(), "command": config.command(run.folder)}
    return _write(Run(run.folder, config, about), "changed")


def _write(run: Run, event: str) -> Run:
    run.log_event(event, about=run.about)  # first: config.json can be restored from it
    run.write_sealed("config.json", dict(run.about))
    return run


def _holds_run(folder: Path) -> bool:
    """Whether the folder has the settings of a run, be it in the journal only."""
    if (folder / "config.json").exists():
        return True
    return any("about" in event for event in read_events(folder))


def _check_is_ours(folder: Path) -> None:
    """Refuse a folder that something else is in."""
    if folder.is_dir() and not _holds_run(folder) and not all(_is_leftover(p) for p in folder.iterdir()):
        raise UserError(f"{folder} is not empty and not a run folder: choose another folder")


def _is_leftover(path: Path) -> bool:
    """Whether it may be of a run that a power cut ended at its first line."""
    if path.name != "events.jsonl" or path.is_symlink() or not path.is_file():
        return path.name.startswith(".")
    with path.open("rb") as file:
        head = file.read(len(FIRST_WORD))
        return FIRST_WORD.startswith(head) and b"\n" not in file.read()


def clear_run(folder: Path) -> None:
    """Remove the files of a run from a folder, and nothing else; an error if another process works in it."""
    with locked(folder / LOCK):
        _clear(folder)


def remove_unstarted(folder: Path) -> None:
    """Remove the folder of a run that has not got beyond its first stage, if nothing else is in it."""
    with locked(folder / LOCK):
        if not Run.open(folder).stages:
            _clear(folder)
    if [path.name for path in folder.iterdir()] == [LOCK]:
        (folder / LOCK).unlink()
        with suppress(OSError):  # another process has come
            folder.rmdir()


def _clear(folder: Path) -> None:
    """See `clear_run`. Links are removed and not followed."""
    for name in SUBFOLDERS:
        inside = folder / name
        if inside.is_symlink():
            inside.unlink()
        elif inside.is_dir():
            remove_temporaries(inside)
            for picture in (path for suffix in FORMATS for path in inside.glob(f"*.{suffix}")):
                picture.unlink()
    for name in (MIMOSA_FOLDER, FOUND_FOLDER):
        if not (folder / name).is_symlink():
            remove_mimosa(folder / name)
    remove_temporaries(folder)
    for name in WRITTEN:  # config.json last: until then it is still a run
        if not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)
    for name in SUBFOLDERS:
        with suppress(OSError):  # someone's own files are in it
            (folder / name).rmdir()
