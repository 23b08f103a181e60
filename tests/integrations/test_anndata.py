from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from disentree import MIMOSA, Hierarchy, annotate
from disentree.datasets import load_dataset


@pytest.fixture(scope="module")
def blobs():
    return load_dataset("blobs", n_samples=300, seed=0).X


def fake(X, obsm=()):
    """What is used of an AnnData."""
    n, p = X.shape
    names = pd.Index([f"g{j}" for j in range(p)])
    return SimpleNamespace(X=X, obs=pd.DataFrame(index=range(n)), obsm=dict(obsm), uns={}, var_names=names)


def test_every_row_gets_its_path(blobs):
    cells = fake(blobs)
    model = annotate(cells, MIMOSA(random_state=0))
    path = cells.obs["disentree_path"]
    assert list(path.cat.categories) == [p.name for p in model.hierarchy_.paths]
    np.testing.assert_array_equal(path.cat.codes, model.labels_)
    assert cells.obs["disentree_probability"].between(0, 1).all()
    assert cells.obsm["X_disentree"].shape == (len(blobs), model.hierarchy_.n_variables)
    about = cells.uns["disentree"]
    assert Hierarchy.from_json(about["hierarchy"]) == model.hierarchy_
    assert list(about["variables"]) == [v.name for v in model.hierarchy_.variables]
    assert (about["use_rep"], about["model"]) == ("X", "MIMOSA")


def test_a_fitted_model_is_applied_as_it_is(blobs):
    model = MIMOSA(random_state=0).fit(blobs)
    cells = fake(np.zeros((50, 3)), {"X_pca": blobs[:50]})
    assert annotate(cells, model, use_rep="X_pca", key_added="tree") is model
    np.testing.assert_array_equal(cells.obs["tree_path"].cat.codes, model.predict(blobs[:50]))
    assert cells.uns["tree"]["use_rep"] == "X_pca"


def test_a_sparse_matrix_is_the_same(blobs):
    dense, sparse = fake(blobs), fake(csr_matrix(blobs))
    annotate(dense)
    annotate(sparse)
    assert dense.obs["disentree_path"].equals(sparse.obs["disentree_path"])


def counts(n=600, p=150, seed=0):
    """Cells of two kinds, each with twenty genes of its own."""
    rng = np.random.default_rng(seed)
    kind, rates = rng.integers(2, size=n), np.full((2, p), 0.3)
    rates[0, :20], rates[1, 20:40] = 4.0, 4.0
    return csr_matrix(rng.poisson(rates[kind])), kind


def test_leaves_of_wide_sparse_counts_have_names_of_genes():
    X, kind = counts()
    cells = fake(X, {"X_pca": np.zeros((600, 2))})
    model = annotate(cells, MIMOSA(n_jobs=1))
    assert cells.uns["disentree"]["use_rep"] == "X"
    pairs = {(int(a), int(b)) for a, b in zip(model.labels_, kind, strict=True)}
    assert len(pairs) == len(model.hierarchy_.paths) == 2
    assert all("g" in name for name in cells.obs["disentree_path"].cat.categories)
    assert model.names_ == [f"g{j}" for j in range(150)]


@pytest.mark.filterwarnings("default")  # anndata's own
def test_a_file_is_read_block_by_block(tmp_path):
    anndata = pytest.importorskip("anndata", reason="needs anndata, which disentree does not depend on")
    X, _ = counts(n=300)
    cells = anndata.AnnData(X.astype(np.float32), var=pd.DataFrame(index=[f"g{j}" for j in range(150)]))
    with anndata.settings.override(allow_write_nullable_strings=True):
        cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    annotate(backed, model := annotate(cells, MIMOSA(n_jobs=1)))
    assert backed.obs["disentree_path"].tolist() == cells.obs["disentree_path"].tolist()
    np.testing.assert_array_equal(backed.obs["disentree_path"].cat.codes, model.labels_)


def test_representations_that_are_not_there(blobs):
    with pytest.raises(ValueError, match="use_rep must be one of X, X_pca, got 'X_umap'"):
        annotate(fake(blobs, {"X_pca": blobs}), use_rep="X_umap")


@pytest.mark.filterwarnings("default")  # anndata's own
def test_a_real_one_can_be_written(blobs, tmp_path):
    anndata = pytest.importorskip("anndata", reason="needs anndata, which disentree does not depend on")
    cells = anndata.AnnData(blobs, var=pd.DataFrame(index=[f"g{j}" for j in range(blobs.shape[1])]))
    model = annotate(cells)
    assert cells.obs["disentree_path"].cat.categories.dtype == object
    with anndata.settings.override(allow_write_nullable_strings=True):  # for its own index
        cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["disentree_path"].tolist() == [model.hierarchy_.paths[p].name for p in model.labels_]
    assert Hierarchy.from_json(again.uns["disentree"]["hierarchy"]) == model.hierarchy_
    np.testing.assert_array_equal(again.obsm["X_disentree"], model.transform(cells.to_df()))
