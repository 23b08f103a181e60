"""Images of kinds: how well leaves that nobody named, and whose number nobody said, agree with known classes."""

from __future__ import annotations

from disentree.datasets.files.user_files import digest_of
from disentree.runs.config import RunConfig
from disentree.studies.running.battery_data import IMAGES_AND_CLASSES, folders_in
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Section
from disentree.studies.running.task import Study, Task

METHODS = {
    "mimosa-graph": 'MIMOSA, representation="graph"',
    "k-means": "k-means, told the number",
}
SCORES = {
    "dendrogram_purity": "dendrogram purity",
    "purity": "leaf purity",
    "accuracy": "accuracy",
    "nmi": "NMI",
}
# As their authors print them, for trainings of these data: TreeVAE (told at most 10 leaves) in Manduchi et al.,
# Tree Variational Autoencoders, 2023 (arXiv 2306.08984); HDTree in Zang et al., 2025 (arXiv 2506.23287); N2D, an
# autoencoder, UMAP and a Gaussian mixture that is told 10 classes, in McConville et al., 2019 (arXiv 1908.05968).
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "mnist": {
        "TreeVAE": {"dendrogram_purity": 0.879},
        "HDTree": {"dendrogram_purity": 0.933},
        "N2D": {"accuracy": 0.979},
    },
    "fashion-mnist": {"TreeVAE": {"dendrogram_purity": 0.534}, "N2D": {"accuracy": 0.672, "nmi": 0.684}},
}
ROWS = {"quick": 2_000, "default": 10_000, "paper": 60_000}


def plan(options: Options) -> list[Task]:
    assert options.data is not None
    folder, tasks = options.data.resolve(), []
    for name in options.datasets:
        file = next(path for path in sorted((folder / name).glob(f"{IMAGES_AND_CLASSES[0]}*")))
        for method in METHODS:
            for seed in options.seeds:
                config = RunConfig(
                    source=name,
                    kind="file",
                    digest=digest_of(file),
                    seed=seed,
                    n_samples=ROWS.get(options.scale, ROWS["default"]),
                    options={"folder": str(folder)},
                )
                columns = {"dataset": name, "method": method, "seed": seed}
                tasks.append(Task(columns=columns, config=config, until="structure", method=method))
    return tasks


def report(results: Results) -> list[Section]:
    header = ["method", "leaves", *SCORES.values(), "processor minutes"]
    sections = []
    for name in results.levels("dataset"):
        rows = []
        for method, title in METHODS.items():
            known = {"dataset": name, "method": method}
            found = results.where(**known)
            if not found:
                continue
            leaves = sorted({int(row["components"]) for row in found})
            cells = [
                f"{results.mean(score, **known):.3f}" if results.values(score, **known) else "" for score in SCORES
            ]
            minutes = sum(results.seconds(row)["total"] for row in found) / len(found) / 60
            rows.append(
                [
                    title,
                    f"{leaves[0]} to {leaves[-1]}" if len(leaves) > 1 else f"{leaves[0]}",
                    *cells,
                    f"{minutes:.1f}",
                ]
            )
        for title, known in PUBLISHED.get(name, {}).items():
            rows.append(
                [f"{title} (published)", "", *(f"{known[s]:.3f}" if s in known else "" for s in SCORES), ""]
            )
        n = {int(row["n_rows"]) for row in results.where(dataset=name)}
        text = [
            f"{max(n, default=0):,} images, drawn by the seed where there are more. Only k-means and the "
            "published methods are told how many classes there are. Accuracy matches one leaf to each class; "
            "dendrogram purity is that of the levels of the tree."
        ]
        sections.append(Section(name, text, header, rows, tuple(range(1, len(header)))))
    return sections


STUDY = Study(
    name="classes",
    title="Images of kinds: leaves beside known classes",
    reproduces="no figure of the paper",
    datasets={"paper": ()},
    seeds={"quick": 1, "paper": 3},
    scale_descriptions={
        "quick": "2,000 images of each set",
        "default": "10,000 images of each set",
        "paper": "60,000 images of each set",
    },
    plan=plan,
    report=report,
    names_in=folders_in,
)
