"""Dates that are written as text: in which form, and as days."""

from __future__ import annotations

import warnings
from datetime import datetime
from typing import Any

import numpy as np
from jaxtyping import Float

DAY = 86_400_000_000_000  # nanoseconds
DATE_SHARE = 0.95  # of texts that must read as dates, for all to be
GUESSED_FROM = 50  # texts, at which all forms of a column are looked for
EXAMPLE_DATE = datetime(2022, 9, 24)  # to show a form with


def looks_like_dates(text: Any) -> bool:
    """Whether nearly all of these texts have digits with a sign between them, as dates and times do."""
    return bool(text.str.contains(r"\d[-/.:]\d").mean() >= DATE_SHARE)


def date_format_of(values: Any) -> str:
    """The form in which most texts of a column are dates, as "%d/%m/%Y"; "" if they are no text or in no one form.

    Whether the day or the month comes first is told by all of the texts. If both would do, the month does, as in
    pandas, but for dates with points, which are written with the day first.
    """
    import pandas as pd
    from pandas.api import types
    from pandas.tseries.api import guess_datetime_format

    if types.is_datetime64_any_dtype(values.dtype) or types.is_numeric_dtype(values.dtype):
        return ""
    text = pd.Series(values.dropna().astype(str).unique())
    some = text.iloc[np.linspace(0, len(text) - 1, min(len(text), GUESSED_FROM)).astype(int)]
    points = bool(some.str.match(r"\d{1,2}\.\d{1,2}\.").mean() > 0.5)
    forms: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for day_first in (points, not points):
            for one in some:
                form = guess_datetime_format(one, dayfirst=day_first)
                if form and form not in forms:
                    forms[form] = float(
                        pd.to_datetime(text, format=form, errors="coerce", utc=True).notna().mean()
                    )
    best = max(forms, key=lambda form: forms[form], default="")
    return best if best and forms[best] >= DATE_SHARE else ""


def date_note(form: str) -> str:
    """What is said about a column of text that is read as dates."""
    if "%d" not in form or "%m" not in form or form.startswith("%Y"):  # nothing to mistake
        return "text read as dates"
    order = "day first" if form.index("%d") < form.index("%m") else "month before day"
    return f"text read as dates, {order}"


def as_days(values: Any, form: str = "") -> Float[np.ndarray, " n"]:
    """Days since 1970; NaN where there is no date. A text that is none is taken as empty; if there are many it is
    an error."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values.dtype) or types.is_numeric_dtype(values.dtype):
        dates = pd.to_datetime(values, utc=True)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no one form was found
            dates = pd.to_datetime(values, errors="coerce", utc=True, format=form or "mixed")
        there = values.notna()
        if there.any() and dates[there].notna().mean() < DATE_SHARE:
            raise ValueError("these are no dates")
    empty = dates.isna().to_numpy()
    nanoseconds = dates.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(dtype="datetime64[ns]").astype(np.int64)
    return np.where(empty, np.nan, nanoseconds / DAY)
