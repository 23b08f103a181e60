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


def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (60, 3)), rng.normal(8, 1, (60, 3))])


def test_masks_are_gaps():
    X = rows()
    mask = np.random.default_rng(1).random(X.shape) < 0.1
    masked = np.ma.masked_array(np.where(mask, -999, X), mask)
    np.testing.assert_array_equal(as_pandas(masked), np.where(mask, np.nan, X))
    whole = np.ma.masked_array((100 * X).astype(int), mask)
    assert np.isnan(as_pandas(whole)).sum() == mask.sum()
    np.testing.assert_array_equal(as_pandas(np.ma.masked_array(X)), X)
    assert (MIMOSA(n_jobs=1).fit(masked).labels_ == MIMOSA(n_jobs=1).fit(np.where(mask, np.nan, X)).labels_).all()


def test_records_sparse_columns_and_durations():
    X = rows()
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = MIMOSA(n_jobs=1).fit(frame).labels_
    sparse = frame.astype(pd.SparseDtype(float, 0.0))
    durations = frame.assign(a=pd.to_timedelta(frame["a"], unit="D"))
    for other in (frame.to_records(index=False), sparse, sparse.assign(b=X[:, 1]), durations):
        m = MIMOSA(n_jobs=1).fit(other)
        assert (m.labels_ == expected).all()
        assert (m.predict(other) == expected).all()
    days = as_pandas((86_400 * X).astype("timedelta64[s]"))
    np.testing.assert_allclose(days, X, atol=1e-4)
    assert np.isnan(as_pandas(np.array([["NaT", 3]], "timedelta64[D]"))).tolist() == [[True, False]]


def test_whole_numbers_that_floats_cannot_tell_apart_are_told():
    near = 2**63 - 1 - np.arange(0, 240, 2)
    column = Codec.fit(pd.DataFrame({"a": rows()[:, 0], "big": near})).schema.columns[1]
    assert not column.used
    assert "cannot tell apart" in column.note
    with pytest.raises(
        ValueError, match=r"X has whole numbers that floats cannot tell apart, up to 9\d+: subtract"
    ):
        MIMOSA(n_jobs=1).fit(np.stack([near, near[::-1]], axis=1))
    spread = 2**62 + 2**40 * np.arange(120) ** 2  # rounded, and still different
    assert Codec.fit(pd.DataFrame({"a": rows()[:, 0], "big": spread})).schema.columns[1].used
