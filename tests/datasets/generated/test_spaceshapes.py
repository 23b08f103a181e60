import math

import numpy as np
import pytest
from PIL import Image

from disentree.datasets import load_dataset
from disentree.datasets.generated import spaceshapes
from disentree.datasets.generated.spaceshapes import SPACESHAPES, render, sample_codes
from disentree.utils.threads import threads

NAN = np.nan
COLUMN = {name: k for k, name in enumerate(["x", "y", "shape", "phase", "shine", "angle", "jet", "jetlen"])}


def moon(x=0.5, y=0.5, phase=0.5):
    return [x, y, 0, phase, NAN, NAN, NAN, NAN]


def star(x=0.5, y=0.5, shine=0.5):
    return [x, y, 1, NAN, shine, NAN, NAN, NAN]


def ship(x=0.5, y=0.5, angle=0.5, jetlen=None):
    return [x, y, 2, NAN, NAN, angle, *((0, NAN) if jetlen is None else (1, jetlen))]


def draw(*codes, **options):
    return render(np.array(codes, dtype=float), **options).astype(float)


def centre_of_mass(image):
    """Column and row of the mean lit point, in pixels from the upper left corner of the image."""
    rows, cols = np.indices(image.shape) + 0.5
    return np.array([(cols * image).sum(), (rows * image).sum()]) / image.sum()


# --- codes


def test_the_hierarchy_has_four_paths_and_its_columns_in_depth_first_order():
    assert [v.name for v in SPACESHAPES.variables] == list(COLUMN)
    assert sorted(path.dimension for path in SPACESHAPES.paths) == [3, 3, 3, 4]


def test_codes_are_uniform_and_have_the_proportions_of_the_paper():
    codes = sample_codes(60_000, np.random.default_rng(0))
    SPACESHAPES.validate(codes)
    shape, jet = codes[:, COLUMN["shape"]], codes[:, COLUMN["jet"]]
    shares = [np.mean(shape == 0), np.mean(shape == 1), np.mean(jet == 0), np.mean(jet == 1)]
    np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 1 / 6, 1 / 6], atol=0.01)  # 5 standard errors
    for name in ["x", "y", "phase", "shine", "angle", "jetlen"]:
        quartiles = np.nanquantile(codes[:, COLUMN[name]], np.arange(5) / 4)
        np.testing.assert_allclose(quartiles, np.arange(5) / 4, atol=0.02)


def test_the_same_generator_state_draws_the_same_codes():
    first, second = (sample_codes(100, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# --- known answers


def test_a_star_in_the_middle_has_its_centre_of_mass_in_the_middle():
    for shine in (0, 0.5, 1):
        (image,) = draw(star(shine=shine))
        np.testing.assert_allclose(centre_of_mass(image), [32, 32], atol=0.02)


@pytest.mark.parametrize("shape", [moon, star, ship])
def test_a_32nd_of_x_is_one_pixel_to_the_right_and_of_y_one_pixel_up(shape):
    images = draw(shape(0.4, 0.6), shape(0.4 + 1 / 32, 0.6), shape(0.4, 0.6 + 1 / 32))
    start, right, up = map(centre_of_mass, images)
    np.testing.assert_allclose(right - start, [1, 0], atol=0.02)
    np.testing.assert_allclose(up - start, [0, -1], atol=0.02)


@pytest.mark.parametrize("shape", [moon, star, ship])
def test_a_tenth_of_a_pixel_is_visible(shape):
    start, moved = draw(shape(0.4), shape(0.4 + 0.1 / 32))
    np.testing.assert_allclose(centre_of_mass(moved) - centre_of_mass(start), [0.1, 0], atol=0.02)


@pytest.mark.parametrize("phase", [0, 0.3, 0.6, 1])
def test_the_area_of_a_moon_is_half_a_disc_and_a_circular_segment(phase):
    radius = spaceshapes.MOON_RADIUS
    middle = radius * (0.75 - 1.35 * phase)
    # a segment with chord 2 radius and height |middle|, of a circle with radius `arc`
    height = abs(middle)
    arc = (radius**2 + height**2) / (2 * height)
    segment = arc**2 * math.acos((arc - height) / arc) - (arc - height) * radius
    area = math.pi * radius**2 / 2 + math.copysign(segment, middle)
    (image,) = draw(moon(phase=phase))
    assert image.sum() / 255 == pytest.approx(area, rel=0.02)


@pytest.mark.parametrize("shine", [0, 0.5, 1])
def test_the_area_of_a_star_is_ten_triangles_and_a_rim(shine):
    radius = spaceshapes.STAR_RADIUS
    notch = radius * (0.84 - 0.62 * shine)
    triangle = 0.5 * radius * notch * math.sin(math.pi / 5)
    side = math.sqrt(radius**2 + notch**2 - 2 * radius * notch * math.cos(math.pi / 5))
    # a rim of width r adds a strip along each side and a sector at each point; at a notch two strips overlap
    r = spaceshapes.ROUNDING
    turn_at_point = math.pi - 2 * math.asin(notch * math.sin(math.pi / 5) / side)
    turn_at_notch = turn_at_point - 2 * math.pi / 5
    area = 10 * (triangle + side * r) + 5 * r**2 * (turn_at_point / 2 - math.tan(turn_at_notch / 2))
    (image,) = draw(star(shine=shine))
    assert image.sum() / 255 == pytest.approx(area, rel=0.02)


def test_an_upright_ship_is_left_right_symmetric_but_not_fore_and_aft():
    for image in draw(ship(), ship(jetlen=0.7)):
        np.testing.assert_array_equal(image, image[:, ::-1])
        assert np.abs(image - image[::-1]).sum() > 50 * 255


def test_ships_that_lean_left_and_right_are_mirror_images():
    left, right = draw(ship(angle=0.2, jetlen=0.3), ship(angle=0.8, jetlen=0.3))
    np.testing.assert_allclose(left, right[:, ::-1], atol=1)


def test_a_ship_turns_by_90_degrees_in_all():
    left, right = draw(ship(angle=0), ship(angle=1))
    np.testing.assert_allclose(np.rot90(left, -1), right, atol=1)  # clockwise


def test_jets_only_add_light_behind_the_ship_and_come_in_twos():
    plain, short, long = draw(ship(), ship(jetlen=0), ship(jetlen=1))
    assert (short >= plain).all()
    assert (long >= short).all()
    behind = np.diff(np.concatenate([[0], long[43] > 128]).astype(int)) == 1  # below the tail
    assert behind.sum() == 2


def test_larger_images_show_the_same_picture():
    codes = sample_codes(20, np.random.default_rng(0))
    small, large = render(codes) / 255, render(codes, size=128) / 255
    averaged = large.reshape(20, 64, 2, 64, 2).mean((2, 4))
    assert np.abs(averaged - small).mean() < 0.005


# --- smoothness


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("x", moon), ("y", moon), ("phase", moon), ("x", star), ("y", star), ("shine", star), ("x", ship),
        ("y", ship), ("angle", ship), ("jetlen", lambda **code: ship(**{"angle": 0.7, "jetlen": 0.5} | code)),
    ],
)  # fmt: skip
def test_every_factor_has_a_derivative_that_is_nowhere_small(name, build):
    middle = np.linspace(0.05, 0.95, 19)
    codes = np.array([build(**{name: value}) for value in middle])

    def difference(step):
        below, above = codes.copy(), codes.copy()
        below[:, COLUMN[name]] -= step / 2
        above[:, COLUMN[name]] += step / 2
        return (render(above).astype(float) - render(below)).reshape(len(codes), -1) / step

    # steps that move an edge by a fraction of a pixel, yet by many of the 255 levels
    step = 0.01 if name in ("x", "y") else 0.02
    coarse, fine = difference(step), difference(step / 2)
    size = np.linalg.norm(fine, axis=1)
    assert (np.linalg.norm(coarse - fine, axis=1) < 0.1 * size).all()
    assert size.min() > 0.5 * size.max()


def test_nothing_jumps():
    t = np.linspace(0, 1, 2001)
    for sweep in (moon, star, ship):
        name = {moon: "phase", star: "shine", ship: "angle"}[sweep]
        images = draw(*(sweep(**{name: value}) for value in t))
        assert np.abs(np.diff(images, axis=0)).max() <= 6
    images = draw(*(ship(angle=0.6, jetlen=value) for value in t))
    assert np.abs(np.diff(images, axis=0)).max() <= 6


# --- independence of rows and threads


def test_an_image_depends_on_its_own_row_only():
    rng = np.random.default_rng(0)
    codes = sample_codes(300, rng)
    images = render(codes)
    order = rng.permutation(300)
    np.testing.assert_array_equal(render(codes[order]), images[order])
    np.testing.assert_array_equal(render(codes[17:18]), images[17:18])
    np.testing.assert_array_equal(render(np.asfortranarray(codes)[::3]), images[::3])


def test_an_image_does_not_depend_on_the_number_of_threads():
    codes = sample_codes(300, np.random.default_rng(0))
    images = render(codes)
    with threads(1):
        np.testing.assert_array_equal(render(codes), images)


def test_no_rows_give_no_images():
    assert render(np.empty((0, 8))).shape == (0, 64, 64)


# --- the frame, the levels, the shapes


@pytest.mark.parametrize("size", [64, 128])
def test_everything_stays_inside_the_frame(size):
    t = np.linspace(0, 1, 9)
    corners = [(x, y) for x in (0, 1) for y in (0, 1)]
    codes = [shape(x, y, value) for x, y in corners for value in t for shape in (moon, star, ship)]
    codes += [ship(x, y, value, jetlen) for x, y in corners for value in t for jetlen in (0, 1)]
    images = draw(*codes, size=size)
    inner = images[:, 1:-1, 1:-1]
    np.testing.assert_array_equal(images.sum((1, 2)), inner.sum((1, 2)))


def test_binarized_images_are_the_grey_ones_cut_at_128():
    codes = sample_codes(50, np.random.default_rng(0))
    grey, binary = render(codes), render(codes, binarize=True)
    assert grey.dtype == binary.dtype == np.uint8
    assert len(np.unique(grey)) > 100
    np.testing.assert_array_equal(binary, np.where(grey >= 128, 255, 0))


def test_images_of_different_shapes_are_far_apart():
    codes = sample_codes(2000, np.random.default_rng(0))
    images = render(codes).reshape(2000, -1) / np.float32(255)
    paths = SPACESHAPES.path_of(codes)
    for path in range(4):
        shape = codes[paths == path][0, COLUMN["shape"]]
        own, others = images[paths == path], images[codes[:, COLUMN["shape"]] != shape]
        squared = (own**2).sum(1)[:, None] + (others**2).sum(1) - 2 * own @ others.T
        assert np.sqrt(squared.min()) > 6  # as much as 36 pixels turned from black to white


# --- bad input


def test_codes_with_other_columns_are_refused():
    with pytest.raises(ValueError, match=r"codes must have shape \(n_rows, 8\).*got \(3, 7\)"):
        render(np.zeros((3, 7)))


def test_codes_that_do_not_fit_the_hierarchy_are_refused():
    with pytest.raises(ValueError, match=r"'phase' is active"):
        draw(moon(phase=NAN))


@pytest.mark.parametrize("size", [0, 15])
def test_images_too_small_to_draw_on_are_refused(size):
    with pytest.raises(ValueError, match=f"size must be at least 16 pixels, got {size}"):
        draw(star(), size=size)


# --- a second categorical


@pytest.mark.parametrize("second", ["color", "size"])
def test_a_second_categorical_stands_beside_the_shape(second):
    ds = load_dataset("spaceshapes", n_samples=400, seed=2, second=second)
    plain = load_dataset("spaceshapes", n_samples=400, seed=2)
    assert [v.name for v in ds.hierarchy.variables if v.parent is None] == ["x", "y", "shape", second]
    assert len(ds.hierarchy.paths) == 8
    np.testing.assert_array_equal(ds.codes[:, :8], plain.codes)
    first = ds.codes[:, 8] == 0
    assert 0.4 < first.mean() < 0.6
    np.testing.assert_array_equal(ds.X[first], plain.X[first])
    assert (ds.X[~first] != plain.X[~first]).any(axis=(1, 2)).all()
    np.testing.assert_array_equal(ds.generate(ds.codes), ds.X)


def test_gray_shapes_have_half_the_brightness():
    white, gray = draw([*star(), 0], [*star(), 1], second="color")
    np.testing.assert_allclose(gray, white / 2, atol=1)


@pytest.mark.parametrize("shape", [moon, star, ship])
def test_small_shapes_are_large_ones_at_two_thirds(shape):
    # an image of 96 pixels drawn small shows the shape in as many pixels as one of 64 drawn large
    large = draw([*shape(), 0], size=64, second="size")[0]
    small = draw([*shape(), 1], size=96, second="size")[0]
    np.testing.assert_allclose(small[16:80, 16:80], large, atol=1)
    assert small.sum() == pytest.approx(large.sum(), rel=1e-3)


def test_mistakes_with_the_second_categorical_are_named():
    with pytest.raises(ValueError, match="second must be None, 'color' or 'size', got 'weight'"):
        load_dataset("spaceshapes", n_samples=10, second="weight")
    with pytest.raises(ValueError, match="second must not be 'color' with binarize, which leaves one color"):
        load_dataset("spaceshapes", n_samples=10, second="color", binarize=True)


# --- the paper's way of drawing


def test_the_papers_images_have_its_steps_and_hard_edges():
    codes = sample_codes(40, np.random.default_rng(5))
    images = render(codes, style="paper")
    assert images.shape == (40, 64, 64)
    assert images.dtype == np.uint8
    steps = codes.copy()
    steps[:, :2] = np.round(steps[:, :2] * 128) / 128
    drawn = [3, 4, 7]
    steps[:, drawn] = np.round(steps[:, drawn] * 255) / 255
    large = render(steps, size=256, binarize=True)
    reduced = (Image.fromarray(image).resize((64, 64), Image.Resampling.BILINEAR) for image in large)
    expected = np.stack([np.asarray(image) for image in reduced])
    assert np.abs(images.astype(int) - expected).max() <= 1  # Pillow rounds after each of two passes
    moved = steps.copy()
    moved[:, :2] = (moved[:, :2] + 0.003).clip(0, 1)  # less than half a step of 1/128
    np.testing.assert_array_equal(render(moved, style="paper"), images)
    binary = render(codes, style="paper", binarize=True)
    np.testing.assert_array_equal(binary, np.where(images >= 128, 255, 0))
    smooth = render(codes)
    both = ((smooth >= 128) & (binary > 0)).sum() / ((smooth >= 128) | (binary > 0)).sum()
    assert 0.9 < both < 1  # the same outlines, in nearly the same places


def test_styles_that_do_not_exist():
    codes = sample_codes(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="style must be 'smooth' or 'paper', got 'papers'"):
        render(codes, style="papers")
    with pytest.raises(ValueError, match="second must not be 'color' with style='paper'"):
        load_dataset("spaceshapes", 5, style="paper", second="color")
    assert render(codes[:0], style="paper").shape == (0, 64, 64)
