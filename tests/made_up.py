"""Options and results of studies, without their runs."""

from disentree.studies import get_study
from disentree.studies.running.results import Results
from disentree.studies.running.study import planned


def chosen(name, battery, *args, **more):
    """Options of a study; of the one that reads a folder with that."""
    study = get_study(name)
    return study.options(*args, **more, **({"data": battery} if study.names_in else {}))


def made_up(study, options, folder):
    """Results as the runs would have them, without the runs."""
    tasks = planned(study, options)
    scores = ("r4c", "r4", "purity", "coverage", "purity_all_rows", "mig", "sap", "dci", "factor_vae")
    found = {}
    for i, task in enumerate(tasks):
        values = dict.fromkeys(scores, 0.5 + 0.01 * (i % 40))
        values |= {"h_error": i % 3, "components": 2, "dimensions": [1, 2], "factors": {"slope1": 0.9}}
        values |= {
            "ari": 0.5 + 0.1 * (i % 5),
            "n_rows": 9,
            "n_columns": 2,
            "true_components": 2,
            "finder": "atlas",
        }
        values |= {
            "lines": 30 * i,
            "variables": 4,
            "true_variables": 4,
            "nameless": i % 3,
            "branches": 5,
            "vague": i % 2,
            "numbered": 1,
        }
        values |= {"error": 0.1 * i, "true_dimensions": [2]}
        values |= {"support": 0.8 if i else None, "slowest_step": "atlas"}
        values |= {"assignment_agreement": 0.9 + 0.001 * i, "reconstruction_mse": 1e-4}
        versions = {"disentree": "0.1", "torch": "2.1" if i else "2.0"}
        stages = {"data": 0.1, "structure": 1.0 + i, "model": 2.0, "scores": 0.5}
        seconds = {"total": 3.6, "stages": stages, "structure": {"components": 0.5}}
        found[i] = {
            "task": task.model_dump(mode="json"),
            "values": values,
            "seconds": seconds,
            "versions": versions,
        }
    return Results(options, folder, tasks, found)
