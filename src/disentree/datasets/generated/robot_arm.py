"""Markers on a robot arm of which one, two or three joints move: curves, surfaces and volumes with known angles.

The arm is a Puma 560. In every pose the waist turns; in some the shoulder turns too, and in some of these the
elbow. Joints that do not move stay at their rest angle, so the three modes are nested. Markers move on circles, on
surfaces that two rotations sweep, and so on: the manifolds are curved, and each spans more linear dimensions than
it has (2, 8 and 14).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.datasets.generated.recipe import Recipe, choice, tree

# Denavit-Hartenberg parameters of the first three joints: twist, link length and offset, in radians and meters.
TWIST = (np.pi / 2, 0.0, -np.pi / 2)
LENGTH = (0.0, 0.4318, 0.0203)
OFFSET = (0.0, 0.0, 0.15005)
REST = (0.0, 0.5, -0.8)  # angles of joints that do not move
RANGE = (1.2, 0.7, 0.8)  # how far a moving joint turns to either side of its rest angle

# Markers in the frame of each link, in meters: 1 on the first link, 5 on the second, 5 on the third.
MARKERS: tuple[tuple[tuple[float, float, float], ...], ...] = (
    ((0.10, 0.05, 0.08),),
    ((0.00, 0.06, 0.05), (-0.10, 0.05, 0.08), (-0.20, -0.06, 0.05), (-0.30, 0.04, -0.05), (-0.40, -0.05, 0.02)),
    ((0.02, 0.05, 0.05), (0.00, -0.05, 0.10), (0.03, 0.04, 0.20), (0.05, -0.02, 0.38), (-0.05, 0.00, 0.43)),
)
STILL = 2  # the height of the marker on the first link never changes: no column

HIERARCHY = tree(
    "waist",
    choice("shoulder moves", no=(), yes=("shoulder", choice("elbow moves", no=(), yes=("elbow",)))),
)


def sample_codes(n: int, rng: np.random.Generator) -> Float[np.ndarray, "n 5"]:
    """Angles as offsets from rest, uniform in their ranges; a third of the rows in each mode."""
    angles = rng.uniform(-1, 1, (n, 3)) * RANGE
    n_moving = rng.integers(1, 4, n)
    codes = np.full((n, 5), np.nan)
    codes[:, 0] = angles[:, 0]
    codes[:, 1] = n_moving > 1
    shoulder, elbow = n_moving > 1, n_moving > 2
    codes[shoulder, 2] = angles[shoulder, 1]
    codes[shoulder, 3] = elbow[shoulder]
    codes[elbow, 4] = angles[elbow, 2]
    return codes


def render(codes: Float[np.ndarray, "n 5"]) -> Float[np.ndarray, "n 32"]:
    """Positions of the 11 markers in meters: x, y and z of each, without the one coordinate that never changes."""
    angles = np.nan_to_num(codes[:, [0, 2, 4]]) + np.array(REST)
    pose = np.broadcast_to(np.eye(4), (len(codes), 4, 4))
    points = []
    for joint in range(3):
        pose = pose @ _link(angles[:, joint], TWIST[joint], LENGTH[joint], OFFSET[joint])
        points.append(np.array(MARKERS[joint]) @ np.swapaxes(pose[:, :3, :3], 1, 2) + pose[:, None, :3, 3])
    return np.delete(np.concatenate(points, axis=1).reshape(len(codes), -1), STILL, axis=1)


def _link(
    angle: Float[np.ndarray, " n"], twist: float, length: float, offset: float
) -> Float[np.ndarray, "n 4 4"]:
    """The frame of a link in that of the one before it."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    zero, one = np.zeros_like(c), np.ones_like(c)
    rows = [
        [c, -s * ct, s * st, length * c],
        [s, c * ct, -c * st, length * s],
        [zero, st * one, ct * one, offset * one],
        [zero, zero, zero, one],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


RECIPE = Recipe("markers on a robot arm, one to three of whose joints move", HIERARCHY, sample_codes, render)
