"""Dates that are written as text."""

import warnings

import numpy as np
import pandas as pd
import pytest

from disentree.tables import Codec
from disentree.tables.dates import as_days, date_format_of, date_note
from disentree.tables.kinds import infer_schema

DAYS = pd.Series(pd.date_range("2020-01-01", periods=400, freq="D"))


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d %H:%M", "%d-%m-%Y", "%Y-%m-%dT%H:%M:%S"]
)
def test_the_form_is_told_by_all_texts_in_any_order(form):
    text = DAYS.dt.strftime(form)
    for seed in range(3):
        shuffled = text.sample(frac=1, random_state=seed)
        found = date_format_of(shuffled)
        days = as_days(shuffled, found)
        assert days == pytest.approx(np.asarray(DAYS.astype("int64"))[shuffled.index] / (86_400 * 10**9)), found


def test_what_cannot_be_told_is_month_first_and_with_points_day_first():
    both = pd.Series(["01/02/2020", "03/04/2020"])
    assert date_format_of(both) == "%m/%d/%Y"
    assert date_format_of(both.str.replace("/", ".")) == "%d.%m.%Y"
    assert date_note("%d/%m/%Y") == "text read as dates, day first"
    assert date_note("%m/%d/%Y") == "text read as dates, month before day"
    assert date_note("") == "text read as dates"


def test_new_rows_are_read_as_the_old_ones_without_a_warning():
    text = DAYS.dt.strftime("%d/%m/%Y").sample(frac=1, random_state=0)
    frame = pd.DataFrame({"day": text, "x": np.arange(400.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codec = Codec.fit(frame)
        column = codec.schema.columns[0]
        assert (column.kind, column.date_format) == ("date", "%d/%m/%Y")
        assert column.note == "text read as dates, day first"
        new = pd.DataFrame({"day": ["07/07/2020", "09/08/2020", None], "x": [1.0, 2.0, 3.0]})
        cells = codec.read(new)
    days = cells.numbers[:, [c.name for c in codec.schema.numeric].index("day")]
    expected = [pd.Timestamp(day).value / (86_400 * 10**9) for day in ("2020-07-07", "2020-08-09")]
    assert days[:2] == pytest.approx(expected)
    assert np.isnan(days[2])
    with pytest.raises(ValueError, match="column 'day' must hold dates like 24/09/2022, as it did before"):
        codec.read(pd.DataFrame({"day": ["2020-07-07"] * 3, "x": [1.0, 2.0, 3.0]}))


def test_few_texts_that_are_no_dates_are_empty_and_many_are_categories():
    text = DAYS.dt.strftime("%Y-%m-%d").copy()
    text[:10] = "soon-1-2"
    frame = pd.DataFrame({"day": text, "x": np.arange(400.0)})
    codec = Codec.fit(frame)
    assert codec.schema.columns[0].kind == "date"
    assert codec.schema.columns[0].n_empty == 10
    assert codec.read(frame).empty.sum() == 10
    text[:200] = "soon-1-2"
    assert infer_schema(pd.DataFrame({"day": text})).columns[0].kind != "date"


def test_several_forms_are_read_one_by_one():
    text = pd.concat([DAYS.dt.strftime("%Y-%m-%d")[:200], DAYS.dt.strftime("%d %B %Y")[200:]])
    assert date_format_of(text) == ""
    assert as_days(text) == pytest.approx(as_days(DAYS))
