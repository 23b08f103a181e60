"""Studies of one's own: data sets, models and metrics that this package does not have; covers `compare.py` and
`disentree.runs.plain`."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from disentree import Hierarchy
from disentree.datasets import list_datasets, load_dataset, save_dataset
from disentree.errors import UserError
from disentree.metrics import evaluate
from disentree.runs import RunConfig, models, start_run
from disentree.studies import get_study, register_dataset, register_metric, register_model, run_study
from disentree.studies.running.folder import command_of, resumed_options
from disentree.studies.running.study import planned
from disentree.utils import plugins
from shell import invoke


def mixture(n_samples, seed):
    rng = np.random.default_rng(seed)
    codes = rng.uniform(-1, 1, (n_samples, 2))
    return codes @ rng.normal(size=(2, 5)), codes, Hierarchy.flat(2)


class Told:
    """It is given the hierarchy, and says that its codes follow it."""

    def __init__(self, random_state=None, shift=0.0):
        self.random_state, self.shift = random_state, shift

    def fit(self, X, hierarchy=None, paths=None):
        self.pca = PCA(2, random_state=self.random_state).fit(X)
        self.hierarchy_, self.n_paths = hierarchy, len(np.unique(paths))
        return self

    def transform(self, X):
        return self.pca.transform(X) + self.shift


def register():
    register_dataset("mixture", mixture)
    register_model("told", Told, title="Told")
    register_metric("shift", lambda V, Z, v_hierarchy, z_hierarchy: round(float(Z.mean()), 3))


def test_a_study_of_what_is_registered(tmp_path):
    register()
    study = get_study("compare")
    options = study.options(
        seeds=2,
        datasets=["mixture"],
        models=["told"],
        metrics=["mcc", "shift"],
        n_samples=200,
        settings={"shift": 7},
    )
    assert [str(task) for task in planned(study, options)] == ["mixture told seed 2000", "mixture told seed 2001"]
    results = run_study(study, options, tmp_path, jobs=0)
    assert not results.failed
    assert results.mean("shift") == pytest.approx(7, abs=0.5)
    assert all(0 <= value <= 1 for value in results.values("mcc"))
    table = (tmp_path / "tables.tex").read_text()
    assert r"mixture & Told & " in table
    assert r"$\pm$" in table
    assert (tmp_path / "figures" / "scores.pdf").read_bytes().startswith(b"%PDF")
    report = (tmp_path / "report.md").read_text()
    assert "registered in Python" in report
    assert resumed_options(study, tmp_path) == options
    assert command_of(study, options).endswith("--model told --metrics mcc,shift --n-samples 200 --set shift=7")
    made = (tmp_path / "runs" / "mixture_told_seed2000" / "result.json").stat().st_mtime_ns
    run_study(study, options, tmp_path, jobs=0)  # nothing is repeated
    assert (tmp_path / "runs" / "mixture_told_seed2000" / "result.json").stat().st_mtime_ns == made


def test_results_of_earlier_versions_are_not_repeated(tmp_path):
    """They lack what tasks have had since."""
    register()
    study = get_study("compare")
    options = study.options(seeds=1, datasets=["mixture"], models=["told"], metrics=["mcc"], n_samples=100)
    run_study(study, options, tmp_path, jobs=0)
    file = next(tmp_path.glob("runs/*/result.json"))
    result = json.loads(file.read_text())
    del result["task"]["constants"]
    file.write_text(json.dumps(result))
    before = file.read_bytes()
    run_study(study, options, tmp_path, jobs=0)
    assert file.read_bytes() == before


SCRIPT = """
from pathlib import Path
import numpy as np
from sklearn.decomposition import FastICA
from disentree import Hierarchy
from disentree.studies import get_study, register_dataset, register_metric, register_model, run_study

def make(n_samples, seed):
    codes = np.random.default_rng(seed).uniform(-1, 1, (n_samples, 2))
    return codes @ np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.5]]), codes, Hierarchy.flat(2)

class ICA(FastICA):
    def __init__(self, random_state=0):
        super().__init__(n_components=2, random_state=random_state)

def width(V, Z, v_hierarchy, z_hierarchy):
    return Z.shape[1]

register_dataset("mine", make)
register_model("ica", ICA)
register_metric("width", width)
study = get_study("compare")
options = study.options(seeds=2, datasets=["mine"], models=["ica"], metrics=["width", "mcc"], n_samples=200)
results = run_study(study, options, Path("out"), jobs=2)
assert not results.failed, results.failed
assert len({result["pid"] for result in results.found.values()}) == 2
print(results.mean("width"), results.mean("mcc"))
"""


@pytest.mark.slow
def test_worker_processes_are_told(tmp_path):
    """What a script defines is known in the processes that it starts, without a guard of its main part."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    width, mcc = map(float, done.stdout.split()[-2:])
    assert width == 2
    assert mcc > 0.95


def test_names_that_say_where_things_are_and_files(tmp_path, monkeypatch):
    (tmp_path / "of_mine.py").write_text(
        "from sklearn.decomposition import PCA\n\n\nclass Two(PCA):\n    def __init__(self, random_state=0):\n"
        "        super().__init__(2, random_state=random_state)\n\n\n"
        "def width(V, Z, a, b):\n    return Z.shape[1]\n"
    )
    register()
    save_dataset(load_dataset("mixture", 120), tmp_path / "data.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = invoke(
        "study", "compare", "--model", "of_mine:Two", "--datasets", "data.npz", "--metrics", "mcc,of_mine:width",
        "--seeds", "1", "--n-jobs", "0", "--out", "out",
    )  # fmt: skip
    assert found.exit_code == 0, found.stderr
    assert "2.000" in found.stdout
    again = invoke("study", "compare", "--resume", "--n-jobs", "0", "--out", "out")
    assert again.exit_code == 0, again.stderr
    planned_only = invoke("study", "table1", "--datasets", "data.npz", "--dry-run")
    assert planned_only.exit_code == 0, planned_only.stderr
    assert "data.npz paper seed 2000" in planned_only.stdout
    sys.modules.pop("of_mine")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"models": ["none"]}, "there is no model 'none'; known: cofhae, "),
        ({"models": ["os:path"]}, "path is no model: it needs the methods fit and transform"),
        ({"models": ["nowhere.at:All"]}, "the module nowhere.at cannot be imported"),
        ({"metrics": ["none"]}, "--metrics must be among r4c, r4"),
        ({"n_samples": 0}, "--n-samples must be 1 or more, got 0"),
    ],
)
def test_mistakes(options, problem):
    with pytest.raises(UserError, match=problem):
        get_study("compare").options(**options)


def test_other_mistakes(tmp_path):
    with pytest.raises(
        UserError, match="the study table1 has its own models: --model, --metrics and --set are for"
    ):
        get_study("table1").options(models=["vae"])
    np.savez(tmp_path / "rows.npz", X=np.ones((20, 2)) * np.arange(20)[:, None])
    with pytest.raises(UserError, match=r"has no ground truth: an \.npz of a study has"):
        get_study("compare").options(datasets=[str(tmp_path / "rows.npz")])
    register()
    with pytest.raises(UserError, match="told is no subclass of FlatEstimator or COFHAE, which a run needs"):
        start_run(RunConfig.of("mixture", model="told", n_samples=50), tmp_path / "run")
    with pytest.raises(TypeError, match="cls must have the methods fit and transform"):
        register_model("three", 3)
    with pytest.raises(ValueError, match="there is a model 'vae' already"):
        register_model("vae", Told)
    assert not Path(tmp_path / "run").exists()


def test_packages_bring_theirs_by_entry_points(tmp_path, monkeypatch):
    (tmp_path / "of_entry.py").write_text(
        "import numpy as np\nfrom sklearn.decomposition import PCA\nfrom disentree import Hierarchy\n\n\n"
        "def make(n, seed):\n    return np.ones((n, 3)), np.arange(n)[:, None], Hierarchy.flat(1)\n\n\n"
        "def score(V, Z, a, b):\n    return 0.5\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = {"disentree.datasets": "make", "disentree.models": "PCA", "disentree.metrics": "score"}
    entries = lambda group: [EntryPoint(f"their-{found[group]}", f"of_entry:{found[group]}", group)]  # noqa: E731
    monkeypatch.setattr(plugins, "entry_points", entries)
    plugins.installed.cache_clear()
    try:
        ds = load_dataset("their-make", 9)
        assert (ds.name, ds.X.shape, len(list_datasets("own"))) == ("their-make", (9, 3), 1)
        assert models.find_model("their-PCA").load_class() is PCA
        assert evaluate(ds.codes, ds.codes, metrics=["their-score"])["scores"] == {"their-score": 0.5}
        with pytest.raises(ValueError, match="there is a data set 'their-make' already"):
            register_dataset("their-make", mixture)
    finally:
        plugins.installed.cache_clear()
