"""Executes the scripts of the gallery and writes their pages: `python docs/build_gallery.py [NAME ...]`.

A script in docs/gallery begins with a docstring, whose first line is the title. Comments after a line `# %%` are
prose. Everything between is executed in order, in one namespace, in the folder runs/gallery/NAME, so that runs
that were stopped go on. What a part prints stands below it, then its figures (docs/gallery/figures), then every
page (NAME.html) that it wrote (docs/gallery/pages), embedded. Without names, scripts that have changed are run.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import os
import re
import shutil
import sys
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import disentree

GALLERY = Path(__file__).parent / "gallery"
WORK = Path(__file__).parents[1] / "runs" / "gallery"
LARGEST = 2_000_000  # bytes of an embedded page


def digest(script: Path) -> str:
    """What a page says about the script that made it."""
    return hashlib.sha256(script.read_text(encoding="utf-8").encode()).hexdigest()[:16]


def is_current(script: Path) -> bool:
    """Whether the page was made from the script as it is now."""
    page = script.with_suffix(".md")
    return page.is_file() and digest(script) in page.read_text(encoding="utf-8")


def parts(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The docstring of a script, and its parts: prose and the code that follows it."""
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)
    if not docstring:
        raise SystemExit("a script of the gallery begins with a docstring")
    lines = text.splitlines()[tree.body[0].end_lineno :]
    pieces = re.split(r"^# %%.*\n", "\n".join(lines) + "\n", flags=re.MULTILINE)
    found = [("", pieces[0].strip())]
    for piece in pieces[1:]:
        comment = re.match(r"(?:#.*\n)*", piece)
        assert comment is not None
        prose = "\n".join(line[1:].removeprefix(" ") for line in comment.group().splitlines())
        found.append((prose.strip(), piece[comment.end() :].strip()))
    return docstring, [(prose, code) for prose, code in found if prose or code]


def execute(code: str, names: dict[str, object], where: str) -> str:
    """What a part prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, where, "exec"), names)
    return printed.getvalue().rstrip()


def keep_figures(name: str, count: int) -> list[str]:
    """Save open figures; markdown that shows them."""
    shown = []
    for number in plt.get_fignums():
        path = GALLERY / "figures" / f"{name}-{count + len(shown) + 1}.png"
        path.parent.mkdir(exist_ok=True)
        plt.figure(number).savefig(path, dpi=90, metadata={"Software": None})
        shown.append(f"![Figure of the code above](figures/{path.name})")
    plt.close("all")
    return shown


def keep_pages() -> list[str]:
    """Move pages that were written to the working folder; markdown that embeds them."""
    shown = []
    for page in sorted(Path().glob("*.html")):
        if page.stat().st_size > LARGEST:
            raise SystemExit(f"{page} has {page.stat().st_size:,} bytes, more than {LARGEST:,}")
        target = GALLERY / "pages" / page.name
        target.parent.mkdir(exist_ok=True)
        shutil.move(page, target)
        shown.append(
            f'<iframe class="explorer" src="../pages/{page.name}" title="The explorer" loading="lazy"></iframe>'
            "\n\n"
            f"[The page on its own](pages/{page.name})"
        )
    return shown


def build(script: Path) -> None:
    """Execute a script and write its page."""
    name = script.stem
    docstring, found = parts(script.read_text(encoding="utf-8"))
    title, _, intro = docstring.partition("\n")
    out = [f"# {title.rstrip('.')}", intro.strip()]
    names: dict[str, object] = {"__name__": "__main__"}
    figures = 0
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("*.html"):  # by a script that was stopped
        left.unlink()
    before, cpu = os.getcwd(), time.process_time()
    os.chdir(folder)
    try:
        for prose, code in found:
            out.append(prose)
            if not code:
                continue
            out.append(f"```python\n{code}\n```")
            printed = execute(code, names, str(script))
            if printed:
                out.append(f"```text\n{printed}\n```")
            shown = keep_figures(name, figures)
            figures += len(shown)
            out += [*shown, *keep_pages()]
    finally:
        os.chdir(before)
    seconds = time.process_time() - cpu
    out.append(
        f"*Executed by `python docs/build_gallery.py {name}` from "
        f"`docs/gallery/{script.name}` (sha256 {digest(script)}), disentree {disentree.__version__}.*"
    )
    script.with_suffix(".md").write_text("\n\n".join(part for part in out if part) + "\n", encoding="utf-8")
    print(f"{name}: {seconds:.0f} s", flush=True)


def main() -> None:
    scripts = sorted(GALLERY.glob("*.py"))
    wanted = sys.argv[1:] or [script.stem for script in scripts if not is_current(script)]
    for script in scripts:
        if script.stem in wanted:
            build(script)


if __name__ == "__main__":
    main()
