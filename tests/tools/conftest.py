"""The tools of the repository are not in the source distribution, which has these tests."""

from pathlib import Path

collect_ignore_glob = [] if (Path(__file__).parents[2] / "tools").is_dir() else ["test_*.py"]
