"""Data sets for the figures of models."""

import pytest

from disentree.datasets import load_dataset


@pytest.fixture(scope="module")
def ships():
    return load_dataset("spaceshapes", n_samples=400)


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-either", n_samples=600)
