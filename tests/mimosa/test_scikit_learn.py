"""scikit-learn's own checks of the estimator contract; covers `estimator.py`."""

from contract import checks_of, keeps_any_parameter
from disentree import MIMOSA


@checks_of(MIMOSA())
def test_contract(estimator, check):
    check(estimator)


def test_any_parameter_is_only_stored():
    keeps_any_parameter("MIMOSA()", "MIMOSA.paper()")
