"""Mistakes get one sentence each, before any long work; covers `estimator.py`."""

import numpy as np
import pytest

from contract import checks_of, keeps_any_parameter
from disentree import COFHAE, Hierarchy
from disentree.errors import FarOut

X = np.random.default_rng(0).random((40, 3))
FLAT = Hierarchy.flat(2)
FORKED = Hierarchy.flat(1, (2,))
PATHS = np.arange(40) % 2
QUICK = {"epochs": 1, "hidden": (4,)}


def fit(X=X, **given):
    return COFHAE(**QUICK).fit(X, **given)


def with_value(value):
    out = X.copy()
    out[3, 1] = value
    return out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"X": with_value(np.nan)}, "contains NaN"),
        ({"X": with_value(np.inf)}, "contains infinity"),
        ({"X": X[:1]}, "1 sample"),
        ({"X": X[:0]}, "0 sample"),
        ({"X": np.ones((40, 3))}, "X is constant"),
        ({"X": np.tile([1.0, 2.0], (40, 1)), "hierarchy": FLAT}, "every row of X is the same"),
        ({"X": np.array([["a", "b"]] * 40)}, "dtype='numeric'"),
        ({"X": (block for block in [X])}, "is an iterator, which can be read only once"),
        ({"X": [X, X[:, :2]]}, r"block 1 of X has rows of shape \(2,\)"),
        ({"X": [X, with_value(np.nan)]}, "row 43 holds NaN"),
        ({"X": [X[:1]]}, "X has 1 row"),
        ({"paths": PATHS}, "paths were given without the hierarchy"),
        ({"hierarchy": FORKED}, "hierarchy has 2 paths, so fit needs paths too"),
        ({"hierarchy": FORKED, "paths": PATHS[:9]}, r"one index for each of the 40 rows of X; got shape \(9,\)"),
        ({"hierarchy": FORKED, "paths": PATHS + 1}, r"paths must be -1 \(none\) or 0\.\.1.*got 2"),
        ({"hierarchy": FORKED, "paths": PATHS - 2}, r"paths must be -1 \(none\) or 0\.\.1.*got -2"),
        ({"hierarchy": FORKED, "paths": PATHS + 0.5}, "paths must be whole numbers"),
        ({"hierarchy": Hierarchy.flat(0), "paths": PATHS}, "at least one variable"),
        ({"hierarchy": {"variables": [{"kind": "odd"}]}}, "kind must be"),
    ],
)
def test_data_and_structure(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(**given)


def test_a_hierarchy_in_the_place_of_y():
    with pytest.raises(TypeError, match=r"fit\(X, hierarchy=\.\.\., paths=\.\.\.\)"):
        COFHAE().fit(X, FLAT)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"epochs": 0}, "epochs must be None or a whole number, 1 or more; got 0"),
        ({"epochs": "many"}, "epochs must be None or a whole number"),
        ({"batch_size": True}, "batch_size must be None or a whole number"),
        ({"steps": -1}, "steps must be"),
        ({"tau": 0}, "tau must be a number above 0; got 0"),
        ({"lambda2": -1.0}, "lambda2 must be a number of at least 0"),
        ({"lambda1": float("nan")}, "lambda1 must be a number"),
        ({"warm_up": 2}, "warm_up must be a fraction from 0 to 1; got 2"),
        ({"sigma": 0.0}, "sigma must be None or a number above 0"),
        ({"schedule": "sometimes"}, "schedule must be one of one-cycle, steps, constant; got 'sometimes'"),
        ({"penalty": "severe"}, "penalty must be one of auto, none, adversarial, marginal"),
        ({"encoder": "tree"}, "encoder must be one of"),
        ({"encoder": "conv"}, "encoder and decoder must both be convolutional or both not; got 'conv' and 'auto'"),
        ({"hidden": (0,)}, "hidden must be a sequence of widths above 0"),
        ({"discriminator_betas": (0.5,)}, "discriminator_betas must be two numbers"),
        ({"patience": 0}, "patience must be None or a whole number, 1 or more; got 0"),
        ({"callbacks": ["print"]}, r"callbacks must be functions of \(record, model\)"),
        ({"device": "gpu"}, "device 'gpu' is not available"),
        ({"random_state": -3}, "random_state must be"),
        ({"encoder": "conv", "decoder": "conv"}, "convolutional networks take images"),
    ],
)
def test_parameters(parameters, sentence):
    model = COFHAE(**QUICK).set_params(**parameters)  # as a search does, unchecked until fit
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, hierarchy=FLAT)


def test_using_it_wrongly():
    with pytest.raises(Exception, match="not fitted"):
        COFHAE().transform(X)
    with pytest.raises(Exception, match="not fitted"):
        COFHAE().save("nowhere")
    model = fit(hierarchy=FORKED, paths=PATHS)
    with pytest.raises(ValueError, match="X has 2 features, but COFHAE is expecting 3"):
        model.transform(X[:, :2])
    with pytest.raises(ValueError, match=r"rows of shape \(3, 2\); this model was fitted on \(3,\)"):
        model.transform(np.zeros((4, 3, 2)))
    with pytest.raises(ValueError, match=r"option index 0\.\.1, got 5"):
        model.inverse_transform([[0.1, 5]])
    with pytest.raises(ValueError, match=r"codes must have shape \(n_rows, 2\)"):
        model.inverse_transform([[0.1, 0, 0]])
    assert model.inverse_transform(np.empty((0, 2))).shape == (0, 3)


class FlatCOFHAE(COFHAE):
    """For scikit-learn's checks: their data sets are a few dozen rows, in which there is no structure to find."""

    def fit(self, X, y=None):
        return super().fit(X, hierarchy=FLAT)


@checks_of(FlatCOFHAE(epochs=1, hidden=(4,), device="cpu"))
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def test_any_parameter_is_only_stored():
    keeps_any_parameter("COFHAE()", "AE()", "VAE()", "BetaTCVAE()", "FactorVAE()", "JointVAE()", "CascadeVAE()")


@pytest.mark.parametrize("maps", ["auto", "network"])
def test_rows_too_far_out_are_told(maps):
    model = COFHAE(**QUICK, maps=maps, random_state=0).fit(X, hierarchy=FLAT)
    far = X[:3].copy()
    far[1] *= 1e300
    with pytest.warns(FarOut, match="not finite: 1 row, the first is row 1"), np.errstate(over="ignore"):
        codes = model.transform(far)
    np.testing.assert_allclose(codes[[0, 2]], model.transform(X[[0, 2]]), atol=1e-4)
