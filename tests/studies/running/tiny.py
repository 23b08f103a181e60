"""A study of a few seconds: a data set of two, two seeds, a structure and a model that shares it."""

import sys
from pathlib import Path

from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Section, spread
from disentree.studies.running.study import run_study
from disentree.studies.running.task import Study, make_task

DATASETS = ("chopsticks-depth2-slope", "chopsticks-depth2-inter")


def plan(options):
    tasks = []
    for dataset in options.datasets:
        for seed in options.seeds:
            same = {"dataset": dataset, "seed": seed, "n_samples": 600}
            shared = make_task({"dataset": dataset, "method": "structure"}, until="structure", **same)
            model = make_task(
                {"dataset": dataset, "method": "cofhae"}, structure_from=shared, preset="quick", epochs=2, **same
            )
            tasks += [shared, model]
    return tasks


def report(results: Results):
    rows = [[d, spread(results.values("r4c", dataset=d, method="cofhae"))] for d in results.levels("dataset")]
    return [Section("Tiny", ["A sentence."], ["data set", "R4c"], rows, numbers=[1])]


STUDY = Study(
    name="tiny",
    title="A tiny study",
    reproduces="nothing",
    datasets=dict.fromkeys(("quick", "default", "paper"), DATASETS),
    seeds=dict.fromkeys(("quick", "default", "paper"), 2),
    scale_descriptions=dict.fromkeys(("quick", "default", "paper"), "600 samples"),
    plan=plan,
    report=report,
)
OPTIONS = Options("quick", (0, 1), DATASETS[:1])

if __name__ == "__main__":  # python tiny.py FOLDER JOBS
    run_study(STUDY, OPTIONS, Path(sys.argv[1]), jobs=int(sys.argv[2]))
