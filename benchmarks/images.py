"""A run of images, stage by stage: seconds, processor seconds, and how close decoded images are to the originals.

    python benchmarks/images.py [--seed 0] [--n-samples 100000] [--style smooth] [--binarize] [--runs runs/images]

Prints JSON. Processor seconds are those of this process and of its children. A run that is in RUNS already
is read, and its times are those of `stages.json`. Scores over seeds are those of `disentree study images`.
`profile` has the functions of this process in which most seconds were spent, without those that they call.
"""

import argparse
import cProfile
import json
import os
import pstats
import resource
import sys
import time
from pathlib import Path

from disentree import __version__
from disentree.runs import RunConfig, finish_run, start_run
from disentree.utils.versions import build_commit

PROFILED = 20  # functions
STAGES = ("data", "structure", "model", "scores", "figures", "report")


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def profile_of(profiler: cProfile.Profile) -> list[str]:
    """The functions with most seconds of their own, and their calls."""
    found = []
    for (file, line, name), (_, calls, own, _, _) in pstats.Stats(profiler).stats.items():
        place = f"{file.split('disentree/')[-1]}:{line} " if "disentree/" in file else ""
        found.append((own, f"{own:.1f} s, {calls} calls: {place}{name}"))
    return [text for _, text in sorted(found, reverse=True)[:PROFILED]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-samples", type=int, default=100_000)
    parser.add_argument("--style", default="smooth")
    parser.add_argument("--binarize", action="store_true")
    parser.add_argument("--runs", type=Path, default=Path("runs/images"))
    args = parser.parse_args()
    options = {"style": args.style, "binarize": args.binarize}
    config = RunConfig.of("spaceshapes", seed=args.seed, n_samples=args.n_samples, options=options)
    name = f"{args.style}{'-binary' * args.binarize}-{args.n_samples}-{args.seed}"
    run = start_run(config, args.runs / name)
    seconds, processor, profiler = {}, {}, cProfile.Profile()
    for stage in STAGES:
        began, used = time.perf_counter(), processor_seconds()
        profiler.runcall(finish_run, run, until=stage, verbose=True)
        seconds[stage] = round(time.perf_counter() - began, 1)
        processor[stage] = round(processor_seconds() - used, 1)
    scores, own = run.metrics["scores"], run.metrics["scores_without_truth"]
    line = {
        "command": " ".join(["python", *sys.argv]),
        "versions": {"disentree": __version__, "commit": build_commit()},
        "seed": args.seed,
        "n_samples": args.n_samples,
        **options,
        "h_error": scores["h_error"],
        "r4c": scores["r4c"],
        "purity_all_rows": scores["purity_all_rows"],
        "factors": {factor["factor"]: round(factor["score"], 4) for factor in run.metrics["factors"]},
        "r2": own["reconstruction_r2"],
        "overlap": own["reconstruction_overlap"],
        "seconds": seconds,
        "processor_seconds": processor,
        "structure": run.read_json("structure.json")["timings"],
        "stages": {stage: about["seconds"] for stage, about in run.stages.items()},
        "profile": profile_of(profiler),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
    }
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
