import json
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from disentree import Hierarchy
from disentree.datasets import load_dataset, load_file, save_dataset
from disentree.datasets.files import user_files
from disentree.errors import MissingExtra, UserError


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(5, 2, 200), "b": rng.integers(0, 9, 200), "c": rng.normal(size=200)})


def test_a_table_is_standardized_and_says_so(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    assert (data.kind, data.name, data.feature_names) == ("table", "t", ("a", "b", "c"))
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    np.testing.assert_allclose(data.X * data.scale + data.center, table.to_numpy())
    assert data.policy == ("3 columns standardized: mean 0, standard deviation 1",)
    assert not data.has_truth
    assert load_file(tmp_path / "t.csv", standardize=False).X.tolist() == table.to_numpy().tolist()


def test_csv_tsv_semicolons_and_parquet_are_the_same_table(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "semi.csv", index=False, sep=";", decimal=",")
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "t.parquet")
    first = load_file(tmp_path / "t.csv")
    for name in ("semi.csv", "t.tsv", "t.parquet"):
        other = load_file(tmp_path / name)
        np.testing.assert_allclose(other.X, first.X)
        assert other.feature_names == first.feature_names


def test_columns_of_any_kind_are_in_use(tmp_path, table):
    table["color"] = ["red", "green", "blue", "red"] * 50
    table["yes"] = [True, False] * 100
    table["key"] = [f"k{i}" for i in range(200)]
    table["when"] = pd.date_range("2020-01-01", periods=200)
    table["site"] = "north"
    table["nothing"] = np.nan
    table.to_parquet(tmp_path / "t.parquet")
    data = load_file(tmp_path / "t.parquet")
    assert list(data.frame.columns) == ["a", "b", "c", "color", "yes", "when"]
    assert [column.kind for column in data.schema.columns] == [
        "number", "integer", "number", "category", "boolean", "identifier", "date", "constant", "empty",
    ]  # fmt: skip
    assert data.policy == (
        "left out column 'key': an identifier, a different text in every row",
        "left out column 'site': 'north' in every row",
        "left out column 'nothing': every cell is empty",
        "6 columns: 2 of numbers, 1 of whole numbers, 1 of categories, 1 of two values, 1 of dates",
    )
    assert data.feature_names[4:] == ("color=blue", "color=green", "color=red", "yes=False", "yes=True")
    np.testing.assert_array_equal(data.X[:3, 4:], [[0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]])
    some = data.take(np.array([5, 2]))
    assert some.frame["color"].tolist() == ["green", "blue"]
    np.testing.assert_array_equal(some.X, data.X[[5, 2]])


def test_no_row_and_no_column_goes_because_of_empty_cells(tmp_path, table):
    table.loc[:149, "b"] = np.nan
    table.loc[:19, "a"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    assert data.frame.shape == (200, 3)
    assert data.feature_names == ("a", "b", "c", "a exists", "b exists")
    assert data.rows is None
    assert np.isfinite(data.X).all()
    assert "2 columns with empty cells, which stay empty: 'b' 150, 'a' 20" in data.policy
    few = load_file(tmp_path / "t.csv", max_missing=0.5)
    assert few.feature_names == ("a", "c", "a exists")
    assert "left out column 'b': more than 50% of the cells empty" in few.policy
    table.loc[3] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    assert len(data) == 199
    assert data.rows[3] == 4
    assert "left out 1 of 200 rows: all cells of the columns that are used are empty" in data.policy


def test_columns_can_be_left_out(tmp_path, table):
    table["d,e"] = table["c"] ** 2
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv", drop=["a"])
    assert data.feature_names == ("b", "c", "d,e")
    assert data.policy[0] == "left out column 'a': as asked"
    assert load_file(tmp_path / "t.csv", drop=["a, b", "d,e"]).feature_names == ("c",)
    with pytest.raises(UserError, match="there is no column 'z'; there are a, b, c"):
        load_file(tmp_path / "t.csv", drop=["z"])


def test_kinds_and_logarithms_can_be_told(tmp_path, table):
    table["zip"] = [f"0{i % 5}" for i in range(200)]
    table["noted"] = ["see below", *(str(i % 7) for i in range(199))]
    table["price"] = np.exp(table["c"])
    table.to_csv(tmp_path / "t.csv", index=False)
    types = {"zip": "category", "b": "category", "noted": "number"}
    data = load_file(tmp_path / "t.csv", types=types, log=["price"])
    assert data.schema["zip"].levels == ("00", "01", "02", "03", "04")
    assert data.schema["b"].kind == "category"
    assert data.schema["price"].transform == "log"
    assert np.isnan(data.frame["noted"][0])
    assert "column 'noted': 1 cells that are no numbers ('see below') read as empty" in data.policy
    with pytest.raises(UserError, match="no logarithm of 'c': it has values below 0"):
        load_file(tmp_path / "t.csv", log=["c"])
    with pytest.raises(UserError, match="the kind of 'a' must be one of number, "):
        load_file(tmp_path / "t.csv", types={"a": "thing"})


def test_a_column_that_counts_the_rows_is_left_out(tmp_path, table):
    order = np.random.default_rng(1).permutation(200)
    table = table.assign(id=np.arange(1, 201), key=10 * order, half=order / 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    assert data.feature_names == ("a", "b", "c", "half")
    assert data.policy[0] == "left out columns 'id', 'key': an identifier, counts the rows"
    assert load_file(tmp_path / "t.csv", types={"id": "integer"}).feature_names == ("a", "b", "c", "id", "half")


def test_rows_that_come_again_are_told_and_kept(tmp_path, table):
    pd.concat([table, table[:7]]).to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    assert len(data) == 207
    assert "7 of 207 rows are the same as an earlier row, and are kept" in data.policy


def test_a_written_benchmark_comes_back_with_its_truth(tmp_path):
    ds = load_dataset("chopsticks-depth2-inter", n_samples=300)
    save_dataset(ds, tmp_path / "a.npz")
    data = load_file(tmp_path / "a.npz")
    assert data.has_truth
    assert data.kind == "series"
    np.testing.assert_array_equal(data.X, ds.X)
    np.testing.assert_array_equal(data.codes, ds.codes)
    assert data.hierarchy == ds.hierarchy
    some = data.take(np.array([5, 2]))
    np.testing.assert_array_equal(some.codes, ds.codes[[5, 2]])
    assert some.rows.tolist() == [5, 2]


def test_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 5)) * [1, 10, 100, 0, 1]
    X[3, 1] = np.nan
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "one.npz", anything=X)
    for name in ("a.npy", "one.npz"):
        data = load_file(tmp_path / name)
        assert data.kind == "series"
        assert data.X.shape == (119, 4)
        np.testing.assert_allclose(data.X.std(axis=0), 1)
        assert "left out column 'column 3': the same value in every row" in data.policy
    images = np.random.default_rng(0).integers(0, 256, (30, 12, 10), dtype=np.uint8)
    np.save(tmp_path / "i.npy", images[..., None])
    data = load_file(tmp_path / "i.npy")
    assert (data.kind, data.policy) == ("images", ("12x10 images, taken as they are",))
    np.testing.assert_array_equal(data.X, images)


def test_a_folder_of_images(tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (5, 20, 16), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / f"{i}.png")
    (tmp_path / "notes.txt").write_text("not an image")
    gray = load_file(tmp_path)
    np.testing.assert_array_equal(gray.X, pictures)
    assert gray.policy == ("5 gray images of 20x16 pixels, in order of name",)
    before = user_files.digest_of(tmp_path)
    Image.fromarray(rng.integers(0, 256, (30, 20, 3), dtype=np.uint8)).save(tmp_path / "z.png")
    color = load_file(tmp_path)
    assert color.X.shape == (6, 64, 64, 3)
    assert color.policy == (
        "images had 2 sizes: scaled and cut around the middle to 64x64 pixels",
        "6 color images of 64x64 pixels, in order of name",
    )
    assert load_file(tmp_path, image_size=16).X.shape == (6, 16, 16, 3)
    assert user_files.digest_of(tmp_path) != before


def test_sixteen_bit_images_are_not_clipped(tmp_path):
    Image.fromarray(np.full((16, 16), 32768, dtype=np.uint16)).save(tmp_path / "a.png")
    assert load_file(tmp_path).X.max() == 127


def _write(tmp_path, name):
    """Files that cannot be used, by name."""
    path = tmp_path / name
    if name == "text.csv":
        path.write_text("a,b\nx,x\nx,x\n")
    elif name == "empty.csv":
        path.write_text("")
    elif name == "blank.csv":
        path.write_text("\n\n")
    elif name == "header.csv":
        path.write_text("a,b\n")
    elif name == "bytes.csv":
        path.write_bytes(b"a,b\n\xff\x00\xfa,1\n")
    elif name == "ragged.csv":
        path.write_text("a,b,c,d\n" + 201 * "1,2,3,4\n" + "1,2,3,4,5,6\n")
    elif name == "gaps.csv":
        path.write_text("a,b\n,\n,\n")
    elif name == "flat.csv":
        path.write_text("a,b\n1,2\n1,2\n")
    elif name in ("cut.npz", "cut.parquet"):
        path.write_bytes(b"PK\x03\x04 and then nothing")
    elif name in ("words.npz", "words.npy"):
        path.write_text("a line of words\n")
    elif name == "none.npz":
        path.write_bytes(b"")
    elif name == "array.npz":
        with path.open("wb") as file:
            np.save(file, np.eye(3))
    elif name == "objects.npy":
        np.save(path, np.array([[1, None]], dtype=object), allow_pickle=True)
    elif name == "word.npy":
        np.save(path, np.array([["a", "b"]]))
    elif name == "line.npy":
        np.save(path, np.arange(5.0))
    elif name == "many.npz":
        np.savez(path, a=np.eye(3), b=np.eye(3))
    elif name == "truth.npz":
        text = Hierarchy.flat(2).to_json()
        np.savez(path, X=np.eye(3), codes=np.ones((2, 2)), hierarchy=np.array(text))
    elif name == "nan.npy":
        np.save(path, np.full((3, 4, 4), np.nan))
    elif name == "folder":
        path.mkdir()
    elif name == "broken":
        path.mkdir()
        (path / "a.png").write_bytes(b"\x89PNG and then nothing")
    return path


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("text.csv", "has no column to work with: left out columns 'a', 'b': 'x' in every row"),
        ("empty.csv", "empty.csv is empty: the file has no bytes$"),
        ("blank.csv", "blank.csv is empty: there is no line with names of columns$"),
        ("header.csv", "has no rows"),
        ("bytes.csv", "is not text: save it as UTF-8$"),
        ("ragged.csv", "ragged.csv: line 203 has 6 fields where 4 are expected$"),
        ("gaps.csv", "has no column to work with: left out columns 'a', 'b': every cell is empty"),
        ("flat.csv", "has no column to work with: left out column 'b': 2 in every row"),
        ("cut.npz", "cannot be read as npz: "),
        ("cut.parquet", "cannot be read as parquet: "),
        ("words.npz", "words.npz is not an npz file$"),
        ("words.npy", "words.npy is not an npy file$"),
        ("none.npz", "none.npz is empty: the file has no bytes$"),
        ("array.npz", "is not an npz file$"),
        ("objects.npy", "must hold real numbers, got Python objects"),
        ("word.npy", "must hold real numbers, got <U1"),
        ("line.npy", r"must hold vectors \(n, d\) or images"),
        ("many.npz", "must have an array 'X'; it has a, b"),
        ("truth.npz", "has 3 rows but codes for 2"),
        ("nan.npy", "has 48 missing or infinite values among its images"),
        ("folder", "holds no images"),
        ("broken", "a.png cannot be read as an image"),
        ("nothing.csv", "there is no file"),
        ("data.docx", "must end in .csv, .tsv, .csv.gz, .*, .npy, .npz or be a folder of images"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, name, sentence):
    path = _write(tmp_path, name)
    with pytest.raises(UserError, match=sentence) as caught:
        load_file(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_missing": 1.5}, "max_missing must be a share"),
        ({"image_size": 2}, "image_size must be 8 pixels or more, got 2"),
    ],
)
def test_options_are_checked(tmp_path, options, sentence):
    with pytest.raises(UserError, match=sentence):
        load_file(tmp_path, **options)


def test_a_missing_library_names_the_extra(tmp_path, table, monkeypatch):
    table.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"t\.parquet needs pyarrow: pip install 'disentree\[files\]'$"):
        load_file(tmp_path / "t.parquet")


def test_a_file_that_may_not_be_read(unprivileged, table):
    path = unprivileged / "t.csv"
    table.to_csv(path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        load_file(path)


def test_names_stay_as_they_are_in_the_file(tmp_path):
    """Whoever shows them has to escape them; here they are data."""
    frame = pd.DataFrame({"<script>alert(1)</script>": [1.0, 2, 3], 7: [3.0, 1, 2]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert load_file(tmp_path / "t.csv").feature_names == ("<script>alert(1)</script>", "7")
    assert json.dumps(load_file(tmp_path / "t.csv").policy)
