"""What may be given to `MIMOSA`: arrays with empty cells, databases, and what is no rows. Also `frames.py`."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset


def with_gaps():
    """Two groups, one of which has values where the other has none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] += X[:, 0]
    X[150:, 2:] = np.nan
    return X


def test_an_array_with_gaps_is_as_a_frame_with_them(tmp_path):
    X = with_gaps()
    m, of_frame = MIMOSA(random_state=0).fit(X), MIMOSA(random_state=0).fit(pd.DataFrame(X))
    assert len(m.hierarchy_.paths) == 2
    assert m.hierarchy_ == of_frame.hierarchy_
    np.testing.assert_array_equal(m.labels_, of_frame.labels_)
    np.testing.assert_array_equal(m.predict(X), m.labels_)
    np.testing.assert_array_equal(m.transform(X), of_frame.transform(pd.DataFrame(X)))
    np.testing.assert_array_equal(m.outlier_score(X), of_frame.outlier_score(pd.DataFrame(X)))
    assert m.why(X[:1]).iloc[0] == of_frame.why(pd.DataFrame(X[:1])).iloc[0]
    assert "x3" in m.why(X[:1]).iloc[0]
    assert str(m.explain(X)) == str(m.explain())
    assert not hasattr(m, "feature_names_in_")
    m.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    np.testing.assert_array_equal(again.predict(X), m.labels_)
    assert list(again.place(X[:2]).columns) == ["path", "leaf", "probability", "strange", "fits"]


def test_infinity_is_no_gap():
    X = with_gaps()
    X[7, 0] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        MIMOSA().fit(X)


def test_what_a_database_answers():
    table = load_dataset("penguins").X
    m = MIMOSA(random_state=0).fit(table)
    connection = sqlite3.connect(":memory:")
    table.to_sql("penguins", connection, index=False)

    def query():
        return connection.execute("SELECT * FROM penguins")

    of_query = MIMOSA(random_state=0).fit(query())
    assert of_query.hierarchy_ == m.hierarchy_
    np.testing.assert_array_equal(of_query.predict(query()), m.labels_)
    np.testing.assert_array_equal(of_query.transform(query()), m.transform(table))
    assert len(of_query.place(query())) == len(table)
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb: the extra files of disentree")
    with duckdb.connect() as other:
        other.register("penguins", table)
        np.testing.assert_array_equal(m.predict(other.execute("SELECT * FROM penguins")), m.labels_)
        np.testing.assert_array_equal(m.predict(other.sql("SELECT * FROM penguins")), m.labels_)
    with pytest.raises(ValueError, match="X is a database, not rows"):
        m.fit(connection)
    with pytest.raises(ValueError, match="a cursor without a result"):
        m.fit(connection.execute("CREATE TABLE x (a)"))
    connection.close()


def test_a_path_is_read(tmp_path):
    table = load_dataset("penguins").X
    table.to_csv(tmp_path / "penguins.csv", index=False)
    whole = MIMOSA(random_state=0).fit(table)
    m = MIMOSA(random_state=0).fit(tmp_path / "penguins.csv")
    np.testing.assert_array_equal(m.labels_, whole.labels_)
    np.testing.assert_array_equal(whole.predict(str(tmp_path / "penguins.csv")), whole.labels_)
    with pytest.raises(ValueError, match=r"there is no file .*other\.csv"):
        MIMOSA().fit(tmp_path / "other.csv")


def test_a_category_that_is_new_is_told():
    table = load_dataset("penguins").X
    m = MIMOSA(random_state=0).fit(table)
    some = table.head(3).astype({"island": object})
    assert "unseen" not in m.place(some)
    some.loc[some.index[1], "island"] = "Mars"
    assert m.place(some)["unseen"].tolist() == ["", "island = Mars", ""]
