"""The tree of an AnnData, the table of single cells and of whatever else has rows, columns and notes on both.

anndata itself is not imported: who has an AnnData has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from disentree._version import __version__
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.estimator import MIMOSA
from disentree.mimosa.inputs import named


def annotate(adata: Any, model: Any = None, *, use_rep: str | None = None, key_added: str = "disentree") -> Any:
    """Find the tree of an AnnData and write down where each row is in it.

    Parameters
    ----------
    adata : anndata.AnnData
        It gets the path of every row, a category, as ``obs["disentree_path"]``; the path's probability as
        ``obs["disentree_probability"]``; codes, NaN where a variable is not active, as ``obsm["X_disentree"]``;
        and the tree as JSON, the names of the variables and what was used as ``uns["disentree"]``.
    model : MIMOSA or COFHAE, default=None
        What is used; it is fitted if it is not yet. None for ``MIMOSA()``.
    use_rep : str, default=None
        What the rows are: "X", or a name in ``adata.obsm``, such as "X_pca", where scanpy puts principal
        components. None for "X", whose own principal components are searched, without making it dense; those
        beyond chance, of counts on a scale on which they take fewer bits. Leaves have the names of variables
        (genes) only with "X". One that is backed by a file is read block by block.
    key_added : str, default="disentree"
        The first part of the names above.

    Returns
    -------
    MIMOSA or COFHAE
        The fitted model.

    Examples
    --------
    >>> from disentree.integrations import annotate
    >>> import anndata  # doctest: +SKIP
    >>> cells = anndata.read_h5ad("cells.h5ad")  # doctest: +SKIP
    >>> model = annotate(cells)  # doctest: +SKIP
    >>> cells.obs["disentree_path"].value_counts()  # doctest: +SKIP
    """
    import pandas as pd

    use_rep = "X" if use_rep is None else use_rep
    model = MIMOSA() if model is None else model
    is_mimosa = isinstance(model, MIMOSA)
    rows, names = _rows(adata, use_rep)
    if names is not None and not is_mimosa:
        rows, names = named(rows.toarray(), names), None
    try:
        check_is_fitted(model)
    except NotFittedError:
        model.fit(rows) if names is None else model.fit(rows, feature_names=names)
    hierarchy = model.hierarchy_
    paths = model.predict(rows) if hasattr(model, "predict") else model.predict_path(rows)
    names = pd.Index([path.name for path in hierarchy.paths], dtype=object)  # h5ad has no strings of pandas' own
    adata.obs[f"{key_added}_path"] = pd.Categorical.from_codes(paths, categories=names)
    if hasattr(model, "predict_proba"):
        adata.obs[f"{key_added}_probability"] = model.predict_proba(rows).max(axis=1)
    adata.obsm[f"X_{key_added}"] = np.asarray(model.transform(rows), dtype=np.float64)
    adata.uns[key_added] = {
        "hierarchy": hierarchy.to_json(),
        "variables": np.array([variable.name for variable in hierarchy.variables], dtype=str),
        "use_rep": use_rep,
        "model": type(model).__name__,
        "version": __version__,
    }
    return model


def _rows(adata: Any, use_rep: str) -> tuple[Any, list[str] | None]:
    """The rows, and the names of the variables if they are a sparse matrix. X is a data frame if it has few."""
    import pandas as pd

    if use_rep != "X":
        if use_rep not in adata.obsm:
            known = ", ".join(["X", *adata.obsm])
            raise ValueError(f"use_rep must be one of {known}, got {use_rep!r}")
        found = adata.obsm[use_rep]
        return (found if hasattr(found, "columns") else np.asarray(found)), None
    if adata.X is None:
        raise ValueError("adata has no X: name one of adata.obsm as use_rep")
    X, names = _in_memory(adata), list(map(str, adata.var_names))
    if X.shape[1] > COORDINATES.most:
        return sparse.csr_matrix(X), names
    X = X.toarray() if sparse.issparse(X) else X
    return pd.DataFrame(np.asarray(X, dtype=np.float64), columns=pd.Index(names)), None


def _in_memory(adata: Any) -> Any:
    """X; of a file, as a sparse matrix that is read block by block."""
    if not getattr(adata, "isbacked", False):
        return adata.X
    n, p = adata.shape
    step = max(1, 2**24 // p)
    return sparse.vstack([sparse.csr_matrix(adata.X[i : i + step]) for i in range(0, n, step)]).tocsr()
