"""Build the wheel and the source distribution, install the wheel into fresh environments and use it there.

    python .ci/dist_check.py [--core]

First without extras: torch is not there, and the README's example of a table runs. Then with all extras:
`disentree run penguins` makes a report and `disentree explore --export` a page. ``--core`` leaves out the second
part, which installs torch. The distributions stay in ``dist/``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "disentree"
SOURCES = ("tests", "docs", "requirements")  # beside the package in the source distribution
NOT_SHIPPED = {".pyc", ".nbi", ".nbc"}  # made by running it


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the distributions and use them in fresh environments.")
    parser.add_argument("--core", action="store_true", help="only the install without extras")
    only_core = parser.parse_args().core
    wheel, sdist = build(ROOT / "dist")
    check_content(wheel, sdist)
    with tempfile.TemporaryDirectory(prefix="dist-check-") as folder:
        check_core(Path(folder) / "core", wheel)
        if not only_core:
            check_all(Path(folder) / "all", wheel)
    print("dist-check: all is well")


def build(out: Path) -> tuple[Path, Path]:
    """The wheel, which is made from the source distribution, and the source distribution."""
    shutil.rmtree(out, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)])
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def check_content(wheel: Path, sdist: Path) -> None:
    """Every file of the package is in both: code, pages, templates and data."""
    own = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in NOT_SHIPPED and path.name != "_commit.txt"
    }
    with zipfile.ZipFile(wheel) as file:
        in_wheel = set(file.namelist())
    with tarfile.open(sdist) as file:
        in_sdist = {name.partition("/")[2] for name in file.getnames()}
    expect(not own - in_wheel, f"{wheel.name} lacks {sorted(own - in_wheel)[:5]}")
    missing = {f"src/{name}" for name in own} - in_sdist
    expect(not missing, f"{sdist.name} lacks {sorted(missing)[:5]}")
    for name in SOURCES:
        expect(any(path.startswith(f"{name}/") for path in in_sdist), f"{sdist.name} has no {name}/")
    strangers = {name.partition("/")[0] for name in in_wheel} - {"disentree"}
    expect(all(name.endswith(".dist-info") for name in strangers), f"{wheel.name} also has {strangers}")
    print(f"dist-check: {wheel.name} and {sdist.name} have all {len(own)} files of the package")


def check_core(folder: Path, wheel: Path) -> None:
    """Without extras there is no torch, and a table can be analyzed."""
    python = install(folder, str(wheel))
    run([python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is not None)"], folder)
    example = table_example((ROOT / "README.md").read_text(encoding="utf-8"))
    printed = run([python, "-W", "error::DeprecationWarning:disentree", "-c", example], folder)
    expect("○" in printed or "◇" in printed, f"the README's example prints no tree: {printed!r}")
    program = python.with_name("disentree")
    run([program, "mimosa", "iris", "--out", "tree"], folder)
    told = subprocess.run([program, "run", "iris", "--out", "r"], cwd=folder, capture_output=True, text=True)
    expect("pip install 'disentree[torch]'" in told.stderr, f"no word about the extra: {told.stderr!r}")
    print("dist-check: the core works without extras")


def check_all(folder: Path, wheel: Path) -> None:
    """With all extras a run makes a report and a page."""
    constraints = ROOT / "requirements" / "constraints.txt"
    python = install(folder, f"{wheel}[all]", "-c", str(constraints))
    program = python.with_name("disentree")
    run([program, "run", "penguins", "--preset", "quick", "--out", "run"], folder)
    run([program, "explore", "run", "--export", "page.html"], folder)
    for name in ("run/report.html", "page.html"):
        expect("</html>" in (folder / name).read_text(encoding="utf-8"), f"{name} is not a page")
    print("dist-check: a run of penguins makes a report and a page")


def table_example(readme: str) -> str:
    """The first example in Python that needs no network."""
    examples = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return next(code for code in examples if "MIMOSA" in code and "COFHAE" not in code)


def install(folder: Path, *what: str) -> Path:
    """A fresh environment with the wheel; returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])
    return python


def run(command: list[str | Path], folder: Path | None = None) -> str:
    """Run a command; returns what it printed. Without the checkout's own packages on the path."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"}
    print("$", *(str(part).splitlines()[0] for part in command), flush=True)
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    expect(done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"dist-check: {problem}")


if __name__ == "__main__":
    main()
