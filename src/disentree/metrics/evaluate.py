"""All scores of a representation at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from disentree._version import __version__
from disentree.hierarchy import Hierarchy
from disentree.metrics.flat.dci import importance_scores
from disentree.metrics.flat.factor_vae import fixed_factor_accuracy
from disentree.metrics.flat.infomec import information_scores
from disentree.metrics.flat.information import Relations
from disentree.metrics.flat.mcc import matched_correlation
from disentree.metrics.flat.mig import information_gap
from disentree.metrics.flat.modularity import explicitness, modularity
from disentree.metrics.flat.sap import predictability_gap
from disentree.metrics.h_error import h_error
from disentree.metrics.inputs import pair_up
from disentree.metrics.pairs import Estimator, PairScorer, estimator_name
from disentree.metrics.placement import placement_error
from disentree.metrics.purity import coverage_score, purity_score
from disentree.metrics.r4 import conditional_scores, marginal_scores
from disentree.metrics.registered import METRICS, check_metrics, find_score
from disentree.metrics.shared_docs import documented


@documented
def evaluate(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    metrics: Iterable[str] = METRICS, n_splits: int = 5, random_state: int = 0, n_jobs: int | None = None,
    estimator: Estimator = "fast", adjusted: bool = False, strict: bool = False, max_rows: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Compute several scores of a representation at once.

    Pairs of variables that R4 and R4c both need are scored once. Purity and coverage compare the paths that
    the two codes are on.

    Parameters
    ----------
    {codes}
    metrics : iterable of str, default=METRICS
        Names of scores, of your own too: see `register_metric`.
    n_splits : int, default=5
        Random splits into 75 % training and 25 % test rows that R4 and R4c average over.
    random_state : int, default=0
        Seed of all scores.
    {n_jobs}
    estimator : {"fast", "reference"}, default="fast"
        The boosted trees behind R4, R4c and DCI: those of this package, or those of scikit-learn.
    adjusted : bool, default=False
        Correct accuracies in R4 and R4c for guessing.
    strict : bool, default=False
        In R4c, do not let variables correspond that are constant on the same branch.
    {max_rows}

    Returns
    -------
    dict
        Ready for JSON: ``scores`` with one number for each metric (``dci``: disentanglement, and
        ``dci_completeness`` and ``dci_informativeness`` as well; ``infomec``: ``info_modularity``,
        ``info_compactness`` and ``info_explicitness``), ``factors`` with the R4c score of every true
        variable and the learned variables that explain it, ``r4_factors`` with the same for R4, ``estimator``
        with the name of the model behind R4, R4c and DCI, and the settings that the numbers depend on.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> V = h.sample(500)
    >>> evaluate(V, V, h, h, metrics=["r4c", "h_error"])["scores"]["h_error"]
    0
    """
    chosen = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not chosen:
        raise ValueError("metrics must name at least one metric")
    check_metrics(chosen)
    scorer = PairScorer(
        estimator=estimator, n_splits=n_splits, random_state=random_state, adjusted=adjusted, strict=strict
    )
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    V, Z, v_hierarchy, z_hierarchy = np.asarray(V), np.asarray(Z), pairing.v_hierarchy, pairing.z_hierarchy
    trees, relations = (v_hierarchy, z_hierarchy), Relations(pairing, random_state, n_jobs)
    factors: dict[str, list[dict[str, Any]]] = {"r4c": [], "r4": []}

    def right_representation(name: str) -> float:
        scores_of = conditional_scores if name == "r4c" else marginal_scores
        result = scores_of(pairing, scorer, n_jobs)
        factors[name] = [f.to_dict() for f in result.factors]
        return result.mean

    compute: dict[str, Callable[[], Any]] = {
        "r4c": lambda: right_representation("r4c"),
        "r4": lambda: right_representation("r4"),
        "h_error": lambda: h_error(*trees),
        "placement_error": lambda: placement_error(*trees),
        "purity": lambda: purity_score(v_hierarchy.path_of(V), z_hierarchy.path_of(Z)),
        "coverage": lambda: coverage_score(z_hierarchy.path_of(Z)),
        "mig": lambda: information_gap(pairing),
        "sap": lambda: predictability_gap(pairing, random_state, n_jobs),
        "factor_vae": lambda: fixed_factor_accuracy(pairing, random_state=random_state),
        "dci": lambda: importance_scores(pairing, estimator, random_state, n_jobs),
        "infomec": lambda: information_scores(relations),
        "modularity": lambda: modularity(relations),
        "explicitness": lambda: explicitness(relations),
        "mcc": lambda: matched_correlation(pairing),
    }
    scores: dict[str, float | int] = {}
    for name in chosen:
        if (own := find_score(name)) is not None:
            scores[name] = float(own(V, Z, *trees))
            continue
        value = compute[name]()
        if name == "dci":
            scores["dci"] = value.disentanglement
            scores["dci_completeness"] = value.completeness
            scores["dci_informativeness"] = value.informativeness
        elif name == "infomec":
            scores |= {f"info_{part}": score for part, score in value._asdict().items()}
        else:
            scores[name] = value
    return {
        "scores": scores,
        "factors": factors["r4c"],
        "r4_factors": factors["r4"],
        "estimator": estimator_name(estimator),
        "settings": {
            "n_splits": int(n_splits),
            "random_state": int(random_state),
            "adjusted": adjusted,
            "strict": strict,
            "n_rows": pairing.n_rows,
        },
        "disentree": __version__,
    }
