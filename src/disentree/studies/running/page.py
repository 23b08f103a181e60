"""Reports of studies as HTML and Markdown: a page for each, and one for all."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from disentree.errors import UserError
from disentree.plots.saving import FORMATS, save_figure
from disentree.runs.report.page import Picture, render_page
from disentree.studies.running.folder import find_studies, write_study
from disentree.studies.running.options import FIRST_SEED
from disentree.studies.running.results import Results, Section
from disentree.studies.running.task import Study
from disentree.utils.files import atomic_path
from disentree.utils.latex import latex_table
from disentree.utils.progress import duration

log = logging.getLogger(__name__)

TEMPLATES = Path(__file__).parent / "templates"


def write_report(study: Study, results: Results) -> None:
    """Write figures, `study.json`, `report.html`, `report.md` and `tables.tex` from what is finished."""
    sections = study.report(results) if results.found else []
    described = [_drawn(section, results.folder) for section in sections]
    about = write_study(study, results, described)
    context = {"title": about["title"], "study": _for_template(about, results.folder)}
    _write(results.folder / "report.html", render_page("study.html", context, folder=TEMPLATES))
    _write(results.folder / "report.md", report_markdown(about))
    _write(results.folder / "tables.tex", tables_latex(about))


def tables_latex(about: Mapping[str, Any]) -> str:
    """The tables of a study for LaTeX, from the contents of study.json."""
    seeds = describe_seeds(about["seeds"])
    tables = [
        latex_table(
            section["header"],
            section["rows"],
            section["numbers"],
            caption=f"{about['title']}: {section['title']}" + (f", seeds {seeds}" if seeds else ""),
            label=f"{about['study']}-{i}",
        )
        for i, section in enumerate(about["sections"], 1)
        if section["rows"]
    ]
    return "\n".join(tables)


def report_markdown(about: Mapping[str, Any]) -> str:
    """The text of report.md from the contents of study.json."""
    return f"# {about['title']}\n\n{_study_markdown(about, '', '##')}"


def join_reports(home: Path) -> Path:
    """Write one page for all studies in a folder, and return it."""
    studies = find_studies(home)
    if not studies:
        raise UserError(f"{home} holds no studies: `disentree study NAME` makes one")
    described = [_for_template(about, folder) for folder, about in studies]
    contents = [(about["title"], about["reproduces"], about["scale"]) for _, about in studies]
    context = {"title": "Studies", "contents": contents, "studies": described}
    _write(home / "report.html", render_page("studies.html", context, folder=TEMPLATES))
    markdown = ["# Studies\n"]
    for folder, about in studies:
        markdown.append(f"## {about['title']}\n\n{_study_markdown(about, f'{folder.name}/', '###')}")
    _write(home / "report.md", "\n".join(markdown))
    return home / "report.html"


def _drawn(section: Section, folder: Path) -> dict[str, Any]:
    """A section as study.json has it, with its pictures written to files."""
    pictures = []
    for picture in section.pictures:
        path = folder / "figures" / f"{picture.name}.png"
        try:
            _save(picture.draw, path)
        except Exception:  # a report without one picture is better than none
            log.warning("%s could not be drawn", path, exc_info=log.isEnabledFor(logging.DEBUG))
            continue
        pictures.append({"name": picture.name, "caption": picture.caption})
    lists = {name: list(getattr(section, name)) for name in ("text", "header", "rows", "numbers")}
    return {"title": section.title, **lists, "pictures": pictures}


def _save(draw: Callable[[], Any] | Path, path: Path) -> None:
    if not isinstance(draw, Path):
        save_figure(draw(), path.with_suffix(""))
        return
    for suffix in FORMATS:
        if (source := draw.with_suffix(f".{suffix}")).is_file():
            with atomic_path(path.with_suffix(f".{suffix}")) as temporary:
                shutil.copyfile(source, temporary)


def _facts(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    done = [run for run in about["runs"] if run["status"] == "done"]
    seconds = sum(run["seconds"] for run in done)
    seeds = about["seeds"]
    return [
        ("reproduces", about["reproduces"]),
        ("scale", f"{about['scale']}: {about['scale_means']}"),
        ("seeds", describe_seeds(seeds)),
        ("data sets", ", ".join(about["datasets"])),
        ("runs", f"{len(done)} of {len(about['runs'])}, {duration(seconds)} of one core"),
        ("versions", ", ".join(f"{name} {version}" for name, version in about["versions"].items())),
        ("made", about["updated"]),
        *([("note", about["note"])] if "note" in about else []),
    ]


def describe_seeds(seeds: Sequence[int]) -> str:
    """The seeds, and whether settings were chosen while looking at data of such seeds; "" if there are none."""
    if not seeds:
        return ""
    shown = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 2 else ", ".join(map(str, seeds))
    return shown if min(seeds) >= FIRST_SEED else f"{shown} (settings were developed on seeds below 1000)"


def _problems(about: Mapping[str, Any]) -> list[str]:
    out = [
        f"run {run['index']} ({run['name']}) failed: {run['error']}"
        for run in about["runs"]
        if run["status"] == "failed"
    ]
    out += [
        f"the training of run {run['index']} ({run['name']}) diverged: scored is the model of its last good epoch"
        for run in about["runs"]
        if run.get("diverged")
    ]
    left = sum(run["status"] == "left" for run in about["runs"])
    return [*out, f"{left} runs have not been done yet"] if left else out


def _for_template(about: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A study as the templates lay it out: values, and pictures that exist."""
    sections = []
    for section in about["sections"]:
        files = [
            (folder / "figures" / f"{picture['name']}.png", picture["caption"]) for picture in section["pictures"]
        ]
        pictures = [(Picture(path, section["title"]), caption) for path, caption in files if path.is_file()]
        sections.append({**section, "pictures": pictures})
    return {
        "title": about["title"],
        "facts": _facts(about),
        "problems": _problems(about),
        "sections": sections,
        "command": about["command"],
    }


def _study_markdown(about: Mapping[str, Any], prefix: str, heading: str) -> str:
    parts = ["\n".join(f"- {name}: {value}" for name, value in _facts(about))]
    parts += [f"- {problem}" for problem in _problems(about)]
    parts.append(f"```console\n$ {about['command']}\n```")
    for section in about["sections"]:
        parts.append(f"{heading} {section['title']}")
        parts += section["text"]
        if section["rows"]:
            parts.append(table_markdown(section["header"], section["rows"], section["numbers"]))
        for picture in section["pictures"]:
            parts.append(f"![{section['title']}]({prefix}figures/{picture['name']}.png)\n\n{picture['caption']}")
    return "\n\n".join(parts) + "\n"


def table_markdown(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    """A table; the columns in `numbers` are aligned to the right."""
    lines = [header, ["--:" if j in numbers else "---" for j in range(len(header))], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
