"""Without the libraries of the extras: what works, and the sentence where something does not. Also `lazy.py`."""

import os
import subprocess
import sys
import textwrap

import pytest

from disentree.errors import MissingExtra, UserError
from disentree.utils.extras import EXTRAS, needing

BLOCK = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def run_without(blocked, code, *args, cwd=None):
    """A script in a Python in which some libraries are missing."""
    script = BLOCK.format(blocked=set(blocked)) + textwrap.dedent(code)
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=300)


def test_tables_need_no_extra(tmp_path):
    done = run_without(
        EXTRAS,
        """
        import numpy as np
        import disentree
        from disentree import MIMOSA, Hierarchy, metrics, plots
        from disentree.datasets import load_dataset

        data = load_dataset("chopsticks-depth2-slope", n_samples=600, seed=0)
        found = MIMOSA(random_state=0).fit(data.X)
        assert metrics.h_error(data.hierarchy, found.hierarchy_) == 0
        assert metrics.purity_score(data.paths, found.labels_) > 0.95
        codes = found.transform(data.X)
        assert metrics.mig_score(data.codes, codes, data.hierarchy, found.hierarchy_) >= 0
        plots.draw_mimosa(found, data.paths).savefig(sys.argv[1] + "/found.png")
        found.save(sys.argv[1] + "/saved")
        again = MIMOSA.load(sys.argv[1] + "/saved")
        assert (again.predict(data.X) == found.predict(data.X)).all()
        assert len(found.explain().splits) == 2

        table = load_dataset("penguins").X
        leaves = MIMOSA(random_state=0).fit(table)
        assert len(leaves.hierarchy_.paths) > 1
        assert leaves.predict_proba(table).shape == (len(table), len(leaves.hierarchy_.paths))
        assert not {"torch", "pyarrow", "dask", "uvicorn"} & {*sys.modules}
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found.png").is_file()


def test_every_model_names_the_extra():
    done = run_without(
        ["torch"],
        """
        import disentree
        from disentree.errors import MissingExtra
        for name in ("COFHAE", "AE", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "JointVAE", "explore"):
            try:
                getattr(disentree, name)
            except MissingExtra as error:
                print(error)
        """,
    )
    names = ("COFHAE", "AE", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "JointVAE", "explore")
    assert done.stdout.splitlines() == [f"{name} needs torch: pip install 'disentree[torch]'" for name in names]


def test_an_autoencoder_names_the_extra_before_any_work():
    done = run_without(
        ["torch"],
        """
        import numpy as np
        from disentree import MIMOSA
        MIMOSA(representation="autoencoder").fit(np.random.default_rng(0).normal(size=(100, 3)))
        """,
    )
    sentence = "MIMOSA's autoencoder needs torch: pip install 'disentree[torch]'; representation=\"linear\" does "
    assert sentence in done.stderr.splitlines()[-1]


COMMAND = "from disentree.cli import main; sys.argv[0] = 'disentree'; main()"


def test_run_ends_in_a_sentence_and_leaves_nothing(tmp_path):
    done = run_without(["torch"], COMMAND, "run", "iris", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "disentree: COFHAE needs torch: pip install 'disentree[torch]'; "
        "`disentree mimosa` finds the tree of a table without it"
    ]
    assert not (tmp_path / "run").exists()


def test_other_commands_end_in_a_sentence_too(tmp_path):
    done = run_without(["torch"], COMMAND, "explore", tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "disentree: `disentree explore` needs torch: pip install 'disentree[torch]'"
    ]


def test_the_tree_of_a_table_needs_no_torch_on_the_command_line(tmp_path):
    done = run_without(EXTRAS, COMMAND, "mimosa", "iris", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.lstrip().startswith("2 groups of rows: ")
    assert (tmp_path / "run" / "figures" / "mimosa.png").is_file()


@pytest.mark.parametrize("command", [["--help"], ["run", "--help"], ["datasets"], ["study", "--help"]])
def test_help_needs_no_extra(command, tmp_path):
    done = run_without(EXTRAS, COMMAND, *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_other_errors_of_imports_are_left_alone():
    with pytest.raises(ModuleNotFoundError, match="nonsense"), needing("anything"):
        import nonsense  # noqa: F401


def test_the_innermost_sentence_is_kept():
    missing = ModuleNotFoundError("No module named 'dask.config'", name="dask.config")
    with (
        pytest.raises(MissingExtra, match="the inner one needs Dask"),
        needing("the outer one"),
        needing("the inner one"),
    ):
        raise missing


def test_a_missing_extra_is_the_users_and_an_import_error():
    assert issubclass(MissingExtra, UserError)
    assert issubclass(MissingExtra, ImportError)
