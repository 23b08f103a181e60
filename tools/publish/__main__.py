"""`make publish`: fill the documents of this checkout in; with --check, fail if anything would change."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from disentree.errors import UserError
from tools.publish.documents import publish


def main() -> None:
    parser = argparse.ArgumentParser(prog="make publish", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if anything would change")
    try:
        changed = publish(Path(), check=parser.parse_args().check)
    except UserError as error:
        sys.exit(str(error))
    for path in changed:
        print(f"written: {path}")
    if not changed:
        print("the documents are what the results say")


if __name__ == "__main__":
    main()
