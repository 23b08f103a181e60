"""Scores for hierarchies, assignments and representations.

Every score of a representation takes ``(V, Z, v_hierarchy, z_hierarchy)``: true codes, learned codes and the
hierarchy of each.
"""

from disentree.metrics.classes import dendrogram_purity, matching_accuracy
from disentree.metrics.dci import DCI, dci_score, dci_scores
from disentree.metrics.dependence import PathDependence, dependence_score, dependence_scores
from disentree.metrics.evaluate import METRICS, evaluate
from disentree.metrics.factor_scores import FactorScore, FactorScores, Match
from disentree.metrics.factor_vae import factor_vae_score
from disentree.metrics.h_error import h_error
from disentree.metrics.mig import mig_score
from disentree.metrics.placement import placement_error
from disentree.metrics.purity import coverage_score, purity_score
from disentree.metrics.r4 import r4_score, r4c_score
from disentree.metrics.sap import sap_score

__all__ = [
    "DCI",
    "METRICS",
    "FactorScore",
    "FactorScores",
    "Match",
    "PathDependence",
    "coverage_score",
    "dci_score",
    "dci_scores",
    "dendrogram_purity",
    "dependence_score",
    "dependence_scores",
    "evaluate",
    "factor_vae_score",
    "h_error",
    "matching_accuracy",
    "mig_score",
    "placement_error",
    "purity_score",
    "r4_score",
    "r4c_score",
    "sap_score",
]
