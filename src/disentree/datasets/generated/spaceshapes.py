"""Spaceshapes: 64x64 images of moons, stars and ships, each shape with a factor of its own.

Every image is drawn from its codes alone, by formula: a signed distance to the outline and a soft edge
about one pixel wide. Pixels therefore change smoothly with every factor, position included, and an image
does not depend on which other images are drawn with it or on how many threads draw them.
"""

import math
from dataclasses import replace
from typing import no_type_check

import numpy as np
from jaxtyping import Float, UInt8
from numba import njit

from disentree.datasets.generated.recipe import choice, tree
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Group
from disentree.utils.threads import over_rows

SPACESHAPES = tree(
    "x",
    "y",
    choice(
        "shape",
        moon=("phase",),
        star=("shine",),
        ship=("angle", choice("jet", none=(), jet=("jetlen",))),
    ),
)

# What an independent second categorical may be: its options, how large and how bright each draws a shape.
SECOND = {
    "color": (("white", "gray"), (1.0, 1.0), (1.0, 0.5)),
    "size": (("large", "small"), (1.0, 2 / 3), (1.0, 1.0)),
}

STYLES = ("smooth", "paper")
# The paper's images are drawn without soft edges at four times the size, which gives 128 steps for half an image,
# and from drawings for 256 values of a factor. Blocks bound memory.
PAPER_ZOOM, PAPER_PLACES, PAPER_LEVELS, PAPER_BLOCK = 4, 128, 255, 1000

# columns of the codes, and options of the categoricals
X, Y, SHAPE, PHASE, SHINE, ANGLE, JET, JETLEN = range(8)
MOON, STAR, SHIP = range(3)
WITH_JET = 1

# Lengths below are in pixels of a 64-pixel image, measured from the shape's center; `u` points right (or to
# the ship's starboard) and `v` up (or to the ship's nose).
FRAME = 64
TRAVEL = 32.0  # the center moves this far as x or y goes from 0 to 1
REACH = 15.0  # no outline is farther than this from the center
SOFT_EDGE = 0.75  # half the width of an edge, in pixels of the image drawn
# Stars and ships are rounded by as much as edges are soft: a point thinner than its own edge would make a
# pixel's brightness turn sharply as the point passes over it.
ROUNDING = 0.75

MOON_RADIUS = 11.0
MOON_GIBBOUS, MOON_CRESCENT = 0.75, -0.6  # where the shadow begins at phase 0 and 1, in moon radii

STAR_POINTS = 5
STAR_RADIUS = 13.7
STAR_DULL, STAR_SHARP = 0.84, 0.22  # radius of the notches between the points at shine 0 and 1, in star radii

MAX_TILT = math.pi / 4
# starboard half of the ship's outline from nose to tail; the longest segments bound the wing
HULL = np.array([[0, 14], [3.0, 9.5], [3.6, 6.5], [11, 0.5], [11, -2], [3, -0.5], [2, -2.5], [0, -2.5]])
FLAME_U, FLAME_V = 4.8, 0.0  # middle of the starboard nozzle, at the wing's trailing edge
FLAME_SCALE = 20.0
FLAME_SHORTEST, FLAME_LONGEST = 0.25, 0.67  # length at jetlen 0 and 1, in flame scales
FLAME_THIN, FLAME_THICK = 0.1, 0.15  # half width at jetlen 0 and 1, in flame scales


def hierarchy_with(second: str | None = None, binarize: bool = False, style: str = "smooth") -> Hierarchy:
    """The hierarchy of the codes: `SPACESHAPES`, with a second categorical after `shape` if one is asked for."""
    if style not in STYLES:
        raise ValueError(f"style must be {' or '.join(map(repr, STYLES))}, got {style!r}")
    if second == "color" and style == "paper":
        raise ValueError("second must not be 'color' with style='paper', which has one color")
    if second is None:
        return SPACESHAPES
    if second not in SECOND:
        raise ValueError(f"second must be None, {' or '.join(map(repr, SECOND))}, got {second!r}")
    if second == "color" and binarize:
        raise ValueError("second must not be 'color' with binarize, which leaves one color")
    options = tuple(Group((), name) for name in SECOND[second][0])
    return Hierarchy(
        replace(SPACESHAPES.root, variables=(*SPACESHAPES.root.variables, Categorical(second, options)))
    )


def _quantized(codes: Float[np.ndarray, "n columns"]) -> Float[np.ndarray, "n columns"]:
    """Codes at the steps of the paper's drawings; angles have none."""
    out = codes.copy()
    out[:, [X, Y]] = np.round(out[:, [X, Y]] * PAPER_PLACES) / PAPER_PLACES
    drawn = [PHASE, SHINE, JETLEN]
    out[:, drawn] = np.round(out[:, drawn] * PAPER_LEVELS) / PAPER_LEVELS
    return out


def _reduce(images: UInt8[np.ndarray, "n big big"]) -> UInt8[np.ndarray, "n small small"]:
    """A quarter of the size, each pixel a mean with weights that fall linearly over four pixels to either side."""
    big = images.shape[1]
    centers = PAPER_ZOOM * (np.arange(big // PAPER_ZOOM) + 0.5)
    weights = np.maximum(0, 1 - np.abs(np.arange(big) + 0.5 - centers[:, None]) / PAPER_ZOOM).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.round(weights @ images.astype(np.float32) @ weights.T).astype(np.uint8)


def sample_codes(
    n_samples: int, rng: np.random.Generator, second: str | None = None
) -> Float[np.ndarray, "{n_samples} columns"]:
    """Draw codes with every factor uniform: 1/3 moons, 1/3 stars, 1/6 ships, 1/6 ships with jets."""
    return hierarchy_with(second).sample(n_samples, rng)


def render(
    codes: Float[np.ndarray, "n columns"],
    *,
    size: int = 64,
    binarize: bool = False,
    second: str | None = None,
    style: str = "smooth",
) -> UInt8[np.ndarray, "n {size} {size}"]:
    """Draw one image per row of `codes`, white (255) on black (0).

    `x` moves a shape from left to right and `y` from bottom to top, each by half the image. `phase` takes a moon
    from gibbous to crescent, `shine` a star from dull to sharp, `angle` tilts a ship from 45 degrees left to 45
    degrees right, `jetlen` lengthens the two flames behind a ship with jets. `binarize` thresholds at 128, so that
    images no longer change smoothly. `second` is an independent second categorical in the last column of `codes`,
    see `SECOND`. With `style` "paper", images are made in the way of the paper's: 129 places along x and y, 256
    steps of phase, shine and jet length, hard edges in an image of four times the size, which is then reduced. The
    outlines are those of "smooth".
    """
    codes = hierarchy_with(second, binarize, style).validate(codes)
    if size < 16:
        raise ValueError(f"size must be at least 16 pixels, got {size}")
    if style == "paper":
        codes, blocks = _quantized(codes), range(0, len(codes), PAPER_BLOCK)
        drawn = [_render(codes[i : i + PAPER_BLOCK], PAPER_ZOOM * size, True, second) for i in blocks]
        out = [np.zeros((0, size, size), dtype=np.uint8), *map(_reduce, drawn)]
        images = np.concatenate(out)
        return np.where(images >= 128, 255, 0).astype(np.uint8) if binarize else images
    return _render(codes, size, binarize, second)


def _render(
    codes: Float[np.ndarray, "n columns"], size: int, binarize: bool, second: str | None
) -> UInt8[np.ndarray, "n {size} {size}"]:
    images = np.zeros((len(codes), size, size), dtype=np.uint8)
    zoom = light = np.ones(len(codes))
    if second is not None:
        zoom, light = (np.array(values)[codes[:, -1].astype(np.intp)] for values in SECOND[second][1:])
    over_rows(_draw, len(codes), np.ascontiguousarray(codes), zoom, light, images, binarize)
    return images


# `no_type_check` keeps jaxtyping's import hook from wrapping these functions: numba compiles only plain ones.


@njit(nogil=True, cache=True)
@no_type_check
def _draw(start, stop, codes, zoom, brightness, images, binarize):
    size = images.shape[1]
    frame_scale = size / FRAME
    for i in range(start, stop):
        code = codes[i]
        scale = frame_scale * zoom[i]
        shape = int(code[SHAPE])
        # from here on in pixels of the image, rows counted downward
        center_col = (FRAME / 2 + TRAVEL * (code[X] - 0.5)) * frame_scale
        center_row = (FRAME / 2 - TRAVEL * (code[Y] - 0.5)) * frame_scale
        reach = REACH * scale + SOFT_EDGE
        tilt = MAX_TILT * (2 * code[ANGLE] - 1)
        cos_tilt, sin_tilt = math.cos(tilt), math.sin(tilt)
        for row in range(max(0, int(center_row - reach)), min(size, int(center_row + reach) + 1)):
            v = (center_row - row - 0.5) / scale
            for col in range(max(0, int(center_col - reach)), min(size, int(center_col + reach) + 1)):
                u = (col + 0.5 - center_col) / scale
                if shape == MOON:
                    light = _moon(u, v, scale, code[PHASE])
                elif shape == STAR:
                    light = _star(u, v, scale, code[SHINE])
                else:
                    starboard = abs(u * cos_tilt - v * sin_tilt)  # ships are the same on both sides
                    ahead = u * sin_tilt + v * cos_tilt
                    light = _hull(starboard, ahead, scale)
                    if code[JET] == WITH_JET:
                        flame = _flame(starboard, ahead, scale, code[JETLEN])
                        light = 1 - (1 - light) * (1 - flame)
                level = int(255 * brightness[i] * light + 0.5)
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
    """A disc, lit on the left up to an arc from pole to pole."""
    limb = math.hypot(u, v) - MOON_RADIUS
    middle = MOON_RADIUS * (MOON_GIBBOUS + (MOON_CRESCENT - MOON_GIBBOUS) * phase)
    # distance to the circle through (middle, 0) and both poles, written with its curvature so that nothing
    # happens when the arc becomes straight and turns over
    curvature = 2 * middle / (middle * middle + MOON_RADIUS * MOON_RADIUS)
    u -= middle
    arc = (2 * u + curvature * (u * u + v * v)) / (1 + math.hypot(1 + curvature * u, curvature * v))
    return _coverage(limb * scale) * _coverage(arc * scale)


@njit(cache=True)
@no_type_check
def _star(u, v, scale, shine):
    """Straight sides from each point to the notches beside it, one point up."""
    # all sides are mirror images of the one that starts at angle 0, so fold the plane onto it
    wedge = 2 * math.pi / STAR_POINTS
    angle = math.atan2(u, v)
    angle = abs(angle - wedge * np.round(angle / wedge))
    radius = math.hypot(u, v)
    u, v = radius * math.sin(angle), radius * math.cos(angle)
    notch = STAR_RADIUS * (STAR_DULL + (STAR_SHARP - STAR_DULL) * shine)
    du, dv = notch * math.sin(wedge / 2), notch * math.cos(wedge / 2) - STAR_RADIUS
    distance = math.sqrt(_squared_gap(u, v - STAR_RADIUS, du, dv))
    inside = du * (v - STAR_RADIUS) < dv * u
    return _coverage(((-distance if inside else distance) - ROUNDING) * scale)


@njit(cache=True)
@no_type_check
def _hull(starboard, ahead, scale):
    """The ship without its flames, seen from a point on the starboard side."""
    nearest = np.inf
    inside = False
    for k in range(len(HULL) - 1):
        u, v = starboard - HULL[k, 0], ahead - HULL[k, 1]
        du, dv = HULL[k + 1, 0] - HULL[k, 0], HULL[k + 1, 1] - HULL[k, 1]
        nearest = min(nearest, _squared_gap(u, v, du, dv))
        # a ray to starboard crosses the outline an odd number of times only if it starts inside
        if (v < 0) != (v < dv) and u < du * v / dv:
            inside = not inside
    distance = math.sqrt(nearest)
    return _coverage(((-distance if inside else distance) - ROUNDING) * scale)


@njit(cache=True)
@no_type_check
def _squared_gap(u, v, du, dv):
    """Squared distance from (u, v) to the segment from the origin to (du, dv)."""
    along = min(1.0, max(0.0, (u * du + v * dv) / (du * du + dv * dv)))
    return (u - along * du) ** 2 + (v - along * dv) ** 2


@njit(cache=True)
@no_type_check
def _flame(starboard, ahead, scale, jetlen):
    """A rounded plume behind the starboard wing; the fold to starboard makes its twin."""
    length = FLAME_SCALE * (FLAME_SHORTEST + (FLAME_LONGEST - FLAME_SHORTEST) * jetlen)
    half_width = FLAME_SCALE * (FLAME_THIN + (FLAME_THICK - FLAME_THIN) * jetlen)
    behind = FLAME_V - ahead
    plume = math.hypot(starboard - FLAME_U, max(0.0, behind - (length - half_width))) - half_width
    return _coverage(plume * scale) * _coverage(-(behind + SOFT_EDGE) * scale)
