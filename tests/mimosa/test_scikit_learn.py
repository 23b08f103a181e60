"""scikit-learn's own checks of the estimator contract; covers `estimator.py`."""

from contract import checks_of, keeps_any_parameter
from disentree import MIMOSA

# the check shuffles rows, and the direction of a variable depends on their order
SIGNS = "a variable may point the other way"
NO_CLASSIFIER = "the check asks what has predict_proba for the tags of a classifier"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": SIGNS,
    "check_sample_weight_equivalence_on_sparse_data": SIGNS,
    "check_estimator_sparse_matrix": NO_CLASSIFIER,
    "check_estimator_sparse_array": NO_CLASSIFIER,
}


@checks_of(MIMOSA(), EXPECTED)
def test_contract(estimator, check):
    check(estimator)


def test_any_parameter_is_only_stored():
    keeps_any_parameter("MIMOSA()", "MIMOSA.paper()")
