"""Several tables as one, and matrices of cells: `several.py`, `cells.py`, `sampling.py`."""

import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from disentree.datasets import load_file
from disentree.datasets.files.cells import cell_frames, shape_of
from disentree.datasets.files.sampling import check_file
from disentree.errors import UserError
from disentree.rows import Blocks


@pytest.fixture
def table():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(90, 3)).round(6), columns=list("abc"))


def write(table, folder, change=lambda part: part, form="parquet"):
    folder.mkdir()
    for k in range(3):
        part = table[30 * k : 30 * (k + 1)]
        part = change(part) if k == 1 else part
        if form == "parquet":
            part.to_parquet(folder / f"{k}.parquet")
        else:
            part.to_csv(folder / f"{k}.csv", index=False)
    return folder


def test_tables_of_a_folder_or_a_pattern_are_one(table, tmp_path):
    folder = write(table, tmp_path / "parts", lambda part: part[list("cab")])
    for path in (folder, f"{folder}/*.parquet"):
        pd.testing.assert_frame_equal(load_file(path).frame, table)
    data, about = check_file(folder)
    assert data.feature_names == ("a", "b", "c")
    assert "3 tables, the first 30 rows, which stand for all others here" in about


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_part_may_have_no_rows(table, tmp_path, form):
    folder = write(table, tmp_path / "parts", form=form)
    shutil.copy(write(table, tmp_path / "other", lambda part: part[:0], form) / f"1.{form}", folder / f"0.{form}")
    data, about = check_file(folder)
    assert "3 tables, the first 30 rows" in about
    np.testing.assert_array_equal(data.frame, table[30:60])
    np.testing.assert_array_equal(Blocks.of(folder).all(), table[30:])


def test_a_part_may_hold_nothing_in_a_column(table, tmp_path):
    folder = write(table, tmp_path / "parts", lambda part: part.assign(b=None))
    assert load_file(folder).frame["b"].isna().sum() == 30
    rows = Blocks.of(folder).all()
    assert rows["b"].dtype == float
    np.testing.assert_array_equal(rows["b"].isna(), np.arange(90) // 30 == 1)


@pytest.mark.parametrize(
    ("form", "change", "sentence"),
    [
        ("parquet", lambda part: part.drop(columns="b"), r"1\.parquet has no column 'b', which .*0\.parquet has$"),
        ("parquet", lambda part: part.assign(d=1), r"1\.parquet has a column 'd', which .*0\.parquet has not$"),
        ("parquet", lambda part: part.astype(str), r"1\.parquet: column 'a' holds no numbers, as it does in"),
        ("csv", lambda part: part.assign(c="x"), r"1\.csv: row 1 of column 'c' is 'x', and others are numbers"),
    ],
)
def test_parts_that_differ_are_named(table, tmp_path, form, change, sentence):
    folder = write(table, tmp_path / "parts", change, form)
    for read in (load_file, Blocks.of):
        with pytest.raises(UserError, match=sentence):
            read(folder)


def test_the_row_of_text_among_numbers_is_that_of_the_file(table, tmp_path):
    """Empty cells before it count."""

    def spoiled(part):
        return part.assign(c=[None, None, "x", *part["c"].astype(str)[3:]])

    folder = write(table, tmp_path / "parts", spoiled, "csv")
    with pytest.raises(UserError, match=r"1\.csv: row 3 of column 'c' is 'x', and others are numbers"):
        load_file(folder)


def test_cells_are_read_some_at_a_time(tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata", reason="needs anndata")
    counts = np.random.default_rng(0).poisson(0.5, (70, 12)).astype(np.float32)
    names = [f"gene{j}" for j in range(12)]
    cells = anndata.AnnData(csr_matrix(counts), var=pd.DataFrame(index=names))
    cells.write_h5ad(path := tmp_path / "cells.h5ad")
    monkeypatch.setattr("disentree.datasets.files.cells.STEP", 12 * 25)
    assert shape_of(path) == (names, [25, 25, 20])
    assert [len(frame) for frame in cell_frames(path, 1, 10)] == [10, 10, 5]
    blocks = Blocks.of(path, step=10)
    assert list(blocks.source.sizes) == [25, 25, 20]
    np.testing.assert_array_equal(blocks.all(), counts)
    np.testing.assert_array_equal(blocks.take(np.array([3, 26, 69])), counts[[3, 26, 69]])
    np.testing.assert_array_equal(load_file(path).frame, counts)
    (tmp_path / "bad.h5ad").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"bad\.h5ad cannot be read"):
        load_file(tmp_path / "bad.h5ad")
    anndata.AnnData(obs=pd.DataFrame(index=names)).write_h5ad(tmp_path / "names.h5ad")
    with pytest.raises(UserError, match=r"names\.h5ad has no X: annotate"):
        load_file(tmp_path / "names.h5ad")
