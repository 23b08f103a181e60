"""See the package's docstring."""

from __future__ import annotations

import os

# Some tries fork this process, which no threads of libraries may be in.
os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"}

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from fuzz.driver import Tally, fuzz
from fuzz.targets import TARGETS

TURN = 5.0  # seconds of a target before it is the next one's turn


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Random input for disentree.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--tries", type=int, help="of each target, instead of a time")
    parser.add_argument("--seed", type=int, help="of the first try; a fresh one if not given")
    parser.add_argument("--target", choices=[*TARGETS], action="append", help="may be repeated; all if not given")
    args = parser.parse_args()
    seed = secrets.randbelow(2**40) if args.seed is None else args.seed
    chosen = {name: TARGETS[name] for name in args.target or TARGETS}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        targets = {}
        for name, make in chosen.items():
            (Path(place) / name).mkdir()
            targets[name] = make(Path(place) / name)
        tallies = {name: Tally(name, seed) for name in targets}
        until = time.monotonic() + args.seconds
        try:
            if args.tries is not None:
                for name, target in targets.items():
                    fuzz(target, tallies[name], tries=args.tries)
            while args.tries is None and time.monotonic() < until:
                for name, target in targets.items():
                    fuzz(target, tallies[name], seconds=min(TURN, until - time.monotonic()))
        finally:
            for target in targets.values():
                target.close()
    for tally in tallies.values():
        print(tally.sentence())
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    for failure in failures:
        name, _, rest = failure.partition(", seed ")
        print(f"{failure}\n  again: make fuzz ARGS='--target {name} --seed {rest.split(':')[0]} --tries 1'")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
