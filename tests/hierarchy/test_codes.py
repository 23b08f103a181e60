"""Codes, their paths and what they must be."""

import gc
import time
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.datasets import dataset_info
from strategies import coded

from .conftest import categorical, continuous, hierarchy

NAN = np.nan


def test_activity_and_paths_of_rows(shapes):
    codes = [
        [0.1, 0.2, 0, 0.3, NAN, NAN, NAN],
        [0.1, 0.2, 1, NAN, NAN, NAN, NAN],
        [0.1, 0.2, 2, NAN, 0.4, 0, NAN],
        [0.1, 0.2, 2, NAN, 0.4, 1, 0.5],
    ]
    assert shapes.path_of(codes).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(shapes.active(codes), ~np.isnan(codes))
    np.testing.assert_array_equal(shapes.validate(codes), codes)


def test_a_row_without_a_choice_is_not_assigned(shapes, two_choices):
    assert shapes.path_of([[0.1, 0.2, NAN, NAN, NAN, NAN, NAN]]).tolist() == [-1]
    assert shapes.path_of([[0.1, 0.2, 2, NAN, 0.4, NAN, NAN]]).tolist() == [-1]
    # b alone does not say where a row belongs
    assert two_choices.path_of([[NAN, NAN, 0.5, 2, 0.1, 0.2]]).tolist() == [-1]


def test_description_length_of_the_papers_example():
    """7/8 of the data is 1-D, 1/8 is 8-D: 61 bits for each instance against 256 in a flat code."""
    h = hierarchy(categorical("c", low=continuous("z"), high=continuous(*"abcdefgh")))
    codes = np.full((8, 10), NAN)
    codes[:7, :2] = [0, 0.5]
    codes[7, 0], codes[7, 2:] = 1, 0.5
    assert h.description_length(codes) == 61.0
    assert Hierarchy.flat(8).description_length(np.zeros((8, 8))) == 256.0
    assert h.description_length(codes, float_bits=16) == 31.0


def test_description_length_counts_nested_choices(two_choices):
    codes = [[0, 0.5, 0.1, 2, 0.2, 0.3], [1, NAN, 0.1, 0, NAN, NAN]]
    assert two_choices.description_length(codes) == pytest.approx(1 + np.log2(3) + 32 * (4 + 1) / 2)
    with pytest.raises(ValueError, match="at least one row"):
        two_choices.description_length(np.empty((0, 6)))


@given(coded())
def test_sampled_codes_validate(made):
    h, codes = made
    np.testing.assert_array_equal(h.validate(codes), codes)
    np.testing.assert_array_equal(h.active(codes), ~np.isnan(codes))


@given(coded())
def test_path_of_is_a_partition_and_agrees_with_the_definition(made):
    h, codes = made
    found = h.path_of(codes)
    for row, path in zip(codes, found, strict=True):
        fits = [p.index for p in h.paths if all(row[c] == k for c, k in p.choices)]
        assert fits == [path]
        assert tuple(np.flatnonzero(~np.isnan(row))) == h.paths[path].active


@given(coded(min_rows=1), st.data())
def test_a_missing_choice_leaves_a_row_unassigned(made, data):
    h, codes = made
    row = data.draw(st.integers(0, len(codes) - 1))
    on = [c for c in np.flatnonzero(h.is_categorical) if not np.isnan(codes[row, c])]
    before = h.path_of(codes)
    if not on:
        return
    codes[row, data.draw(st.sampled_from(on))] = NAN
    after = h.path_of(codes)
    assert after[row] == -1
    np.testing.assert_array_equal(np.delete(after, row), np.delete(before, row))


def test_millions_of_rows_take_array_time():
    h = dataset_info("chopsticks-depth3-either").hierarchy
    codes = h.sample(1_000_000)
    start = time.process_time()
    h.validate(codes)
    paths = h.path_of(codes)
    assert time.process_time() - start < 10  # about one second; per-row Python would take minutes
    assert paths.min() == 0
    assert paths.max() == 13


def test_path_of_keeps_no_codes_alive():
    hierarchy = Hierarchy.flat(1, (2, 2))
    codes = hierarchy.sample(100)
    array = weakref.ref(codes)
    gc.collect()
    gc.disable()
    try:
        hierarchy.path_of(codes)
        del codes
        assert array() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0.1, 0.2, 0, 0.3, 0.4, NAN, NAN]], "row 0: variable 'angle' is inactive and must be NaN, got 0.4"),
        ([[0.1, NAN, 1, NAN, NAN, NAN, NAN]], "row 0: variable 'y' is active and must have a value, got NaN"),
        (
            [[0.1, 0.2, 3, NAN, NAN, NAN, NAN]],
            "row 0: categorical 'shape' must be an option index 0..2, got 3",
        ),
        ([[0.1, 0.2, 0.5, NAN, NAN, NAN, NAN]], "categorical 'shape' must be an option index 0..2, got 0.5"),
        ([[0.1, 0.2, -1, NAN, NAN, NAN, NAN]], "categorical 'shape' must be an option index 0..2, got -1"),
        ([[np.inf, 0.2, 1, NAN, NAN, NAN, NAN]], "row 0: variable 'x' must be finite, got inf"),
        ([[0.1, 0.2, 1, NAN, NAN, NAN, NAN], [0.1, 0.2, NAN, NAN, NAN, NAN, NAN]], "row 1: variable 'shape'"),
        ([[0.1, 0.2]], r"codes must have shape \(n_rows, 7\).*got \(1, 2\)"),
        ([0.1] * 7, r"codes must have shape \(n_rows, 7\).*got \(7,\)"),
        ([["a"] * 7], "codes must be a numeric array"),
        ([[0.1] * 7, [0.1]], "codes must be a numeric array"),
    ],
)
def test_validate_names_the_row_and_the_variable(shapes, codes, message):
    with pytest.raises(ValueError, match=message):
        shapes.validate(codes)


def test_validate_names_the_first_bad_row(shapes):
    codes = shapes.sample(100)
    codes[70, 0], codes[30, 2] = NAN, 7
    with pytest.raises(ValueError, match="row 30: categorical 'shape'"):
        shapes.validate(codes)


def test_path_of_refuses_options_that_do_not_exist(shapes):
    with pytest.raises(ValueError, match=r"row 1: categorical 'shape' must be an option index 0..2, got 3"):
        shapes.path_of([[0, 0, 1, NAN, NAN, NAN, NAN], [0, 0, 3, NAN, NAN, NAN, NAN]])
