"""Tables whose names and values do not agree, and values at the ends of the scale."""

import numpy as np
import pandas as pd
import pytest

from disentree.datasets import load_file
from disentree.datasets.files.table_files import open_table
from disentree.datasets.files.tables import far_out
from disentree.errors import UserError

ROWS = [(i % 7, i * i % 11, i % 3 + 0.5) for i in range(120)]


def write(path, header, line="{},{},{}", rows=ROWS):
    path.write_text("\n".join([header, *(line.format(*row) for row in rows)]) + "\n")
    return path


def values_of(data):
    return data.X * data.scale + data.center


@pytest.mark.parametrize("line", ["{},{},{},", '"{}","{}","{}",'])
def test_a_separator_at_the_end_of_lines_shifts_nothing(tmp_path, line):
    data = load_file(write(tmp_path / "t.csv", "a,b,c", line))
    assert data.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(values_of(data), ROWS)
    assert "the separator at the end of lines is ignored" in data.policy
    tsv = load_file(write(tmp_path / "t.tsv", "a\tb\tc", "{}\t{}\t{}\t"))
    np.testing.assert_allclose(values_of(tsv), ROWS)


@pytest.mark.parametrize(
    ("header", "line", "sentence"),
    [
        ("b,c", "{},{},{}", "the header has 2 names and lines have 3 values: give every column a name"),
        ("a", "{},{},{}", "the header has 1 name and lines have 3 values"),
    ],
)
def test_names_that_do_not_agree_with_the_values(tmp_path, header, line, sentence):
    with pytest.raises(UserError, match=sentence):
        load_file(write(tmp_path / "t.csv", header, line))


def test_a_value_too_many_further_down(tmp_path):
    path = write(tmp_path / "t.csv", "a,b,c", rows=ROWS)
    path.write_text(path.read_text().replace("a,b,c\n", "a,b,c\n1,2,3,\n", 1))
    path.write_text(path.read_text() + "1,2,3,4\n")
    with pytest.raises(UserError, match="more values than the header has names"):
        load_file(path)
    path.write_text(path.read_text().replace("1,2,3,\n", "", 1))
    with pytest.raises(UserError, match="line 122 has 4 fields where 3 are expected"):
        load_file(path)


@pytest.mark.parametrize("header", ["0,1,2", "1,2,3"])
def test_columns_that_are_numbered_have_names(tmp_path, header):
    data = load_file(write(tmp_path / "t.csv", header))
    assert data.feature_names == tuple(header.split(","))
    assert not any("names" in sentence for sentence in data.policy)


def test_wavelengths_are_names_with_a_remark(tmp_path):
    data = load_file(write(tmp_path / "t.csv", "1100,1102.5,1105"))
    assert data.feature_names == ("1100", "1102.5", "1105")
    assert any("if the first line is a row of values" in sentence for sentence in data.policy)


def test_two_columns_of_one_name(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table([[1.0, 2], [2.0, 3]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(UserError, match="has two columns called 'a'"):
        load_file(tmp_path / "t.parquet")


def test_the_index_of_a_data_frame_is_left_out_and_told(tmp_path):
    frame = pd.DataFrame(ROWS, columns=list("abc"), index=pd.Index(np.arange(120) * 2.5, name="key"))
    frame.to_parquet(tmp_path / "t.parquet")
    data = load_file(tmp_path / "t.parquet")
    assert data.feature_names == ("a", "b", "c")
    assert "left out column 'key': the index of the data frame" in data.policy
    assert open_table(tmp_path / "t.parquet").columns == ("a", "b", "c")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet"])
def test_blocks_are_the_whole(tmp_path, name):
    frame = pd.DataFrame({"a": np.arange(50) / 3, "b": ["x,y", 'q"t', "", "2.50", "line\nbreak"] * 10})
    path = tmp_path / name
    frame.to_parquet(path) if name == "t.parquet" else frame.to_csv(
        path, index=False, sep="\t" if "tsv" in name else ","
    )
    table = open_table(path)
    whole = next(table.frames(as_text=["b"]))
    blocks = list(table.frames(7, as_text=["b"]))
    assert [len(block) for block in blocks] == [7] * 7 + [1]
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), whole)
    np.testing.assert_array_equal(whole["a"], frame["a"])


# ------------------------------------------------------------------ values


def one_column(tmp_path, values, **options):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": values, "b": rng.normal(size=len(values))})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return load_file(tmp_path / "t.csv", **options)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300, 1e-300])
def test_values_of_any_magnitude_are_standardized(tmp_path, scale):
    values = np.random.default_rng(1).normal(size=300)
    data = one_column(tmp_path, values * scale)
    np.testing.assert_allclose(data.X[:, 0], (values - values.mean()) / values.std(), rtol=1e-9, atol=1e-9)


def test_a_tree_is_looked_for_in_the_units_of_the_columns(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(10, 3, 300).round(2)
    b = np.where(rng.random(300) < 0.5, a, rng.normal(20, 1, 300).round(2))
    pd.DataFrame({"a": a, "b": b}).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "t.npy", np.stack([a, b], axis=1))
    table, array = load_file(tmp_path / "t.csv"), load_file(tmp_path / "t.npy")
    assert np.array_equal(table.searched, np.stack([a, b], axis=1))  # where a = b, it stays so
    assert np.allclose(array.searched, table.searched, rtol=1e-14)
    assert np.array_equal(table.take(np.arange(5)).searched, table.searched[:5])
    pd.DataFrame({"a": a * 1e200, "b": b}).to_csv(tmp_path / "huge.csv", index=False)
    huge = load_file(tmp_path / "huge.csv")
    assert huge.searched is huge.X


def test_small_differences_of_large_values_are_kept(tmp_path):
    values = 1e15 + np.arange(300) % 7
    data = one_column(tmp_path, values)
    assert data.feature_names == ("a", "b")
    small = np.arange(300) % 7
    np.testing.assert_allclose(data.X[:, 0], (small - small.mean()) / small.std(), atol=0.05)
    assert len(np.unique(data.X[:, 0])) == 7


def test_values_that_differ_by_rounding_only_are_constant(tmp_path):
    values = np.full(300, 0.1)
    values[::2] = np.nextafter(0.1, 1)
    assert one_column(tmp_path, values).feature_names == ("b",)


@pytest.mark.parametrize("far", [1e12, -1e12, 1e29, 1e200])
def test_a_value_that_hides_all_others_is_empty_and_told(tmp_path, far):
    values = np.random.default_rng(1).normal(size=300)
    values[17] = far
    data = one_column(tmp_path, values)
    assert any(
        "column 'a': 1 cell as far out as" in sentence and "(row 18)" in sentence for sentence in data.policy
    )
    assert np.flatnonzero(data.frame["a"].isna()).tolist() == [17]
    assert np.abs(data.X).max() < 10
    with pytest.raises(UserError, match="only numbers without empty cells can be taken without standardizing"):
        one_column(tmp_path, values, standardize=False)


def test_heavy_tails_are_no_mistakes():
    rng = np.random.default_rng(0)
    for values in (rng.lognormal(0, 3, 5000), rng.standard_cauchy(5000), 10.0 ** np.arange(-5, 20)):
        assert not far_out(values).any()
    assert not far_out(np.r_[np.zeros(99), 1e12]).any()  # as rare as it is, it is the only one that differs
    assert not far_out(np.r_[rng.normal(size=900), np.full(100, 1e9)]).any()  # too many to be slips


def test_many_such_values_are_refused(tmp_path):
    values = np.random.default_rng(1).normal(size=300)
    values[::10] = 1e29
    with pytest.raises(UserError, match=r"as far out as 1e\+29, beside which half of its values do not differ"):
        one_column(tmp_path, values)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_magnitudes_that_cannot_be_squared_beside_empty_cells(tmp_path, scale):
    values = np.random.default_rng(1).normal(size=300) * scale
    values[3] = np.nan
    with pytest.raises(UserError, match=r"column 'a' has values up to .*: change its unit"):
        one_column(tmp_path, values)


def test_infinite_values_are_empty_and_told(tmp_path):
    values = np.random.default_rng(1).normal(size=300)
    values[[3, 5]] = np.inf, -np.inf
    data = one_column(tmp_path, values)
    assert "column 'a': 2 cells infinite, taken as empty" in data.policy
    assert len(data) == 300


def test_values_whose_differences_are_not_finite_are_refused(tmp_path):
    values = np.where(np.arange(300) % 2, 1.5e308, -1.5e308) * np.linspace(0.5, 1, 300)
    with pytest.raises(UserError, match="change its unit"):
        one_column(tmp_path, values)


def test_a_column_of_mostly_one_value_is_welcome(tmp_path):
    values = np.zeros(300)
    values[:20] = 1e12
    assert one_column(tmp_path, values).feature_names == ("b", "a=0", "a=1e+12")


def test_columns_of_lists_are_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "lists": [[1, 2], [3], []]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = load_file(tmp_path / "t.parquet")
    assert data.feature_names == ("a",)
    assert "left out column 'lists': its cells are lists or tables" in data.policy


def test_errors_of_parquet_keep_their_sentence(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + b"\x07" * 100 + b"\x40\0\0\0PAR1")
    with pytest.raises(UserError, match=r"t\.parquet cannot be read") as caught:
        load_file(tmp_path / "t.parquet")
    assert "None" not in str(caught.value)
