"""Run the whole suite with array shapes and types checked.

The hook has to be in place before `disentree` is first imported, which pytest guarantees for the topmost
conftest. It wraps every function of the package; numba kernels are marked `@typing.no_type_check`, below
`@njit`, and are left alone. A fit makes hundreds of thousands of small calls, and checking each of them would take
three times as long as the fit: of every function the first calls in each test are checked, and later ones now and
then.
"""

import functools
import logging
import os
import shutil
import tempfile
from pathlib import Path
from types import FunctionType
from unittest.mock import patch

import jaxtyping
import matplotlib
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# An int is welcome where a float is asked for, as everywhere in Python (PEP 484's numeric tower).
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

FIRST, EVERY = 30, 50  # calls of a function in a test that are checked; of those after them, one in so many
_counted: list[list[int]] = []  # calls of each function that has been called in this test


def sampled(jaxtyped):
    """jaxtyping's decorator, which checks every call, as one that checks some."""

    def decorate(fn=None, *, typechecker=None):
        if isinstance(fn, str):  # "context": names of axes mean the same within a block
            return jaxtyped(fn)
        if fn is None:
            return functools.partial(decorate, typechecker=typechecker)
        checked = jaxtyped(fn, typechecker=typechecker)
        if checked is fn or not isinstance(fn, FunctionType):
            return checked
        calls = [0]

        @functools.wraps(fn)
        def call(*args, **kwargs):
            if not calls[0]:
                _counted.append(calls)
            calls[0] += 1
            some = calls[0] <= FIRST or calls[0] % EVERY == 0
            return checked(*args, **kwargs) if some else fn(*args, **kwargs)

        return call

    return decorate


jaxtyping.jaxtyped = jaxtyping._decorator.jaxtyped = sampled(jaxtyping.jaxtyped)
install_import_hook("disentree", CHECKER)
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _forget_registered():
    """What a test or an example registers is not known to other tests of the same process."""
    from disentree.datasets import registered as datasets
    from disentree.metrics import registered as metrics
    from disentree.runs import models

    with patch.dict(datasets.OWN), patch.dict(metrics.OWN), patch.dict(models.MODELS):
        yield


# No deadline, and inputs may be slow to make: time says more about the machine's other work than about the code.
settings.register_profile(
    "disentree", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("disentree")


@pytest.fixture(autouse=True)
def _first_calls_are_checked():
    for calls in _counted:
        calls[0] = 0
    _counted.clear()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def unprivileged():
    """A folder of our own, as a user to whom permissions apply: root may read and write everything."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    root = os.name == "posix" and os.geteuid() == 0
    nobody = 65534
    if root:
        os.chown(folder, nobody, nobody)
        os.seteuid(nobody)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _no_handlers_of_other_tests():
    """The command line logs to the stderr that it finds; a later test has another one."""
    yield
    logger = logging.getLogger("disentree")
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.NOTSET)
