"""Which build of disentree this is, and which libraries it runs with: what every result records."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from disentree._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "matplotlib")
UNKNOWN = "unknown"

_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


@cache
def build_commit() -> str:
    """The commit that the wheel was built from; in a git checkout the commit that is checked out, with "-dirty" if
    files were changed since; "unknown" elsewhere."""
    recorded = _PACKAGE_FOLDER / "_commit.txt"  # written by hatch_build.py
    if recorded.is_file():
        return recorded.read_text(encoding="ascii").strip() or UNKNOWN
    checkout = _PACKAGE_FOLDER.parents[1]
    if not (checkout / ".git").exists():
        return UNKNOWN
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):  # no git, or not our checkout
        return UNKNOWN


def build_versions() -> dict[str, str]:
    """The version and commit of disentree and the versions of Python and of the libraries that results depend on,
    as far as they are installed.

    >>> list(build_versions())[:3]
    ['disentree', 'commit', 'python']
    """
    versions = {"disentree": __version__, "commit": build_commit(), "python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def describe_build(versions: dict[str, str]) -> str:
    """The build in `versions` in words, such as "0.2.0 (commit 1a2b3c4d)"."""
    version, commit = versions.get("disentree", UNKNOWN), versions.get("commit", UNKNOWN)
    short = commit if commit == UNKNOWN else commit[:8] + "-dirty" * commit.endswith("-dirty")
    return f"{version} (commit {short})"
