"""Rows in blocks are the same whatever holds them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix

from disentree.errors import UserError
from disentree.rows import Blocks, Survey, in_blocks, taken
from disentree.rows.engines import of_part
from disentree.utils.threads import threads
from forms import FORMS, as_form


def table(n=1000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((n, 4)).round(6), columns=list("abcd"))


@pytest.mark.parametrize("form", FORMS)
def test_blocks_are_all_rows_in_their_order(form, tmp_path):
    frame = table()
    blocks = Blocks.of(as_form(form, frame, tmp_path), step=90)
    assert len(blocks) == len(frame)
    assert blocks.names == (None if "array" in form or form == "npy" else tuple(frame.columns))
    starts = list(blocks.map(lambda rows, start: (start, len(rows))))
    assert len(starts) > 10
    assert [a for a, _ in starts] == [0, *np.cumsum([n for _, n in starts])[:-1]]
    some = np.array([0, 3, 3, 500, 999])
    for found, expected in ((blocks.all(), frame), (blocks.take(some), frame.iloc[some])):
        np.testing.assert_array_equal(np.asarray(found), expected)
    np.testing.assert_array_equal(np.asarray(taken(blocks, some[::-1])), frame.iloc[some[::-1]])
    survey, sample = Survey.of(blocks, some)
    np.testing.assert_array_equal(np.asarray(sample), frame.iloc[some])
    np.testing.assert_array_equal(survey.least, frame.min())
    np.testing.assert_array_equal(survey.most, frame.max())


def test_threads_change_nothing():
    blocks = Blocks.of(table().to_numpy(), step=7)
    found = []
    for n in (1, 2, 4):
        with threads(n):
            found.append(np.concatenate(list(blocks.then(np.square).map(lambda rows, start: rows + start))))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_part_by_itself_is_what_it_is_in_a_pass(tmp_path):
    blocks = Blocks.of(as_form("parquet", table(), tmp_path), step=50)
    whole = list(blocks.map(lambda rows, start: start))
    starts = np.cumsum([0, *blocks.source.sizes[:-1]])
    parts = [of_part(blocks.source, k, int(a), lambda rows, start: start) for k, a in enumerate(starts)]
    assert [start for part in parts for start in part] == whole


def test_a_survey_sees_empty_cells_and_names_what_is_infinite(tmp_path):
    frame = table()
    frame.loc[[700, 950], "c"] = np.nan
    for form in FORMS:
        if form == "parts":
            continue
        rows = as_form(form, frame, tmp_path)
        assert Survey.of(Blocks.of(rows, step=90), np.array([1]))[0].empty.tolist() == [0, 0, 2, 0]
    frame.loc[710, "d"] = np.inf
    with pytest.raises(ValueError, match=r"column 'd' contains infinity in row 710,"):
        Survey.of(Blocks.of(frame, step=90), np.array([1]))


def test_problems_name_the_part_and_the_row(tmp_path):
    frame = table()
    as_form("parquet", frame, tmp_path)
    data = bytearray((tmp_path / "rows.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 600] = bytes(600)
    (tmp_path / "rows.parquet").write_bytes(data)
    with pytest.raises(UserError, match=r"rows\.parquet, row group [3-5], from row [3-6]\d0 on: .*cannot be read"):
        Blocks.of(tmp_path / "rows.parquet").all()
    lines = [f"{a:.6f},{b:.6f}" for a, b in frame[["a", "b"]].to_numpy()]
    lines[812] = "0.5,broken"
    (tmp_path / "text.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    with pytest.raises(UserError, match=r"text\.csv: row 813 of column 'b' is 'broken', and others are numbers"):
        Blocks.of(tmp_path / "text.csv", step=100)
    lines[812] = "0.5"
    (tmp_path / "text.csv").write_text("\n".join(["a,b", *lines[:900], '0.5,"1', *lines[900:]]) + "\n")
    with pytest.raises(UserError, match=r"text\.csv"):
        Blocks.of(tmp_path / "text.csv", step=100)


def test_parts_must_have_the_same_columns(tmp_path):
    frame = table()
    frame.to_parquet(tmp_path / "1.parquet")
    frame.assign(b="x").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(UserError, match=r"2\.parquet: column 'b' holds no numbers, as it does in .*1\.parquet"):
        Blocks.of(tmp_path)
    frame.drop(columns="b").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(UserError, match=r"2\.parquet has no column 'b', which .*1\.parquet has"):
        Blocks.of(tmp_path / "*.parquet")
    frame.assign(e=1).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(UserError, match=r"2\.parquet has a column 'e', which .*1\.parquet has not"):
        Blocks.of(tmp_path / "?.parquet")
    with pytest.raises(UserError, match=r"there is no file .*\*\.csv"):
        Blocks.of(tmp_path / "*.csv")


def test_what_changes_while_it_is_read_is_told(tmp_path):
    blocks = Blocks.of(as_form("csv", table(), tmp_path), step=90)
    table(900).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(UserError, match=r"rows\.csv has 900 rows where 1,000 were: it has changed"):
        blocks.all()


def test_few_rows_are_taken_at_once():
    X = table().to_numpy()
    seen = []
    np.testing.assert_array_equal(in_blocks(X, lambda rows: (seen.append(len(rows)), rows)[1], 2000), X)
    assert seen == [1000]


def test_sparse_rows_are_taken_in_blocks():
    X = coo_matrix(np.arange(30.0).reshape(10, 3))
    seen = []
    found = in_blocks(X, lambda rows: (seen.append(rows.shape[0]), rows.toarray())[1], 4)
    np.testing.assert_array_equal(found, X.toarray())
    assert seen == [4, 4, 2]
