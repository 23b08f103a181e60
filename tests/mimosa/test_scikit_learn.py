"""scikit-learn's own checks of the estimator contract; covers `estimator.py`."""

from contract import checks_of, keeps_any_parameter
from disentree import MIMOSA

# the check shuffles rows, and the direction of a variable depends on their order
SIGNS = {"check_sample_weight_equivalence_on_dense_data": "a variable may point the other way"}


@checks_of(MIMOSA(), SIGNS)
def test_contract(estimator, check):
    check(estimator)


def test_any_parameter_is_only_stored():
    keeps_any_parameter("MIMOSA()", "MIMOSA.paper()")
