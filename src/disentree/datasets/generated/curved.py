"""Curved manifolds of different dimension with a known tree: small tests of what MIMOSA can tell apart.

nested-curved   a curve in a surface in a volume, bent into eight columns and rotated into twelve
swiss-roll      a rolled-up sheet and the curve in its middle
equator         a sphere and its equator
circles-disc    two circles that cross, and a disc apart from them
"""

from __future__ import annotations

import numpy as np

from disentree.datasets.generated.recipe import Codes, Recipe, Rows, choice, tree

NESTED = tree("u1", choice("surface", no=(), yes=("u2", choice("volume", no=(), yes=("u3",)))))


def _nested_codes(n: int, rng: np.random.Generator) -> Codes:
    u, dimension = rng.uniform(-1, 1, (n, 3)), rng.integers(1, 4, n)
    codes = np.full((n, 5), np.nan)
    codes[:, 0], codes[:, 1] = u[:, 0], dimension > 1
    surface, volume = dimension > 1, dimension > 2
    codes[surface, 2], codes[surface, 3] = u[surface, 1], volume[surface]
    codes[volume, 4] = u[volume, 2]
    return codes


def _nested_rows(codes: Codes) -> Rows:
    a, b, c = np.nan_to_num(codes[:, [0, 2, 4]]).T
    bent = np.column_stack([a, b, c, a**2, np.sin(2 * b), a * c, np.cos(3 * a)])
    # A fixed rotation, so that no column is one of the variables.
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 7)))
    return bent @ rotation.T


SWISS_ROLL = tree("along", choice("sheet", no=(), yes=("across",)))


def _line_or_sheet_codes(low: float, high: float, width: float):
    def sample(n: int, rng: np.random.Generator) -> Codes:
        along, across, sheet = rng.uniform(low, high, n), rng.uniform(-width, width, n), rng.random(n) < 2 / 3
        return np.column_stack([along, sheet, np.where(sheet, across, np.nan)])

    return sample


def _swiss_roll_rows(codes: Codes) -> Rows:
    angle = 1.5 * np.pi * (1 + 2 * codes[:, 0])
    radius = angle / (4.5 * np.pi)
    return np.column_stack([radius * np.cos(angle), np.nan_to_num(codes[:, 2]), radius * np.sin(angle)])


EQUATOR = tree("longitude", choice("sphere", no=(), yes=("height",)))


def _equator_rows(codes: Codes) -> Rows:
    height = np.nan_to_num(codes[:, 2])
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(codes[:, 0]), radius * np.sin(codes[:, 0]), height])


CIRCLES_DISC = tree(choice("shape", first_circle=("angle 1",), second_circle=("angle 2",), disc=("x", "y")))


def _circles_disc_codes(n: int, rng: np.random.Generator) -> Codes:
    shape, angle = rng.integers(0, 3, n), rng.uniform(0, 2 * np.pi, n)
    radius = np.sqrt(rng.random(n))
    codes = np.full((n, 5), np.nan)
    codes[:, 0] = shape
    for k in range(2):
        codes[shape == k, 1 + k] = angle[shape == k]
    disc = shape == 2
    codes[disc, 3:] = (radius * [np.cos(angle), np.sin(angle)]).T[disc]
    return codes


def _circles_disc_rows(codes: Codes) -> Rows:
    X = np.zeros((len(codes), 4))
    first, second, disc = (codes[:, 0] == k for k in range(3))
    X[first, 0], X[first, 1] = np.cos(codes[first, 1]), np.sin(codes[first, 1])
    # The second circle lies in another plane and crosses the first in two points.
    X[second, 0], X[second, 2] = np.cos(codes[second, 2]), np.sin(codes[second, 2])
    X[disc, 1], X[disc, 2], X[disc, 3] = codes[disc, 3], codes[disc, 4], 3.0
    return X


RECIPES = {
    "nested-curved": Recipe("a curve in a surface in a volume, curved", NESTED, _nested_codes, _nested_rows),
    "swiss-roll": Recipe(
        "a rolled-up sheet and the curve in its middle",
        SWISS_ROLL,
        _line_or_sheet_codes(0, 1, 0.7),
        _swiss_roll_rows,
    ),
    "equator": Recipe("a sphere and its equator", EQUATOR, _line_or_sheet_codes(0, 2 * np.pi, 1.0), _equator_rows),
    "circles-disc": Recipe(
        "two circles that cross and a disc apart from them", CIRCLES_DISC, _circles_disc_codes, _circles_disc_rows
    ),
}
