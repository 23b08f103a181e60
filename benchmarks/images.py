"""A run of images, stage by stage: seconds, processor seconds, and how close decoded images are to the originals.

    python benchmarks/images.py [--seed 0] [--n-samples 100000] [--style smooth] [--binarize] [--runs runs/images]
                                [--out results/images]
    python benchmarks/images.py --report [--out results/images]

Adds a line of JSON to `runs.jsonl` in OUT and writes `report.md` beside it, which --report does alone. Processor
seconds are those of this process and of its children; half of them is what the run takes at best on two cores that
do nothing else. A run that is in RUNS already is read, and its times are those of `stages.json`.
"""

import argparse
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from disentree import __version__
from disentree.runs import RunConfig, finish_run, start_run

RUNS = "runs.jsonl"
ABOUT = """A line for each run of `python benchmarks/images.py --seed SEED`, with `--style paper` and `--binarize`
where it says so. R4c and its factors are those of the metrics; R² and overlap (intersection over union of pixels
above one half) are of held-out images that were encoded and decoded."""
STAGES = ("data", "structure", "model", "scores", "figures", "report")


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-samples", type=int, default=100_000)
    parser.add_argument("--style", default="smooth")
    parser.add_argument("--binarize", action="store_true")
    parser.add_argument("--runs", type=Path, default=Path("runs/images"))
    parser.add_argument("--out", type=Path, default=Path("results/images"))
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.report:
        write_report(args.out)
        return
    options = {"style": args.style, "binarize": args.binarize}
    config = RunConfig.of("spaceshapes", seed=args.seed, n_samples=args.n_samples, options=options)
    name = f"{args.style}{'-binary' * args.binarize}-{args.n_samples}-{args.seed}"
    run = start_run(config, args.runs / name)
    seconds, processor = {}, {}
    for stage in STAGES:
        began, used = time.perf_counter(), processor_seconds()
        finish_run(run, until=stage, verbose=True)
        seconds[stage] = round(time.perf_counter() - began, 1)
        processor[stage] = round(processor_seconds() - used, 1)
    scores, own = run.metrics["scores"], run.metrics["scores_without_truth"]
    line = {
        "seed": args.seed,
        "n_samples": args.n_samples,
        **options,
        "h_error": scores["h_error"],
        "r4c": scores["r4c"],
        "factors": {factor["factor"]: round(factor["score"], 4) for factor in run.metrics["factors"]},
        "r2": own["reconstruction_r2"],
        "overlap": own["reconstruction_overlap"],
        "seconds": seconds,
        "processor_seconds": processor,
        "structure": run.read_json("structure.json")["timings"],
        "stages": {stage: about["seconds"] for stage, about in run.stages.items()},
        "disentree": __version__,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / RUNS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    write_report(args.out)
    print(json.dumps(line, indent=1))


def write_report(folder: Path) -> None:
    """A table of all runs, with means over seeds for each kind of images."""
    lines = [json.loads(line) for line in (folder / RUNS).read_text(encoding="utf-8").splitlines()]
    text = ["# Spaceshapes from end to end", "", ABOUT, ""]
    for kind in dict.fromkeys(map(kind_of, lines)):
        runs = sorted((line for line in lines if kind_of(line) == kind), key=lambda line: line["seed"])
        factors = list(runs[0]["factors"])
        header = [
            "seed",
            "H-error",
            "R4c",
            *factors,
            "R²",
            "overlap",
            *(f"{s}, s" for s in ("structure", "model")),
        ]
        rows = [[str(run["seed"]), *map(shown, numbers_of(run, factors))] for run in runs]
        if len(runs) > 1:
            columns = list(zip(*(numbers_of(run, factors) for run in runs), strict=True))
            rows.append(["mean", *(shown(statistics.mean(column)) for column in columns)])
            rows.append(["deviation", *(shown(statistics.stdev(column)) for column in columns)])
        text += [f"## {kind}", "", _row(header), _row(["---"] + ["--:"] * (len(header) - 1)), *map(_row, rows), ""]
        made = sorted({f"disentree {run['disentree']}, {run['cores']} cores" for run in runs})
        text += [f"Processor seconds of one thread. Made by {'; '.join(made)}.", ""]
    (folder / "report.md").write_text("\n".join(text), encoding="utf-8")


def kind_of(line: dict[str, Any]) -> str:
    binary = ", pixels of 0 and 1" if line["binarize"] else ""
    return f"{line['n_samples']:,} images, style {line['style']}{binary}"


def numbers_of(run: dict[str, Any], factors: list[str]) -> list[float]:
    used = run["processor_seconds"]
    scores = [run["h_error"], run["r4c"], *(run["factors"][name] for name in factors), run["r2"], run["overlap"]]
    return [*scores, used["structure"], used["model"]]


def shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.3f}".lstrip("0")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
