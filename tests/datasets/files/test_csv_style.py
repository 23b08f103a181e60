"""`csv_style.py`: how text tables are written, and that all ways of writing one give the same table."""

import numpy as np
import pandas as pd
import pytest

from disentree.datasets import load_file
from disentree.datasets.files.csv_style import csv_style
from disentree.errors import UserError

ROWS = [(i % 7 + 0.25, i * i % 11, i % 3 + 0.5) for i in range(120)]


def write(path, lines, encoding="utf-8"):
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def lines(form, header="a;b;c", rows=ROWS):
    return [header, *(form.format(*row) for row in rows)]


def commas(texts):
    return [text.replace(".", ",") for text in texts]


def values_of(path):
    data = load_file(path)
    return data.X * data.scale + data.center


@pytest.mark.parametrize(
    "text",
    [
        lines("{};{};{}"),
        commas(lines("{};{};{}")),
        lines("{}|{}|{}", "a|b|c"),
        lines("{}\t{}\t{}", "a\tb\tc"),
        commas(lines("{}\t{}\t{}", "a\tb\tc")),
        lines("{},{},{}", "a,b,c"),
        ['"a","b","c"', *(f'"{str(a).replace(".", ",")}",{b},{c}' for a, b, c in ROWS)],
        lines("{};{};{}", " a ; b;c"),
    ],
    ids=["points", "commas", "bars", "tabs", "tabs and commas", "plain", "one column with commas", "blanks"],
)
def test_the_cells_decide_and_not_the_separator(tmp_path, text):
    path = write(tmp_path / "t.csv", text)
    assert load_file(path).feature_names == ("a", "b", "c")
    np.testing.assert_allclose(values_of(path), ROWS)


def test_decimal_commas_and_points_in_one_table_are_told(tmp_path):
    mixed = [f"{str(a).replace('.', ',')};{b};{c}" for a, b, c in ROWS]
    path = write(tmp_path / "t.csv", ["a;b;c", *mixed])
    np.testing.assert_allclose(values_of(path), ROWS)
    assert any("some columns have decimal commas" in sentence for sentence in load_file(path).policy)
    within = [f"{str(a).replace('.', ',' if i % 2 else '.')};{b};{c}" for i, (a, b, c) in enumerate(ROWS)]
    path = write(tmp_path / "u.csv", ["a;b;c", *within])
    np.testing.assert_allclose(values_of(path), ROWS)
    assert "column 'a': decimal commas and decimal points" in load_file(path).policy


def test_commas_that_may_be_either_are_decimals_between_semicolons(tmp_path):
    rows = [f"1,{100 + i};{i % 7}" for i in range(20)]
    path = write(tmp_path / "t.csv", ["a;b", *rows])
    np.testing.assert_allclose(values_of(path)[:, 0], 1 + (100 + np.arange(20)) / 1000)
    assert "commas in numbers were read as decimal commas" in load_file(path).policy
    path = write(tmp_path / "u.csv", ["a\tb", *(row.replace(";", "\t") for row in rows), "2,345\t1"])
    np.testing.assert_allclose(values_of(path)[:20, 0], 1100 + np.arange(20))


def test_one_column_with_decimal_commas(tmp_path):
    path = write(tmp_path / "t.csv", ["a", *(f"{i},5" for i in range(20)), "-"])
    np.testing.assert_allclose(load_file(path).frame["a"][:20], np.arange(20) + 0.5)


def test_amounts_percents_and_dashes_are_numbers(tmp_path):
    frame = pd.DataFrame(
        {
            "price": [f"${1000 + i:,}.50" for i in range(50)],
            "share": [f"{i % 20}%" for i in range(50)],
            "gap": ["-", "n/a", *(str(i % 9) for i in range(48))],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = load_file(tmp_path / "t.csv")
    np.testing.assert_array_equal(data.frame["price"], 1000.5 + np.arange(50))
    np.testing.assert_array_equal(data.frame["share"], np.arange(50) % 20)
    np.testing.assert_array_equal(data.frame["gap"], [np.nan, np.nan, *(i % 9 for i in range(48))])
    assert data.policy[:3] == (
        "column 'price': '$' and thousands separators left out",
        "column 'share': in percent",
        "column 'gap': '-' read as empty",
    )


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    "rows",
    [
        [f"{a},{b},{c}" for a, b, c in ROWS[5:]],
        [f"{a},{b},{'xyz'[i % 3]}" for i, (a, b, c) in enumerate(ROWS[5:])],
        [f"name {i},{a},{b}" for i, (a, b, c) in enumerate(ROWS[5:])],
        ["pqr"[i % 3] + "," + "xy"[i % 2] + ",True" for i in range(90)],
        [f"{i * 7 % 50},{i * 3 % 50}" for i in range(1, 90)],
    ],
    ids=["numbers", "classes", "keys", "categories", "whole numbers"],
)
def test_a_first_row_of_values_is_recognized(tmp_path, rows):
    style = csv_style(write(tmp_path / "t.csv", rows))
    assert not style.has_names
    assert style.names == [f"column{j + 1}" for j in range(rows[0].count(",") + 1)]
    n = len(style.names)
    assert style.notes == (f"the first line is a row of values: the columns are called column1 to column{n}",)


def test_no_row_is_lost_to_the_names(tmp_path):
    path = write(tmp_path / "t.csv", [f"{a},{b},{c}" for a, b, c in ROWS[5:]])
    np.testing.assert_allclose(values_of(path), ROWS[5:])
    assert load_file(path).feature_names == ("column1", "column2", "column3")


@pytest.mark.parametrize(
    "header",
    ["a,b,c", "country,2019,2020", "0,1,2", "1,2,3", "1100,1102.5,1105", "a,1,c", ",b,c", "x,x,x", "True,b,c"],
)
def test_names_are_names(tmp_path, header):
    rows = [
        f"{'xyz'[i % 3]},{b},{c}" if "country" in header else f"{a},{b},{c}" for i, (a, b, c) in enumerate(ROWS)
    ]
    assert csv_style(write(tmp_path / "t.csv", [header, *rows])).has_names


def test_many_increasing_numbers_are_names(tmp_path):
    header = ",".join(str(400 + j * j) for j in range(9))
    rows = [",".join(str(300 + 40 * ((i + j) % 9)) for j in range(9)) for i in range(30)]
    style = csv_style(write(tmp_path / "t.csv", [header, *rows]))
    assert style.has_names
    assert "if the first line is a row of values" in style.notes[0]


def test_two_columns_of_one_name_are_told(tmp_path):
    data = load_file(write(tmp_path / "t.csv", lines("{},{},{}", "a,b,a")))
    assert data.feature_names == ("a", "b", "a.1")
    assert "several columns are called 'a': the second became 'a.1'" in data.policy


# ------------------------------------------------------------------ encodings


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", "the text is UTF-16"),
        ("latin-1", "the text is not UTF-8 and was read as Latin-1"),
    ],
)
def test_encodings(tmp_path, encoding, note):
    path = write(tmp_path / "t.csv", lines("{};{};{}", "größe;b;c"), encoding)
    data = load_file(path)
    assert data.feature_names == ("größe", "b", "c")
    np.testing.assert_allclose(values_of(path), ROWS)
    assert any(note in sentence for sentence in data.policy)
    assert ("text is" in data.policy[0]) == bool(note)


def test_latin_letters_far_below(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + 99_999 * b"1,2\n3,1\n" + "2,é\n".encode("latin-1"))
    assert csv_style(path).encoding == "latin-1"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_nul_characters_are_refused_with_their_line(tmp_path, encoding):
    path = tmp_path / "t.csv"
    text = "é,b\n" + "1,2\n" * 5000 + "1\0.420,3\n" + "1,2\n" * 10
    path.write_bytes(text.encode(encoding))
    with pytest.raises(UserError, match=r"t\.csv: line 5002 has a NUL character"):
        csv_style(path)


@pytest.mark.parametrize("cell", ["1" * 3_000_000, "a" * 3_000_000, '"' + "a,b " * 700_000 + '"'])
def test_cells_without_an_end_are_refused(tmp_path, cell):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 20 + f"{cell},3\n")
    with pytest.raises(UserError, match=r"more than 1,048,576 characters"):
        csv_style(path)


def test_long_texts_and_long_lines_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 20 + "x" * 900_000 + ",3\n" + "1,2\n" * 20)
    assert csv_style(path).header == ("a", "b")
    path.write_text(
        ",".join(f"column{i:03}" * 4 for i in range(50_000)) + "\n" + ",".join(["0.25"] * 50_000) + "\n"
    )
    assert len(csv_style(path).header) == 50_000
    path.write_text(",".join(f"c{i}" for i in range(200_000)) + "\n" + ",".join(["0.25"] * 200_000) + "\n")
    with pytest.raises(UserError, match=r"has 200,000 columns, a table at most 100,000: save it as \.npy"):
        csv_style(path)
