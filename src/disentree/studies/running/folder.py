"""The folder of a study: a run folder for every run of its list, and the results.

    study.json          the options, the list of runs with the status of each, the tables of the report
    runs/NAME/          a run folder, with result.json once the run is finished
    table.csv           a row for each finished run (and table.parquet)
    times.csv           how long each took
    figures/            pictures
    report.html, .md    all of it on one page
    tables.tex          its tables for LaTeX

`result.json` is the last file that a run writes, and readers never see a partial one. Finished runs are not
repeated. A study that was stopped, by Ctrl-C, kill -9 or a full disk, loses at most the runs in progress, and of
these only the work since their last finished stage or epoch.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from disentree._version import __version__
from disentree.datasets import registered as datasets
from disentree.errors import UserError
from disentree.metrics import registered as metrics
from disentree.runs import models
from disentree.studies import STUDIES
from disentree.studies.running.options import FIRST_SEED, Options
from disentree.studies.running.results import Results
from disentree.studies.running.task import Study
from disentree.utils.files import write_json
from disentree.utils.plugins import installed, is_spec

FORMAT = 1
HOME = Path("runs") / "studies"


def default_folder(name: str, scale: str) -> Path:
    """Where a study is stored unless --out is given."""
    return HOME / f"{name}-{scale}"


def read_study(folder: Path) -> dict[str, Any]:
    """The contents of study.json; an error if it is missing or damaged."""
    path = folder / "study.json"
    if not path.is_file():
        raise UserError(f"{folder} is not the folder of a study: it has no study.json")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] > FORMAT:
            raise UserError(f"{folder} was made by a newer disentree than {__version__}")
        return about
    except (UnicodeDecodeError, json.JSONDecodeError, TypeError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}): delete it and give the study's options again") from None


def resumed_options(study: Study, folder: Path, data: Path | None = None) -> Options:
    """The options that the study in a folder was started with, but for the folder of its data."""
    about = read_study(folder)
    if about["study"] != study.name:
        raise UserError(f"{folder} holds the study {about['study']}, not {study.name}")
    study.usual_datasets(about["scale"], data)  # fails if there is no such folder
    return Options(
        about["scale"],
        tuple(about["seeds"]),
        tuple(about["datasets"]),
        data,
        models=tuple(about.get("models", ())),
        metrics=tuple(about.get("metrics", ())),
        samples=about.get("n_samples"),
        settings=about.get("settings", {}),
    )


def command_of(study: Study, options: Options) -> str:
    """The command that repeats a study."""
    words = ["disentree", "study", study.name, "--scale", options.scale, "--seeds", str(len(options.seeds))]
    if options.seeds[0] != FIRST_SEED:
        words += ["--first-seed", str(options.seeds[0])]
    if options.data is not None:
        words += ["--data", "DIR"]  # where it lies on this machine concerns no reader
    if options.datasets != study.usual_datasets(options.scale, options.data):
        words += ["--datasets", ",".join(options.datasets)]
    for flag, names in (("--model", options.models), ("--metrics", options.metrics)):
        words += [flag, ",".join(names)] if names else []
    if options.samples is not None:
        words += ["--n-samples", str(options.samples)]
    for name, value in options.settings.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(words)


def write_study(study: Study, results: Results, sections: Sequence[Any] | None = None) -> dict[str, Any]:
    """Write `study.json`: enough to resume from, and to join with other studies into one report.

    Without `sections`, those of the file are kept. Returns what was written.
    """
    options, folder = results.options, results.folder
    path = folder / "study.json"
    old = read_study(folder) if path.is_file() else {"created": _now(), "sections": []}
    runs = []
    for i, task in enumerate(results.tasks):
        status = "done" if i in results.found else "failed" if i in results.failed else "left"
        run: dict[str, Any] = {"index": i, "name": task.name, "status": status}
        if i in results.found:
            run["seconds"] = results.found[i]["seconds"]["total"]
            if results.found[i]["values"].get("diverged"):
                run["diverged"] = True
        elif i in results.failed:
            run["error"] = results.failed[i]
        runs.append(run)
    own = _registered_only_in_python(options)
    about = {
        "format": FORMAT,
        "study": study.name,
        "title": study.title,
        "reproduces": study.reproduces,
        "scale": options.scale,
        "scale_means": study.scale_means(options),
        "seeds": list(options.seeds),
        "datasets": list(options.datasets),
        **({"models": list(options.models), "metrics": list(options.metrics)} if options.models else {}),
        **({"n_samples": options.samples} if options.samples is not None else {}),
        **({"settings": dict(options.settings)} if options.settings else {}),
        "command": command_of(study, options),
        "versions": versions_of(results),
        "created": old["created"],
        "updated": _now(),
        **({"note": f"{', '.join(own)}: registered in Python, not known to the command alone"} if own else {}),
        "runs": runs,
        "sections": old["sections"] if sections is None else list(sections),
    }
    write_json(path, about)
    return about


def _registered_only_in_python(options: Options) -> list[str]:
    """What has a name in this process alone, so that the command by itself does not know it."""
    own = {*datasets.OWN, *metrics.OWN, *(name for name, model in models.MODELS.items() if model.kind == "own")}
    installed_too = {name for group in (datasets, metrics, models) for name in installed(group.GROUP)}
    used = (*options.datasets, *options.models, *options.metrics)
    return [name for name in used if name in own - installed_too and not is_spec(name)]


def versions_of(results: Results) -> dict[str, str]:
    """The versions that the finished runs were made with; all of them where they differ."""
    made = [result["versions"] for result in results.found.values()]
    names = dict.fromkeys(name for versions in made for name in versions)
    return {name: " and ".join(sorted({v[name] for v in made if name in v})) for name in names}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_folder(study: Study, options: Options, folder: Path) -> None:
    """Refuse a folder that is used for something else."""
    if folder.is_file():
        raise UserError(f"{folder} is a file, not a folder")
    if folder.resolve() == HOME.resolve():
        raise UserError(f"{folder} is where studies have their folders: choose one of its own with --out")
    if (folder / "study.json").is_file():
        about = read_study(folder)
        if (about["study"], about["scale"]) != (study.name, options.scale):
            held = f"{about['study']} at scale {about['scale']}"
            raise UserError(f"{folder} holds the study {held}: choose another folder with --out")
    elif folder.is_dir() and any(name != "runs" and not name.startswith(".") for name in os.listdir(folder)):
        raise UserError(f"{folder} is not empty and not the folder of a study: choose another with --out")


def find_studies(home: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The folders of studies in a folder and their study.json, in the order of `STUDIES`."""
    if not home.is_dir():
        raise UserError(f"there is no folder {home}")
    found = [(path, read_study(path)) for path in sorted(home.iterdir()) if (path / "study.json").is_file()]
    order = {name: i for i, name in enumerate(STUDIES)}
    return sorted(found, key=lambda item: order.get(item[1]["study"], len(order)))
