"""Data sets of one's own, parts of data sets; covers `registered.py`, `registry.py` and `base.py`."""

import numpy as np
import pandas as pd
import pytest

from disentree import Hierarchy
from disentree.datasets import dataset_info, list_datasets, load_dataset, register_dataset
from disentree.runs import RunConfig
from disentree.runs.data import split_rows


def arc(n_samples, seed, radius=1.0):
    angle = np.random.default_rng(seed).uniform(0, 3, (n_samples, 1))
    return radius * np.hstack([np.cos(angle), np.sin(angle)]), angle, Hierarchy.flat(1)


def test_a_data_set_of_ones_own_is_like_any_other():
    register_dataset("arc", arc, description="part of a circle")
    ds = load_dataset("arc", 50, seed=3, radius=2.0)
    assert np.allclose(np.linalg.norm(ds.X, axis=1), 2)
    assert (ds.name, ds.seed, ds.options, ds.paths.tolist()) == ("arc", 3, {"radius": 2.0}, [0] * 50)
    assert dataset_info("arc").hierarchy == Hierarchy.flat(1)
    assert [info.description for info in list_datasets("own")] == ["part of a circle"]
    config = RunConfig.of("arc", n_samples=50)
    assert (config.kind, config.source) == ("dataset", "arc")
    register_dataset("arc", arc)  # the same again, as in a notebook


def test_mistakes_are_named():
    register_dataset("arc", arc)
    with pytest.raises(ValueError, match="there is a data set 'arc' already"):
        register_dataset("arc", lambda n, seed: None)
    with pytest.raises(ValueError, match="there is a data set 'spaceshapes' already"):
        register_dataset("spaceshapes", arc)
    with pytest.raises(ValueError, match="without blanks, commas, colons and slashes"):
        register_dataset("my arc", arc)
    with pytest.raises(TypeError, match="make must be a function"):
        register_dataset("number", 3)
    with pytest.raises(ValueError, match="arc has no option 'width'; it has radius"):
        load_dataset("arc", 10, width=2)
    with pytest.raises(ValueError, match="did you mean 'arc'"):
        load_dataset("arcs", 10)
    register_dataset("broken", lambda n, seed: np.zeros((n, 2)))
    with pytest.raises(ValueError, match="broken must give a Dataset, or X, codes and hierarchy; it gave ndarray"):
        load_dataset("broken", 10)
    with pytest.raises(ValueError, match="broken must give a Dataset"):
        dataset_info("broken")
    register_dataset("short", lambda n, seed: (np.zeros((n, 2)), np.zeros((n - 1, 1)), Hierarchy.flat(1)))
    with pytest.raises(ValueError, match="short gave 10 rows of X and 9 of codes"):
        load_dataset("short", 10)


def test_parts_of_a_data_set():
    ds = load_dataset("chopsticks-depth2-either", n_samples=100)
    part = ds[10:20]
    assert (ds.X[10:20] == part.X).all()
    assert np.array_equal(part.codes, ds.codes[10:20], equal_nan=True)
    assert (part.paths == ds.paths[10:20]).all()
    assert len(ds[ds.paths == 0]) == (ds.paths == 0).sum()
    assert (ds[-1] == ds.X[-1]).all()
    assert (part.generate(part.codes) == part.X).all()
    table = load_dataset("penguins")[[3, 5]]
    assert isinstance(table.X, pd.DataFrame)
    assert len(table) == len(table.paths) == 2


def test_the_split_is_that_of_a_run():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=100)
    train, test = ds.split(seed=7)
    rows, held_out = split_rows(RunConfig.of("chopsticks-depth2-slope", n_samples=100, seed=7), 100)
    assert (ds.X[rows] == train.X).all()
    assert (ds.X[held_out] == test.X).all()
    assert len(ds.split(held_out=0.25)[1]) == 25
