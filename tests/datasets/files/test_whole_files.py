"""Sheets, JSON, databases and compressed text; titles above a header. Also `formats.py` and `csv_style.py`."""

import gzip
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

from disentree.datasets import load_file
from disentree.datasets.files.csv_style import row_of_header
from disentree.datasets.files.sampling import check_file
from disentree.datasets.files.table_files import open_table
from disentree.errors import UserError

ROW = np.arange(60)
TABLE = pd.DataFrame(
    {"a": np.where(ROW == 3, np.nan, ROW % 7 + 0.5), "b": ROW * ROW % 11, "c": np.array(["u", "v", "w"])[ROW % 3]}
)
TITLES = "Report, 2020\nmade by us\n\n"


def duckdb_file(path):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb: the extra files of disentree")
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE measured AS SELECT * FROM given")


def sqlite_file(path):
    connection = sqlite3.connect(path)
    TABLE.to_sql("measured", connection, index=False)
    connection.close()


WRITERS = {
    "t.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "t.tsv.gz": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "t.xlsx": lambda path: TABLE.to_excel(path, index=False),
    "t.json": lambda path: TABLE.to_json(path, orient="records"),
    "columns.json": lambda path: TABLE.to_json(path),
    "split.json": lambda path: TABLE.to_json(path, orient="split"),
    "named.json": lambda path: path.write_text(
        json.dumps({"n": 60, "rows": json.loads(TABLE.to_json(orient="records"))})
    ),
    "t.jsonl": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "t.jsonl.gz": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "t.sqlite": sqlite_file,
    "t.db": sqlite_file,
    "t.duckdb": duckdb_file,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, name):
    WRITERS[name](tmp_path / name)
    data = load_file(tmp_path / name)
    pd.testing.assert_frame_equal(data.frame, TABLE, check_dtype=False)
    assert check_file(tmp_path / name)[0].schema == data.schema
    blocks = list(open_table(tmp_path / name).frames(25))
    assert [len(block) for block in blocks] == [25, 25, 10]
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), TABLE, check_dtype=False)


def test_a_sheet_or_table_is_chosen_by_its_name(tmp_path):
    book, base = tmp_path / "t.xlsx", tmp_path / "t.db"
    with pd.ExcelWriter(book) as writer:
        for name in ("one", "two", "empty"):
            (TABLE if name != "empty" else TABLE.iloc[:0, :0]).to_excel(writer, sheet_name=name, index=False)
    sqlite_file(base)
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE 'other one' AS SELECT a, b FROM measured WHERE a > 2")
    for path, what, names in ((book, "sheets", "'one', 'two'"), (base, "tables", "'measured', 'other one'")):
        with pytest.raises(UserError, match=f"has 2 {what}, {names}: choose one with --table"):
            load_file(path)
        with pytest.raises(UserError, match=f"has no {what[:-1]} 'three'"):
            load_file(path, table="three")
    assert len(load_file(book, table="two").frame) == 60
    there = int((TABLE["a"] > 2).sum())
    assert len(load_file(base, table="other one").frame) == there
    asked = load_file(base, table="SELECT b, c FROM measured WHERE a > 2")
    assert (len(asked.frame), list(asked.frame)) == (there, ["b", "c"])
    with pytest.raises(UserError, match="no such column: x"):
        load_file(base, table="SELECT x FROM measured")
    assert load_file(base, table="measured").frame.shape == TABLE.shape  # it was only read


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.json", "{", "is not JSON"),
        ("t.json", "[1, 2]", "must hold a list of records"),
        ("t.jsonl", '{"a": 1}\nx\n', "line 2 is not JSON"),
        ("t.jsonl", "[1]\n", "must hold a record in each line"),
        ("t.xlsx", "text", "cannot be read as xlsx"),
        ("t.db", "no database at all", "file is not a database"),
        ("t.csv.gz", "text", "cannot be read: Not a gzipped file"),
    ],
)
def test_files_that_are_something_else(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=sentence):
        load_file(tmp_path / name)


def test_options_that_do_not_apply(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_json(tmp_path / "t.json", orient="records")
    for name in ("t.csv", "t.json"):
        with pytest.raises(UserError, match="is one table: --table is for sheets"):
            load_file(tmp_path / name, table="x")
    with pytest.raises(UserError, match="--skip-rows is for"):
        load_file(tmp_path / "t.json", skip_rows=1)
    with pytest.raises(UserError, match="has 61 lines, and --skip-rows 99 leaves none"):
        load_file(tmp_path / "t.csv", skip_rows=99)


@pytest.mark.parametrize("titles", [TITLES, "Report,,\n,,\nmade by us,,\n", "\n\nA long title; with, marks\n"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.xlsx"])
def test_titles_above_the_header(tmp_path, titles, name):
    path = tmp_path / name
    if name == "t.xlsx":
        TABLE.to_excel(path, index=False, startrow=3)
        import openpyxl

        book = openpyxl.load_workbook(path)
        book.active.cell(1, 1).value = titles
        book.save(path)
    else:
        with (gzip.open if name.endswith("gz") else open)(path, "wt") as file:
            file.write(titles + TABLE.to_csv(index=False))
    with pytest.raises(UserError, match="row 4 looks like the header: --skip-rows 3"):
        load_file(path)
    pd.testing.assert_frame_equal(load_file(path, skip_rows=3).frame, TABLE, check_dtype=False)
    assert open_table(path, skip_rows=None).columns == ("a", "b", "c")


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2,3\n2,3,4\n5,6,1\n",
        "a,,c\nu,v,w\nx,y,z\nu,v,t\n",  # a name that is missing
        ",x,y\nr1,2,3\nr2,3,4\n",  # names of rows
        "x\n1\n2\n4\n",
        "a,b\n1,\n,2\n3,4\n",
        "1,2,3\n4,5,6\n7,8,10\n",
    ],
)
def test_tables_without_titles(text):
    assert row_of_header([tuple(line.split(",")) for line in text.splitlines()]) == 0
