"""Cosines between tangent planes."""

import numpy as np
import pytest

from disentree.geometry.subspaces import Tangents
from disentree.mimosa.paper.algorithm4_tangent_plane_cos import similar_neighbors, tangent_plane_cos


def cos(U, V):
    return tangent_plane_cos(np.asarray(U, dtype=float), np.asarray(V, dtype=float))


def test_cosines_of_known_planes():
    a = np.deg2rad(30)
    x, y, z = np.eye(3)
    tilted = np.cos(a) * y + np.sin(a) * z
    assert cos([x], [y]) == pytest.approx(0)
    assert cos([x], [-x]) == pytest.approx(1)
    assert cos([x, y], [y, x]) == pytest.approx(1)
    assert cos([x, y], [x, tilted]) == pytest.approx(np.cos(a))
    # two principal angles: the product of their cosines
    e = np.eye(4)
    both = np.array([np.cos(a) * e[0] + np.sin(a) * e[2], np.cos(a) * e[1] + np.sin(a) * e[3]])
    assert cos(e[:2], both) == pytest.approx(np.cos(a) ** 2)


def test_planes_of_other_dimension_have_cosine_zero():
    x, y, _ = np.eye(3)
    assert cos([x], [x, y]) == 0


def test_similar_neighbors_are_those_of_algorithm_4():
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((60, 4, 4)))[0]
    tangents = Tangents(rng.integers(1, 5, 60), bases)
    neighbors = rng.integers(0, 60, (60, 8))
    similar = similar_neighbors(tangents, neighbors, 0.3)
    for i in range(60):
        for j in range(8):
            other = neighbors[i, j]
            planes = (bases[row, : tangents.dimensions[row]] for row in (i, other))
            assert similar[i, j] == (cos(*planes) >= 0.3)
