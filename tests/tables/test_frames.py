"""Data frames of polars."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.tables import Codec
from disentree.tables.frames import as_pandas

polars = pytest.importorskip("polars", reason="needs polars, which disentree reads but does not depend on")
N = 120


@pytest.fixture(scope="module")
def pair():
    """The same table in polars and in pandas."""
    rng = np.random.default_rng(0)
    day = datetime.date(2020, 1, 1)
    values = {
        "x": [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.normal(5, 2, N))],
        "count": rng.integers(0, 30, N).tolist(),
        "sex": [None if i % 9 == 0 else v for i, v in enumerate(rng.choice(["f", "m"], N).tolist())],
        "size": rng.choice(["s", "m", "l"], N).tolist(),
        "owner": [bool(v) for v in rng.random(N) < 0.5],
        "day": [day + datetime.timedelta(days=i) for i in range(N)],
    }
    own = polars.DataFrame(values).with_columns(polars.col("size").cast(polars.Enum(["s", "m", "l"])))
    frame = pd.DataFrame(values)
    frame["size"] = pd.Categorical(frame["size"], ["s", "m", "l"], ordered=True)
    frame["day"] = pd.to_datetime(frame["day"])
    return own, frame


def test_columns_are_what_they_are_in_pandas(pair):
    own, frame = pair
    codec, expected = Codec.fit(own), Codec.fit(frame)
    assert [(c.name, c.kind, c.levels) for c in codec.schema.columns] == [
        (c.name, c.kind, c.levels) for c in expected.schema.columns
    ]
    np.testing.assert_array_equal(codec.read(own).numbers, expected.read(frame).numbers)
    np.testing.assert_array_equal(codec.read(own).categories, expected.read(frame).categories)


def test_the_tree_is_the_same(pair):
    own, frame = pair
    found, expected = MIMOSA(random_state=0).fit(own), MIMOSA(random_state=0).fit(frame)
    assert found.hierarchy_.to_dict() == expected.hierarchy_.to_dict()
    np.testing.assert_array_equal(found.predict(own), expected.predict(frame))
    np.testing.assert_array_equal(found.predict(frame), found.predict(own))


def test_decimals_are_numbers():
    column = polars.Series("price", [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")])
    np.testing.assert_array_equal(as_pandas(polars.DataFrame([column]))["price"], [1.5, np.nan, 2.25])


def test_a_lazy_frame_is_refused(pair):
    with pytest.raises(ValueError, match=r"lazy frame of polars.*X\.collect\(\)"):
        MIMOSA().fit(pair[0].lazy())
