"""A transformer of the user's in place of the initial representation."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import OneHotEncoder

from disentree import MIMOSA


def iris():
    return load_iris(as_frame=True).data


def test_what_the_transformer_gives_is_searched():
    X = iris()
    m = MIMOSA(representation=PCA(2), random_state=0).fit(X)
    own = m.transformer_.transform(X)
    alone = MIMOSA(random_state=0).fit(own)
    assert m.hierarchy_.to_dict() == alone.hierarchy_.to_dict()
    assert (m.labels_ == alone.labels_).all()
    assert (m.predict(X[:20]) == alone.predict(own[:20])).all()
    assert m.outlier_score(X[:20]) == pytest.approx(alone.outlier_score(own[:20]))
    assert "petal" in str(m.explain())  # reasons are in the columns of X
    assert "petal" in m.why(X[:1]).iloc[0]
    assert len(m.cut(1).hierarchy_.paths) == 1


def test_it_is_cloned_and_its_parameters_are_searched():
    given = PCA(2)
    m = clone(MIMOSA(representation=given)).set_params(representation__n_components=3).fit(iris())
    assert m.embedding_.shape == (150, 3)
    assert not hasattr(given, "components_")


def test_it_cannot_be_saved(tmp_path):
    m = MIMOSA(representation=PCA(2)).fit(iris())
    with pytest.raises(
        ValueError, match="a MIMOSA with a transformer as representation cannot be saved: save that"
    ):
        m.save(tmp_path)


def test_a_model_that_had_a_transformer_once_can_be_saved(tmp_path):
    m = MIMOSA(representation=PCA(2)).fit(iris())
    m.set_params(representation="auto").fit(iris()).save(tmp_path)
    assert (MIMOSA.load(tmp_path).predict(iris()) == m.labels_).all()


def test_why_says_that_columns_of_text_are_not_compared():
    table = iris().assign(kind=["a", "b"] * 75)
    m = MIMOSA(representation=make_column_transformer((PCA(2), list(iris().columns)))).fit(table)
    with pytest.raises(
        ValueError, match="reasons compare columns of numbers, and the transformer was given others"
    ):
        m.why(table[:3])


class Broken(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("umap", "representation must be 'auto', 'linear', 'autoencoder' or 'graph', got 'umap'"),
        (None, "representation must be 'auto', 'linear', 'autoencoder' or 'graph', got None"),
        (PCA, r"representation must be a transformer, not its class: PCA\(\), not PCA"),
        (OneHotEncoder(), "the transformer gives a sparse matrix: let it give an array"),
        (Broken(), "the transformer must give a row of finite numbers for each row, it gave float64 of shape"),
    ],
)
def test_mistakes_are_one_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        MIMOSA(representation=given).fit(iris().to_numpy())


@pytest.mark.parametrize("told", [{"column_weights": [1, 2, 3, 4]}, {"feature_names": list("abcd")}])
def test_what_is_told_of_columns_is_refused_beside_a_transformer(told):
    with pytest.raises(
        ValueError, match=f"^{next(iter(told))} is of the columns of X, and not of those that the tr"
    ):
        MIMOSA(representation=PCA(2)).fit(iris().to_numpy(), **told)
