"""COFHAE's variants by name, supervision by codes, and runs of all models."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from disentree import AE, COFHAE, Hierarchy
from disentree.baselines import ABLATIONS
from disentree.cli.app import app
from disentree.datasets import load_dataset
from disentree.errors import UserError
from disentree.metrics import r4c_score
from disentree.runs import Run, RunConfig
from disentree.runs.models import MODELS
from disentree.runs.stages import STAGE_NAMES, finished_stages

SMALL = {"epochs": 1, "batch_size": 128, "hidden": (8,), "device": "cpu"}


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-both", n_samples=800, seed=0)


def test_every_variant_is_the_paper_without_some_terms():
    assert ABLATIONS["flat"] is AE
    uses = {name: variant.paper() for name, variant in ABLATIONS.items() if name != "flat"}
    assert {name: (m.lambda1 > 0, m.penalty, m.targets) for name, m in uses.items()} == {
        "hier": (False, "none", "none"),
        "hier-a": (True, "none", "none"),
        "hier-a-tc": (True, "marginal", "none"),
        "hier-a-tcon": (True, "adversarial", "none"),
        "hier-tcon": (False, "adversarial", "none"),
        "hier-a-z": (True, "none", "codes"),
    }
    whole = COFHAE.paper().get_params()
    assert ABLATIONS["hier-a-tcon"].paper().get_params() == whole
    for name, model in uses.items():
        kept = {k: v for k, v in model.get_params().items() if whole[k] != v}
        assert set(kept) <= {"lambda1", "lambda2", "lambda3", "penalty", "targets"}, name
    for name, variant in ABLATIONS.items():
        assert variant.quick().steps < variant().steps
        assert variant.paper(images=True).encoder == "burgess", name
        assert variant(epochs=3).epochs == 3


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name not in ("flat", "hier-a-z")])
def test_they_train_and_come_back(name, sticks, tmp_path):
    variant = ABLATIONS[name]
    model = variant(**SMALL, discriminator=(8,)).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    record = model.history_[-1]
    expected = record["reconstruction"] + model.lambda1 * record["assignment"]
    if "tc" not in name:
        assert record["loss"] == pytest.approx(expected, rel=1e-4)
        assert record["dependence"] == 0
    else:
        assert record["dependence"] != 0
    model.save(tmp_path)
    again = variant.load(tmp_path, device="cpu").transform(sticks.X)
    assert np.array_equal(again, model.transform(sticks.X), equal_nan=True)


def test_the_marginal_penalty_shuffles_all_rows(sticks, monkeypatch):
    """The conditional one only those where a variable is active."""
    seen = {}

    def spy(z, on, generator):
        seen.setdefault("on", []).append(bool(on.all()))
        return z

    monkeypatch.setattr("disentree.cofhae.fitting.algorithm2.permute_active", spy)
    for name in ("hier-a-tc", "hier-a-tcon"):
        seen["on"] = []
        ABLATIONS[name](**SMALL, discriminator=(8,)).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
        assert all(seen["on"]) == (name == "hier-a-tc")


def test_supervised_codes_are_learned(sticks):
    ds = load_dataset("chopsticks-depth2-both", n_samples=3500, seed=1)
    model = ABLATIONS["hier-a-z"].quick(steps=400, hidden=(64,), device="cpu")
    model.fit(ds.X[:3000], hierarchy=ds.hierarchy, codes=ds.codes[:3000])
    assert np.array_equal(model.paths_, ds.paths[:3000])
    Z = model.transform(ds.X[3000:])
    assert r4c_score(ds.codes[3000:], Z, ds.hierarchy, model.hierarchy_) > 0.98
    column = 0  # the same variable in the same column, up to scale
    assert abs(np.corrcoef(Z[:, column], ds.codes[3000:, column])[0, 1]) > 0.99


def test_codes_resume_bit_for_bit_and_other_codes_do_not(sticks, tmp_path):
    given = {"hierarchy": sticks.hierarchy, "codes": sticks.codes}

    def fit(**more):
        return ABLATIONS["hier-a-z"](**{**SMALL, "epochs": 2}, **more).fit(sticks.X, **given)

    def stop(record, model):
        raise ZeroDivisionError

    whole = fit()
    with pytest.raises(ZeroDivisionError):
        fit(checkpoint=tmp_path, callbacks=[stop])
    resumed = fit(checkpoint=tmp_path)
    for name, weight in whole.autoencoder_.state_dict().items():
        assert torch.equal(weight, resumed.autoencoder_.state_dict()[name]), name
    given["codes"] = np.where(sticks.hierarchy.is_categorical, sticks.codes, sticks.codes * 2)
    with pytest.raises(ValueError, match="other data"):
        fit(checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("targets", "given", "sentence"),
    [
        ("codes", {}, "targets='codes' and fit"),
        ("none", {"codes": True}, "targets='codes' and fit"),
        ("codes", {"codes": True, "hierarchy": None}, "codes were given without the hierarchy"),
        ("codes", {"codes": True, "rows": 5}, "codes must have a row for each of the 800 rows of X; got 5"),
    ],
)
def test_mistakes_with_codes(targets, given, sentence, sticks):
    more = {"hierarchy": given.get("hierarchy", sticks.hierarchy)}
    if given.get("codes"):
        more["codes"] = sticks.codes[: given.get("rows")]
    with pytest.raises(ValueError, match=sentence):
        COFHAE(**SMALL, targets=targets).fit(sticks.X, **more)


# -------------------------------------------------------------------- runs


def test_models_are_given_the_true_structure_on_benchmarks():
    name = "chopsticks-depth2-inter"
    assert RunConfig.of(name).structure == "mimosa"
    assert RunConfig.of(name, model="vae").structure == "true"
    assert RunConfig.of(name, model="hier-a", structure="mimosa").structure == "mimosa"
    assert "--structure mimosa" in RunConfig.of(name, model="hier-a", structure="mimosa").command("out")
    assert "--structure" not in RunConfig.of(name, model="hier-a").command("out")
    with pytest.raises(UserError, match="hier-a-z learns from the true codes"):
        RunConfig.of(name, model="hier-a-z", structure="mimosa")


def test_names_of_models_are_those_of_the_ablations():
    assert set(ABLATIONS) <= set(MODELS)


@pytest.mark.parametrize("model", ["jointvae", "hier-a-z"])
def test_a_run_through_the_command_line(model, tmp_path):
    words = ["run", "chopsticks-depth2-inter", "--out", str(tmp_path / "run"), "--n-samples", "400"]
    words += ["--preset", "quick", "--epochs", "2", "--model", model, "--device", "cpu"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "R4c" in result.output
    run = Run.open(tmp_path / "run")
    assert finished_stages(run) == [*STAGE_NAMES]
    hierarchy = run.model("cpu").hierarchy_
    flat = model == "jointvae"
    assert hierarchy == (Hierarchy.flat(2, (2,)) if flat else run.hierarchy)
    assert ("assignment_agreement" in run.metrics["scores_without_truth"]) == (not flat)
    assert "r4c" in json.loads((tmp_path / "run" / "metrics.json").read_text())["scores"]
    page = run.report_path.read_text(encoding="utf-8")
    assert ("Learned (flat)" in page) == flat
