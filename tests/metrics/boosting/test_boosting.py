"""The boosted trees against scikit-learn's; covers `one_input.py` and `many_inputs.py`."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from disentree.metrics.boosting.many_inputs import classification, regression
from disentree.metrics.boosting.one_input import accuracy_of_split, fit_binomial, fit_multinomial, r2_of_split


def split(x, y, n_classes=0, seed=0):
    """Score on a random quarter: ours, scikit-learn's."""
    is_test = np.zeros(len(x), dtype=bool)
    is_test[np.random.default_rng(seed).permutation(len(x))[: len(x) // 4]] = True
    order = np.argsort(x.astype(np.float32), kind="stable")
    inputs = x.astype(np.float32)[order]
    if n_classes:
        ours = accuracy_of_split(inputs, y[order].astype(np.int64), is_test[order], n_classes)
        model = GradientBoostingClassifier(random_state=0)
    else:
        ours = r2_of_split(inputs, y[order].astype(float), is_test[order])
        model = GradientBoostingRegressor(random_state=0)
    model.fit(x[~is_test, None], y[~is_test])
    return ours, model.score(x[is_test, None], y[is_test])


@pytest.mark.parametrize("n", [40, 400, 3000])
@pytest.mark.parametrize("noise", [0.0, 0.3, 30.0])
def test_regression_equals_scikit_learn(n, noise):
    rng = np.random.default_rng(n)
    x = rng.random(n)
    y = np.sin(8 * x) + noise * rng.standard_normal(n)
    ours, theirs = split(x, y)
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("decimals", [0, 1, 7])
def test_equal_and_nearly_equal_inputs(decimals):
    rng = np.random.default_rng(decimals)
    x = np.round(rng.random(600), decimals) + rng.choice([0, 5e-8], size=600)
    ours, theirs = split(x, x**2 + 0.1 * rng.standard_normal(600))
    assert ours == pytest.approx(theirs, abs=1e-6)


def classes_of(x, n_classes, rng):
    return np.floor((x + 0.3 * rng.random(len(x))) / 1.3 * n_classes).astype(np.int64)


# Two cuts of a small node often remove exactly as many errors; rounding then decides, here as there.
# Inputs with few values, each often, have no such ties.


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classification_without_ties_equals_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    x = np.round(rng.random(1000) ** 2, 1)
    ours, theirs = split(x, classes_of(x, n_classes, rng), n_classes)
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_with_ties_is_close_to_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    x = rng.random(2000)
    ours, theirs = split(x, classes_of(x, n_classes, rng), n_classes)
    assert ours == pytest.approx(theirs, abs=0.005)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logits_equal_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    x = np.round(rng.random(1000) ** 2, 1)
    y = classes_of(x, n_classes, rng)
    values = np.unique(x)
    counts = np.array([[((x == value) & (y == k)).sum() for value in values] for k in range(n_classes)], float)
    theirs = GradientBoostingClassifier(random_state=0).fit(x[:, None], y).decision_function(values[:, None])
    ours = fit_binomial(counts) if n_classes == 2 else fit_multinomial(counts).T
    if n_classes > 2:
        ours = ours - ours.mean(1, keepdims=True)
        theirs = theirs - theirs.mean(1, keepdims=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_categorical_inputs():
    rng = np.random.default_rng(0)
    x = rng.integers(4, size=800).astype(float)
    y = np.where(rng.random(800) < 0.7, x, rng.integers(4, size=800)).astype(np.int64)
    assert split(x, y, 4)[0] == pytest.approx(split(x, y, 4)[1], abs=1e-6)
    assert split(x, y)[0] == pytest.approx(split(x, y)[1], abs=1e-6)


def test_a_class_that_only_the_test_rows_have():
    x = np.arange(40, dtype=np.float32)
    y = np.array([0] * 20 + [1] * 19 + [2])
    is_test = np.zeros(40, dtype=bool)
    is_test[[5, 30, 39]] = True
    assert accuracy_of_split(x, y, is_test, 3) == pytest.approx(2 / 3)


def test_one_class():
    x, y = np.arange(40, dtype=np.float32), np.ones(40, dtype=np.int64)
    is_test = np.arange(40) % 4 == 0
    assert accuracy_of_split(x, y, is_test, 3) == 1


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_several_inputs_equal_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    x = rng.random((400, 4)).astype(np.float32)
    x[rng.random((400, 4)) < [0, 0, 0.6, 0.9]] = 0  # as inactive variables are
    signal = x @ [1.0, -0.5, 0.3, 0.8] + 0.2 * rng.random(400)
    train = np.arange(300)
    inputs = np.ascontiguousarray(x.T)
    order = train[np.argsort(inputs[:, train], axis=1, kind="stable")]
    draws = np.tile(np.arange(4), (100 * max(n_classes, 1), 3, 1))
    importance = np.zeros(4)
    if n_classes:
        y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
        model = GradientBoostingClassifier(random_state=0).fit(x[train], y[train])
        theirs = model.decision_function(x)
        ours = classification(inputs, order, y, n_classes, draws, importance).T
        if n_classes == 2:
            ours = ours[:, 1] - ours[:, 0]
        else:
            ours = ours - ours.mean(1, keepdims=True)
            theirs = theirs - theirs.mean(1, keepdims=True)
    else:
        model = GradientBoostingRegressor(random_state=0).fit(x[train], signal[train])
        theirs = model.predict(x)
        ours = regression(inputs, order, signal, draws, importance)
    # Nodes of a few rows can be cut equally well by several inputs, which test rows tell apart.
    np.testing.assert_allclose(ours[train], theirs[train], atol=1e-6)
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.99
    np.testing.assert_allclose(importance / importance.sum(), model.feature_importances_, atol=0.005)
