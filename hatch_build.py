"""A build hook of hatchling: the git commit goes into the package, so that two builds can be told apart."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = Path("src") / "disentree" / "_commit.txt"


class CommitHook(BuildHookInterface):
    """Write the commit into wheels and source distributions.

    A wheel that is built from a source distribution keeps the commit that is in it. Editable installs ask git when
    they run.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        target = Path(self.root) / TARGET
        self.written = False
        if (Path(self.root) / ".git").exists():
            command = ["git", "-C", self.root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
            try:
                found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
            except (OSError, subprocess.SubprocessError):
                return
            target.write_text(found, encoding="ascii")
            self.written = True
        if target.is_file():
            build_data["artifacts"].append(f"/{TARGET.as_posix()}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if getattr(self, "written", False):  # it would go stale in the checkout
            (Path(self.root) / TARGET).unlink(missing_ok=True)
