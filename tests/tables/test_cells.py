"""Numbers as people write them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.tables.cells import decimal_votes, read_cells


def read(*cells, **options):
    return read_cells(pd.Series(list(cells), dtype=object), **options)


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["1", "2.5", "-3e2"], [1, 2.5, -300], ""),
        (["-", "n/a", "NA", ".", "?", "", "7"], [np.nan] * 6 + [7], "'-', 'n/a', 'NA', ... read as empty"),
        (["$1,001.50", "$3"], [1001.5, 3], "'$' and thousands separators left out"),
        (["-$4", "$-5", "6 $", "7"], [-4, -5, 6, 7], "'$' left out"),
        (["5%", "12.5 %"], [5, 12.5], "in percent"),
        (["1.234,5", "1.234", "7"], [1234.5, 1234, 7], "thousands separators left out, decimal commas"),
        (["1,234", "12"], [1234, 12], "thousands separators left out"),
        (["1,234", "0,5"], [1.234, 0.5], "decimal commas"),
        (["1,5", "2.5"], [1.5, 2.5], "decimal commas and decimal points"),
        (["1,5", "2.5", "1,234"], [1.5, 2.5, 1.234], "decimal commas and decimal points"),
        (["1.234", "0.5"], [1.234, 0.5], ""),
        (["1,234,567", "1.5"], [1234567, 1.5], "thousands separators left out"),
        (["1 234,5", "1\u00a0000"], [1234.5, 1000], "decimal commas"),
        (["1'234.5", "2"], [1234.5, 2], ""),
        (["(12)", "3"], [-12, 3], "(12) read as -12"),
        (["\u22124", "+5"], [-4, 5], ""),
        (["0", "00", ".5", ",5"], [0, 0, 0.5, 0.5], "decimal commas and decimal points"),
        (["1", "inf"], [1, np.nan], "'inf' read as empty"),
    ],
)
def test_numbers_as_people_write_them(cells, values, note):
    found = read(*cells)
    np.testing.assert_array_equal(found.values, values)
    assert found.note == note


@pytest.mark.parametrize(
    "cells",
    [
        ["12 cm", "13 cm"],  # units are not guessed
        ["1", "high"],
        ["-", "n/a"],  # no number at all
        [],
        ["007", "123"],  # codes
        ["1.2.3", "1.2"],  # versions
        ["12.10.2020", "1"],
        ["12-3", "4"],
        ["$5", "€5"],  # several units
        ["5%", "0.05"],
        ["1,5", "2.5", "1,234", "1,234.5"],  # 1.234 or 1234?
        ["1,234", "1.234"],
        ["1 23", "4"],
        ["--5", "4"],
        ["(-5)", "4"],
        ["1,,5", "4"],
        ["5%$", "4"],
        ["+", "-"],
    ],
)
def test_columns_that_are_not_numbers_beyond_doubt(cells):
    assert read(*cells) is None


def test_the_file_may_tell_what_the_cells_do_not():
    assert read("1,234", "5,678", decimal=",").values.tolist() == [1.234, 5.678]
    assert read("1.234", "5.678", decimal=",").values.tolist() == [1234, 5678]
    assert read("1,234", "5.5", decimal=",").values.tolist() == [1234, 5.5]  # the cells know better


def test_other_cells_are_empty_if_numbers_are_asked_for():
    found = read("1", "see note", "see note", "2", strict=False)
    np.testing.assert_array_equal(found.values, [1, np.nan, np.nan, 2])
    assert found.note == "2 cells that are no numbers ('see note') read as empty"


def test_empty_cells_of_any_type():
    column = pd.Series(["1", None, "2", np.nan, pd.NA], dtype=object)
    np.testing.assert_array_equal(read_cells(column).values, [1, np.nan, 2, np.nan, np.nan])
    np.testing.assert_array_equal(read_cells(column.astype("str")).values, [1, np.nan, 2, np.nan, np.nan])
    assert read_cells(pd.Series(["a"])) is None


def test_votes():
    assert decimal_votes(["1,5", "2,5", "1,234", "3", "x", "1.234,5"]) == {",": 3, "?,": 1}
    assert decimal_votes(["1.5", "1.234"]) == {".": 1, "?.": 1}


@given(st.lists(st.floats(-1e12, 1e12), min_size=1), st.sampled_from(["{!r}", "{:,.4f}", "{:.3e}", "$ {:,.2f}"]))
def test_what_is_written_is_read(values, form):
    texts = [form.format(v) for v in values]
    expected = [float(text.replace(",", "").replace("$ ", "")) for text in texts]
    found = read(*texts)
    assert found is not None
    np.testing.assert_array_equal(found.values, expected)


@given(st.lists(st.floats(-1e12, 1e12).map(lambda v: round(v, 2)), min_size=1))
def test_decimal_commas_are_decimal_points(values):
    swapped = str.maketrans(",.", ".,")
    points = read(*[f"{v:,.2f}" for v in values])
    commas = read(*[f"{v:,.2f}".translate(swapped) for v in values])
    np.testing.assert_array_equal(points.values, commas.values)


@given(st.lists(st.text(alphabet="0123456789.,-+()%$ e'x", max_size=8)))
def test_any_text_is_read_or_refused(cells):
    found = read(*cells)
    assert found is None or len(found.values) == len(cells)
