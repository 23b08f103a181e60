"""What the site has beside docs/: README as first page, results, changes, API reference, index of the gallery.

The files stay where they are in the repository; mkdocs calls these functions (hooks in mkdocs.yml) when it builds.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "hierarchy", "tables", "datasets", "mimosa", "cofhae", "baselines",
    "metrics", "plots", "runs", "explorer", "studies",
)  # fmt: skip
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
CONSTANTS = ("ABLATIONS", "METRICS", "STUDIES")  # after what people look for
LINK = re.compile(r"(!?\[[^\]]*\]\()((?!https?://|#|mailto:)[^)\s#]+)(#[^)]*)?(\))")


def on_config(config: Any) -> Any:
    """The entries of the navigation that follow from files."""
    scripts = sorted((ROOT / "docs" / "gallery").glob("*.py"))
    pages = [script.with_suffix(".md") for script in scripts]
    gallery = ["gallery/index.md", *(f"gallery/{page.name}" for page in pages if page.is_file())]
    results = [
        "results/index.md",
        *(f"results/{path.relative_to(ROOT / 'results').as_posix()}" for path in _results()),
    ]
    found = {
        "GALLERY": gallery,
        "API": ["api/index.md", *(f"api/{name}.md" for name in PACKAGES)],
        "RESULTS": results,
    }
    config.nav = [
        {title: found.get(value, value) if isinstance(value, str) else value for title, value in entry.items()}
        for entry in config.nav
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for source, target in MOVED.items():
        files.append(_page(config, target, _relinked(ROOT / source, target)))
    for path in _results():
        target = path.relative_to(ROOT).as_posix()
        files.append(_page(config, target, _relinked(path, target)))
    for path in sorted((ROOT / "results").rglob("*")):
        if path.suffix in (".png", ".csv", ".json", ".jsonl"):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(_page(config, "LICENSE.txt", (ROOT / "LICENSE").read_text(encoding="utf-8")))
    files.append(_page(config, "results/index.md", _results_index()))
    files.append(_page(config, "gallery/index.md", _gallery_index()))
    files.append(_page(config, "api/index.md", _api_index()))
    for name in PACKAGES:
        files.append(_page(config, f"api/{name}.md", _api(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of pages in docs/ that leave it lead to the site's copies."""
    if page.file.src_uri.startswith("gallery/") and "<iframe" in markdown:
        page.meta["hide"] = ["navigation", "toc"]  # the explorer needs the width
    path = page.file.abs_src_path
    return markdown if path is None else _rewritten(markdown, Path(path), page.file.src_uri)


def _page(config: Any, target: str, text: str) -> File:
    return File.generated(config, target, content=text)


def _relinked(path: Path, target: str) -> str:
    return _rewritten(path.read_text(encoding="utf-8"), path, target)


def _rewritten(text: str, path: Path, target: str) -> str:
    """The text with links to files as they are on the site."""

    def moved(link: re.Match[str]) -> str:
        before, where, anchor, after = link.groups()
        there = (path.parent / where).resolve()
        if not there.is_relative_to(ROOT):
            return link.group()
        inside = there.relative_to(ROOT).as_posix()
        new = MOVED.get(inside, "LICENSE.txt" if inside == "LICENSE" else inside.removeprefix("docs/"))
        new += "/index.md" if there.is_dir() else ""
        return f"{before}{posixpath.relpath(new, posixpath.dirname(target) or '.')}{anchor or ''}{after}"

    return LINK.sub(moved, text)


def _results() -> list[Path]:
    return sorted((ROOT / "results").rglob("*.md"))


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def _results_index() -> str:
    lines = ["# Results", "", "Every table was made by the command that stands in it. "]
    lines += ["[The paper and what differs](../reproduction.md) compares them with the paper's claims.", ""]
    for path in _results():
        lines.append(f"- [{_title(path)}]({path.relative_to(ROOT / 'results').as_posix()})")
    return "\n".join(lines) + "\n"


def _gallery_index() -> str:
    lines = ["# Gallery", "", "Scripts that were executed, with what they print and draw.", ""]
    folder = ROOT / "docs" / "gallery"
    for script in sorted(folder.glob("*.py")):
        page = script.with_suffix(".md")
        if page.is_file():
            docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
            first = re.split(r"(?<=[.])\s", docstring.partition("\n")[2].strip(), maxsplit=1)[0].replace("\n", " ")
            lines.append(f"- [{_title(page)}]({page.name}): {first.rstrip(':.')}.")
    return "\n".join(lines) + "\n"


def _exported(name: str) -> tuple[str, list[str]]:
    """The first line of a package's docstring, and its public names, without importing it."""
    tree = ast.parse((ROOT / "src" / "disentree" / name / "__init__.py").read_text(encoding="utf-8"))
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            names = ast.literal_eval(node.value)
    return (ast.get_docstring(tree) or "").split("\n", 1)[0], names


def _api_index() -> str:
    lines = [
        "# API",
        "",
        "`disentree` itself has `MIMOSA`, `COFHAE`, `Hierarchy`, `explore`, `open_run` and the baselines.",
        "",
    ]
    for name in PACKAGES:
        about, names = _exported(name)
        lines.append(f"- [`disentree.{name}`]({name}.md): {about} {', '.join(f'`{n}`' for n in names)}")
    return "\n".join(lines) + "\n"


def _api(name: str) -> str:
    about, names = _exported(name)
    blocks = "\n\n".join(f"::: disentree.{name}.{n}" for n in sorted(names, key=CONSTANTS.__contains__))
    return f"# disentree.{name}\n\n{about}\n\n{blocks}\n"
