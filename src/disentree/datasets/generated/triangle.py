"""A triangle and its three edges: a component that encloses three others, of which a tree can follow one.

A point of the triangle is a + s (b - a) + t (c - b) with 0 <= t <= s <= 1. On edge ab t is 0, on bc s is 1, and on
ca both are equal. The hierarchy is a tree in which the triangle is a child of edge ab: its second variable runs
along edge bc, as the variable of that edge does.
"""

from __future__ import annotations

import numpy as np

from disentree.datasets.generated.recipe import Codes, Recipe, Rows, choice, tree

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.35, 0.8]])  # a, b and c; no two sides are of equal length
N_COLUMNS = 5

_INSIDE = choice("inside", no=(), yes=("b to c, inside",))
TRIANGLE = tree(choice("edge", ab=("a to b", _INSIDE), bc=("b to c",), ca=("c to a",)))
# columns of the codes
EDGE, AB, INSIDE, BC_INSIDE, BC, CA = range(6)


def _codes(n: int, rng: np.random.Generator) -> Codes:
    part, along, place = rng.integers(0, 4, n), rng.random(n), rng.random((n, 2))
    ab, bc, ca, inside = (part == k for k in range(4))
    codes = np.full((n, 6), np.nan)
    codes[:, EDGE] = np.where(inside, 0, part)
    codes[ab | inside, INSIDE] = inside[ab | inside]
    codes[ab, AB], codes[bc, BC], codes[ca, CA] = along[ab], along[bc], along[ca]
    codes[inside, AB] = np.sqrt(place[inside, 0])  # uniform in the triangle
    codes[inside, BC_INSIDE] = codes[inside, AB] * place[inside, 1]
    return codes


def _rows(codes: Codes) -> Rows:
    s = np.select([codes[:, EDGE] == 1, codes[:, EDGE] == 2], [1.0, 1 - codes[:, CA]], codes[:, AB])
    t = np.select(
        [codes[:, EDGE] == 1, codes[:, EDGE] == 2], [codes[:, BC], 1 - codes[:, CA]], codes[:, BC_INSIDE]
    )
    a, b, c = CORNERS
    flat = a + s[:, None] * (b - a) + np.nan_to_num(t)[:, None] * (c - b)
    # A fixed rotation, so that no column is one of the variables.
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((N_COLUMNS, 2)))[0]
    return flat[:, :1] * rotation[:, 0] + flat[:, 1:] * rotation[:, 1]


RECIPE = Recipe("a triangle and its three edges, which it encloses", TRIANGLE, _codes, _rows)
