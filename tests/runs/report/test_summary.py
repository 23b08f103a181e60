"""The sentences at the head of a report; its tree is tested with the findings that it shows."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.runs.report.findings import Findings
from disentree.runs.report.summary import Summary, verdict_of

FOUND = {"from": "mimosa", "saved_bits": 49.74, "saved_bits_doubt": 0.3, "verdict": None}
CLUSTERS = Findings(Hierarchy.flat(1, (2,)))


def how_sure(structure):
    return Summary({}, structure, {}, CLUSTERS.hierarchy, np.array([0, 1]), CLUSTERS).how_sure


@pytest.mark.parametrize(
    ("bits", "likelier"),
    [
        (49.74, "far likelier under this tree than under one Gaussian: 49.74 bits per row."),
        (1.0, "2.0 times as likely under this tree as under one Gaussian: 1.00 bits per row."),
        (10.0, "about 1,024 times as likely under this tree as under one Gaussian: 10.00 bits per row."),
    ],
)
def test_how_much_likelier_new_rows_are(bits, likelier):
    said = how_sure({**FOUND, "saved_bits": bits})
    assert said[0] == f"New rows are {likelier}"
    assert said[1].startswith("This is far beyond chance")


def test_nothing_is_said_about_one_cloud():
    assert how_sure({**FOUND, "saved_bits": 0.0}) == []


def test_a_product_that_was_given():
    given = Findings(Hierarchy.flat(1, (2, 2)))
    said = "The tree is part of this data set: 2 yes/no properties of a row, independent of each other."
    assert verdict_of({**FOUND, "from": "true"}, given, 4) == said
