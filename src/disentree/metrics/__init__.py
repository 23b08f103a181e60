"""Scores for hierarchies, assignments and representations.

Every score of a representation takes ``(V, Z, v_hierarchy, z_hierarchy)``: true codes, learned codes and the
hierarchy of each. Without hierarchies all columns are continuous and always active.
"""

from disentree.metrics.classes import dendrogram_purity, matching_accuracy
from disentree.metrics.dependence import PathDependence, dependence_score, dependence_scores
from disentree.metrics.evaluate import evaluate
from disentree.metrics.factor_scores import FactorScore, FactorScores, Match
from disentree.metrics.flat.dci import DCI, dci_score, dci_scores
from disentree.metrics.flat.factor_vae import factor_vae_score
from disentree.metrics.flat.infomec import InfoMEC, infomec_scores
from disentree.metrics.flat.mcc import mcc_score
from disentree.metrics.flat.mig import mig_score
from disentree.metrics.flat.modularity import explicitness_score, modularity_score
from disentree.metrics.flat.sap import sap_score
from disentree.metrics.h_error import h_error
from disentree.metrics.placement import placement_error
from disentree.metrics.purity import coverage_score, purity_score
from disentree.metrics.r4 import r4_score, r4c_score
from disentree.metrics.registered import METRICS, register_metric

__all__ = [
    "DCI",
    "METRICS",
    "FactorScore",
    "FactorScores",
    "InfoMEC",
    "Match",
    "PathDependence",
    "coverage_score",
    "dci_score",
    "dci_scores",
    "dendrogram_purity",
    "dependence_score",
    "dependence_scores",
    "evaluate",
    "explicitness_score",
    "factor_vae_score",
    "h_error",
    "infomec_scores",
    "matching_accuracy",
    "mcc_score",
    "mig_score",
    "modularity_score",
    "placement_error",
    "purity_score",
    "r4_score",
    "r4c_score",
    "register_metric",
    "sap_score",
]
