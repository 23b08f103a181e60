"""Which leaf encloses which, for leaves that are sheets through their core rows."""

import numpy as np
import pytest

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.finders.flats.sheets import SheetLeaf
from disentree.mimosa.tree.enclosure import enclosures, limits_of


def bowl(x, y):
    """A curved sheet in three dimensions."""
    return np.stack([x, y, 0.3 * (x**2 + y**2)], axis=1)


def sheet_and_line(line, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    sheet = bowl(*rng.uniform(-1, 1, (2, n)))
    line = line(rng.uniform(-1, 1, n // 10))
    Z = np.concatenate([line, sheet])
    leaves = [SheetLeaf(rows, np.zeros((len(rows), d, 3)), True, 0.1) for d, rows in ((1, line), (2, sheet))]
    shares = np.array([len(line), len(sheet)]) / len(Z)
    return LeafCandidate("sheets", leaves, shares), Z, np.repeat([0, 1], [len(line), len(sheet)])


@pytest.mark.parametrize("n", [1000, 10_000])
@pytest.mark.parametrize(
    ("line", "enclosed"),
    [
        (lambda t: bowl(t, 0.2 + 0 * t), True),  # on the sheet
        (lambda t: bowl(t, 1.005 + 0 * t), True),  # where it would go on
        (lambda t: bowl(t, 3 + 0 * t), False),  # where it would be, far from its rows
        (lambda t: bowl(t, 0 * t) + np.array([0, 0, 0.4]), False),  # above it
    ],
)
def test_a_line_is_enclosed_by_a_sheet_that_it_continues(line, enclosed, n):
    found, _ = enclosures(*sheet_and_line(line, n))
    assert found.tolist() == [[False, enclosed], [False, False]]


def test_own_rows_are_in_reach_whatever_the_units():
    candidate, Z, labels = sheet_and_line(lambda t: bowl(t, 0 * t))
    leaf, rows = candidate.components[1], Z[labels == 1][:500]
    off, apart = limits_of(leaf, rows)
    assert off == FIT.half
    larger = SheetLeaf(100 * leaf.points, leaf.bases, True, 0.1)
    assert limits_of(larger, 100 * rows) == pytest.approx([off, 100 * apart], rel=1e-6)
