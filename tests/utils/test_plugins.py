"""Names for things of others; covers `plugins.py` and `latex.py`."""

import sys

import pytest

from disentree.errors import UserError
from disentree.utils.latex import latex_table
from disentree.utils.plugins import find_in_working_directory, import_object, is_spec


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b:C", True), ("a:b.c", True), ("vae", False), ("C:\\data", False), ("a:", False), ("a b:c", False)],
)
def test_a_spec_says_where_something_is(name, expected):
    assert is_spec(name) == expected


def test_modules_of_the_working_directory_are_found_once_asked(tmp_path, monkeypatch):
    (tmp_path / "of_mine.py").write_text("class Deep:\n    thing = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(UserError, match="the module of_mine cannot be imported"):
        import_object("of_mine:Deep")
    find_in_working_directory()
    assert import_object("of_mine:Deep.thing") == 3
    with pytest.raises(UserError, match="of_mine has no Shallow"):
        import_object("of_mine:Shallow")


def test_a_table_for_a_paper():
    table = latex_table(["data_set", "R²"], [["50 % & more", "0.9 ± 0.1"]], [1], caption="All", label="x")
    assert table.splitlines()[1:] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{All}",
        r"\label{tab:x}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"data\_set & R$^2$ \\",
        r"\midrule",
        r"50 \% \& more & 0.9 $\pm$ 0.1 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
