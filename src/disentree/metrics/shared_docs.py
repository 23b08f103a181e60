"""Descriptions of the parameters that scores share."""

from __future__ import annotations

from disentree.utils.docstrings import insert_shared

ENTRIES = {
    "codes": """
        V, Z : array-like of shape (n_rows, n_variables)
            True and learned codes of the same rows, NaN where a variable is not active.
        v_hierarchy, z_hierarchy : Hierarchy or None, default=None
            The hierarchies of V and Z: they say which variables are categorical and where each is active. None:
            all columns are continuous and always active.
        """,
    "learned": """
        Z : array-like of shape (n_rows, n_variables)
            Learned codes, NaN where a variable is not active.
        z_hierarchy : Hierarchy
            The hierarchy of Z.
        max_rows : int, default=1000
            Paths with more rows are measured on a random subset of this many.
        random_state : int, default=0
            Seed of the subset.
        """,
    "splits": """
        n_splits : int, default=5
            Random splits into 75 % training and 25 % test rows to average over.
        random_state : int, default=0
            Seed of the splits, and of the subset of rows.
        """,
    "held_out_seed": """
        random_state : int, default=0
            Seed of the held-out rows, and of the subset of rows.
        """,
    "n_jobs": """
        n_jobs : int, default=None
            Threads, as in joblib: None is one, -1 all. The score does not depend on it.
        """,
    "per_factor": """
        per_factor : bool, default=False
            Return `FactorScores` instead of the mean: the score of every true variable and the learned variables
            that explain it.
        """,
    "estimator": """
        estimator : {"fast", "reference"}, default="fast"
            The boosted trees of this package, or those of scikit-learn.
        """,
    "adjusted": """
        adjusted : bool, default=False
            Correct accuracies for guessing, ``(accuracy - majority) / (1 - majority)``. Without it, as in the
            paper, two independent binary variables score .5.
        """,
    "strict": """
        strict : bool, default=False
            Two variables that are constant on the same branch, though not everywhere, correspond (a bijection
            between two points). With `strict` they do not.
        """,
    "max_rows": """
        max_rows : int, default=None
            Score a random subset of this many rows; None scores all.
        """,
    "score": """
        float
            Between 0 and 1; 1 is best.
        """,
}

documented = insert_shared(ENTRIES)
