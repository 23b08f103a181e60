"""All scores at once."""

import json

import pytest

from disentree import metrics as m


@pytest.fixture(scope="module")
def result(sticks):
    down = sticks.hierarchy.pushed_down()
    Z = sticks.hierarchy.transfer(sticks.codes, down)
    return m.evaluate(sticks.codes, Z, sticks.hierarchy, down, n_jobs=2), Z, down


def test_same_numbers_as_the_single_functions(result, sticks):
    found, Z, down = result
    arguments = (sticks.codes, Z, sticks.hierarchy, down)
    dci, info = m.dci_scores(*arguments), m.infomec_scores(*arguments)
    paths = sticks.hierarchy.path_of(sticks.codes), down.path_of(Z)
    assert found["scores"] == {
        "r4c": m.r4c_score(*arguments),
        "r4": m.r4_score(*arguments),
        "h_error": m.h_error(sticks.hierarchy, down),
        "placement_error": m.placement_error(sticks.hierarchy, down),
        "purity": m.purity_score(*paths),
        "coverage": m.coverage_score(paths[1]),
        "mig": m.mig_score(*arguments),
        "sap": m.sap_score(*arguments),
        "factor_vae": m.factor_vae_score(*arguments),
        "dci": dci.disentanglement,
        "dci_completeness": dci.completeness,
        "dci_informativeness": dci.informativeness,
        "info_modularity": info.modularity,
        "info_compactness": info.compactness,
        "info_explicitness": info.explicitness,
        "modularity": m.modularity_score(*arguments),
        "explicitness": m.explicitness_score(*arguments),
        "mcc": m.mcc_score(*arguments),
    }


def test_ready_for_json(result):
    found = result[0]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["estimator"].startswith("fast")
    assert found["settings"]["random_state"] == 0
    assert len(found["factors"]) == 9
    assert sum(factor["score"] for factor in found["r4_factors"]) / 9 == pytest.approx(found["scores"]["r4"])
    assert found["factors"][1]["matches"][0]["where"]


def test_one_metric_by_name(sticks):
    V, h = sticks.codes[:100], sticks.hierarchy
    assert list(m.evaluate(V, V, h, h, metrics="mig")["scores"]) == ["mig"]


def test_reference_is_named(sticks):
    V, h = sticks.codes[:100], sticks.hierarchy
    assert "scikit-learn" in m.evaluate(V, V, h, h, metrics=["mig"], estimator="reference")["estimator"]
