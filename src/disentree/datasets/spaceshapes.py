"""Spaceshapes: 64x64 images of moons, stars and ships, each shape with a factor of its own.

Every image is drawn from its codes alone, by formula: a signed distance to the outline and a soft edge
about one pixel wide. Pixels therefore change smoothly with every factor, position included, and an image
does not depend on which other images are drawn with it or on how many threads draw them.
"""

import math
from typing import no_type_check

import numpy as np
from jaxtyping import Float, UInt8
from numba import njit, prange

from disentree.hierarchy import Hierarchy

SPACESHAPES = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "x"},
            {"kind": "continuous", "name": "y"},
            {
                "kind": "categorical",
                "name": "shape",
                "options": [
                    {"name": "moon", "variables": [{"kind": "continuous", "name": "phase"}]},
                    {"name": "star", "variables": [{"kind": "continuous", "name": "shine"}]},
                    {
                        "name": "ship",
                        "variables": [
                            {"kind": "continuous", "name": "angle"},
                            {
                                "kind": "categorical",
                                "name": "jet",
                                "options": [
                                    {"name": "none", "variables": []},
                                    {"name": "jet", "variables": [{"kind": "continuous", "name": "jetlen"}]},
                                ],
                            },
                        ],
                    },
                ],
            },
        ]
    }
)

# columns of the codes, and the options of the two categoricals
X, Y, SHAPE, PHASE, SHINE, ANGLE, JET, JETLEN = range(8)
N_COLUMNS = 8
MOON, STAR, SHIP = range(3)
WITH_JET = 1

# Lengths below are in pixels of a 64-pixel image, measured from the shape's centre; `u` points right (or to
# the ship's starboard) and `v` up (or to the ship's nose).
FRAME = 64
TRAVEL = 32.0  # the centre moves this far as x or y goes from 0 to 1
REACH = 15.5  # nothing is drawn farther than this from the centre
SOFT_EDGE = 0.75  # half the width of an edge, in pixels of the image drawn

MOON_RADIUS = 11.0
TERMINATOR_FULL, TERMINATOR_NEW = 0.75, -0.6  # where the shadow begins at phase 0 and 1, in moon radii

STAR_RADIUS = 14.0
WAIST_DULL, WAIST_SHARP = 0.8, 0.22  # radius between two points at shine 0 and 1, in star radii

MAX_TILT = math.pi / 4
# starboard half of the outline, from nose to tail: nose cone, hull, wing, hull, tail
HULL = np.array([[0.0, 14.3], [2.2, 9.5], [3.0, 5.0], [9.6, -3.0], [3.0, -3.0], [2.2, -9.0], [0.0, -9.0]])
NOZZLE_U, NOZZLE_V = 6.2, -3.0
FLAME_HALF_WIDTH = 2.6
FLAME_SCALE = 15.5
FLAME_SHORTEST, FLAME_LONGEST = 0.25, 0.67  # at jetlen 0 and 1, in flame scales


def sample_codes(n_samples: int, rng: np.random.Generator) -> Float[np.ndarray, "n_samples 8"]:
    """Draw codes with every factor uniform: 1/3 moons, 1/3 stars, 1/6 ships, 1/6 ships with jets."""
    codes = rng.random((n_samples, N_COLUMNS))
    codes[:, SHAPE] = rng.integers(3, size=n_samples)
    codes[:, JET] = rng.integers(2, size=n_samples)
    codes[codes[:, SHAPE] != MOON, PHASE] = np.nan
    codes[codes[:, SHAPE] != STAR, SHINE] = np.nan
    codes[codes[:, SHAPE] != SHIP, ANGLE : JETLEN + 1] = np.nan
    codes[codes[:, JET] != WITH_JET, JETLEN] = np.nan
    return codes


def render(
    codes: Float[np.ndarray, "n columns"], *, size: int = 64, binarize: bool = False
) -> UInt8[np.ndarray, "n size size"]:
    """Draw one image per row of `codes`, white (255) on black (0).

    Parameters
    ----------
    codes
        Columns x, y, shape, phase, shine, angle, jet, jetlen, as in `SPACESHAPES`; NaN where not active.
        `x` moves a shape from left to right and `y` from bottom to top, each by half the image. `phase`
        takes a moon from gibbous to crescent, `shine` a star from dull to sharp, `angle` tilts a ship from
        45 degrees left to 45 degrees right, `jetlen` lengthens the two flames behind a ship with jets.
    size
        Side of the square images in pixels.
    binarize
        Whether to threshold at 128, which leaves only 0 and 255. Images then no longer change smoothly.

    Examples
    --------
    >>> import numpy as np
    >>> codes = sample_codes(5, np.random.default_rng(0))
    >>> render(codes).shape
    (5, 64, 64)
    """
    if codes.shape[1] != N_COLUMNS:
        raise ValueError(f"codes must have {N_COLUMNS} columns to draw Spaceshapes, got {codes.shape[1]}.")
    if size < 16:
        raise ValueError(f"size must be at least 16 pixels, got {size}.")
    images = np.zeros((len(codes), size, size), dtype=np.uint8)
    _draw(np.ascontiguousarray(codes, dtype=np.float64), images, binarize)
    return images


# `no_type_check` keeps run-time type checkers from wrapping these functions: numba compiles only plain ones.


@njit(parallel=True, cache=True)
@no_type_check
def _draw(codes, images, binarize):
    size = images.shape[1]
    scale = size / FRAME
    for i in prange(len(codes)):
        code = codes[i]
        shape = int(code[SHAPE])
        # from here on in pixels of the image, rows counted downward
        centre_col = (FRAME / 2 + TRAVEL * (code[X] - 0.5)) * scale
        centre_row = (FRAME / 2 - TRAVEL * (code[Y] - 0.5)) * scale
        reach = REACH * scale + SOFT_EDGE
        tilt = MAX_TILT * (2 * code[ANGLE] - 1)
        cos_tilt, sin_tilt = math.cos(tilt), math.sin(tilt)
        for row in range(max(0, int(centre_row - reach)), min(size, int(centre_row + reach) + 1)):
            v = (centre_row - row - 0.5) / scale
            for col in range(max(0, int(centre_col - reach)), min(size, int(centre_col + reach) + 1)):
                u = (col + 0.5 - centre_col) / scale
                if shape == MOON:
                    light = _moon(u, v, scale, code[PHASE])
                elif shape == STAR:
                    light = _star(u, v, scale, code[SHINE])
                else:
                    starboard = abs(u * cos_tilt - v * sin_tilt)  # ships are the same on both sides
                    ahead = u * sin_tilt + v * cos_tilt
                    light = _coverage(_hull_distance(starboard, ahead) * scale)
                    if code[JET] == WITH_JET:
                        flame = _flame(starboard, ahead, scale, code[JETLEN])
                        light = 1 - (1 - light) * (1 - flame)
                level = int(255 * light + 0.5)
                images[i, row, col] = (255 if level >= 128 else 0) if binarize else level


@njit(cache=True)
@no_type_check
def _coverage(distance):
    """How much of a pixel is covered by a shape whose edge is `distance` pixels away (inside: negative)."""
    t = min(1.0, max(0.0, 0.5 - distance / (2 * SOFT_EDGE)))
    return t * t * (3 - 2 * t)


@njit(cache=True)
@no_type_check
def _moon(u, v, scale, phase):
    """A disc lit from the left up to an arc that always joins its two poles."""
    limb = math.hypot(u, v) - MOON_RADIUS
    t = MOON_RADIUS * (TERMINATOR_FULL + (TERMINATOR_NEW - TERMINATOR_FULL) * phase)
    # distance to the arc through (t, 0) and the poles, written with its curvature, which passes through 0
    curvature = 2 * t / (t * t + MOON_RADIUS * MOON_RADIUS)
    a = u - t
    arc = (2 * a + curvature * (a * a + v * v)) / (1 + math.hypot(1 + curvature * a, curvature * v))
    return _coverage(limb * scale) * _coverage(arc * scale)


@njit(cache=True)
@no_type_check
def _star(u, v, scale, shine):
    """Four points with the radius R (1 - depth |sin 2 theta|)."""
    depth = 1 - (WAIST_DULL + (WAIST_SHARP - WAIST_DULL) * shine)
    rho2 = max(u * u + v * v, 1e-12)
    outline = STAR_RADIUS * (1 - depth * abs(2 * u * v) / rho2)
    slope = STAR_RADIUS * depth * 2 * (u * u - v * v) / rho2
    return _coverage((math.sqrt(rho2) - outline) * outline / math.hypot(outline, slope) * scale)


@njit(cache=True)
@no_type_check
def _hull_distance(starboard, ahead):
    """Signed distance to the ship's outline, from a point on the starboard side."""
    nearest2 = np.inf
    inside = False
    for k in range(len(HULL) - 1):
        u0, v0 = HULL[k]
        du, dv = HULL[k + 1, 0] - u0, HULL[k + 1, 1] - v0
        pu, pv = starboard - u0, ahead - v0
        along = min(1.0, max(0.0, (pu * du + pv * dv) / (du * du + dv * dv)))
        gap_u, gap_v = pu - along * du, pv - along * dv
        nearest2 = min(nearest2, gap_u * gap_u + gap_v * gap_v)
        # a ray to starboard leaves the ship an odd number of times only if it starts inside
        if (pv < 0) != (pv < dv) and pu < du * pv / dv:
            inside = not inside
    distance = math.sqrt(nearest2)
    return -distance if inside else distance


@njit(cache=True)
@no_type_check
def _flame(starboard, ahead, scale, jetlen):
    """Half an ellipse behind the wing; its mirror image is the second flame."""
    length = FLAME_SCALE * (FLAME_SHORTEST + (FLAME_LONGEST - FLAME_SHORTEST) * jetlen)
    u, v = (starboard - NOZZLE_U) / FLAME_HALF_WIDTH, (ahead - NOZZLE_V) / length
    radius = max(math.hypot(u, v), 1e-6)
    slope = max(math.hypot(u / FLAME_HALF_WIDTH, v / length), 1e-6)
    ellipse = radius * (radius - 1) / slope
    return _coverage(ellipse * scale) * _coverage((ahead - NOZZLE_V - SOFT_EDGE) * scale)
