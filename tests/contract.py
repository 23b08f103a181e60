"""scikit-learn's own checks of the estimator contract, where annotations are checked at run time."""

import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

# It hands -1 and 'helloworld' to every parameter, which the type checks of this suite refuse. Users have no such
# checks: `keeps_any_parameter` runs it as they would.
WITHOUT_TYPE_CHECKS = "check_do_not_raise_errors_in_init_or_set_params"
# Arrays of other libraries, which no estimator here claims to take: the check would only skip itself.
NOT_CLAIMED = "check_array_api_input"


def checks_of(estimator, fails=None):
    """A mark that parametrises a test over all checks but those two; `fails` has reasons of those that fail."""
    fails = fails or {}
    found = [
        pytest.param(
            each,
            check,
            id=name_of(check),
            marks=[pytest.mark.xfail(reason=fails[name_of(check)])] if name_of(check) in fails else [],
        )
        for each, check in estimator_checks_generator(estimator)
        if name_of(check) not in (WITHOUT_TYPE_CHECKS, NOT_CLAIMED)
    ]
    return pytest.mark.parametrize(("estimator", "check"), found)


def name_of(check):
    return check.func.__name__


def keeps_any_parameter(*expressions):
    """Run that check on estimators, given as Python, in a process without type checks."""
    lines = [
        f"from sklearn.utils.estimator_checks import {WITHOUT_TYPE_CHECKS} as check",
        "from disentree import *",
    ]
    lines += [f"check(type({it}).__name__, {it})" for it in expressions]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
