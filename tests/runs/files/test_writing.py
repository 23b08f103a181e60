"""Tables that `apply` writes."""

import csv
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest

from disentree.runs.files.writing import Assigned, not_a_formula, open_writer


@pytest.mark.parametrize("text", ['=HYPERLINK("x")', "+1-555-0100", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=="])
def test_formulas_get_an_apostrophe(text):
    assert not_a_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-", "+", "-1.5", "+2e9", "-inf", "a=b", "x", "'=1"])
def test_other_text_and_numbers_stay(text):
    assert not_a_formula(text) == text


@pytest.mark.parametrize("escape", [True, False])
def test_headers_leaves_and_kept_cells_of_a_csv(tmp_path, escape):
    numbers = np.ones(2), np.full(2, 3.5), np.zeros(2)
    found = Assigned(np.array([[0.5], [-2.0]]), np.array([0, -1]), *numbers, Counter())
    with ExitStack() as stack:
        write = open_writer(stack, tmp_path / "z.csv", ["=z"], ["=leaf"], ["=id", "n"], escape=escape)
        write(found, [["=1+1", None], ["-3", "7"]])
    with (tmp_path / "z.csv").open(newline="") as file:
        header, first, second = csv.reader(file)
    mark = "'" if escape else ""
    assert header == [f"{mark}=id", "n", "path", "leaf", "probability", "strange", "error", f"{mark}=z"]
    assert first == [f"{mark}=1+1", "-3", "0", f"{mark}=leaf", "1.0", "3.5", "0.0", "0.5"]
    assert second == ["", "7", "-1", "", "1.0", "3.5", "0.0", "-2.0"]
