import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.datasets import Chopsticks, dataset_info, list_datasets, load_dataset
from disentree.datasets.generated.chopsticks import VARIANTS

DEPTHS = (1, 2, 3, 4)
every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_depth = pytest.mark.parametrize("depth", DEPTHS)


def name_of(depth, variant):
    return f"chopsticks-depth{depth}-{variant}"


# The paper's listing, with the numbers it draws handed in: one (slope, inter) for each stick.


def stick_segment(slope, inter, T):
    return slope * np.arange(T) + inter + np.zeros(T)


def chopsticks(sticks, T=64):
    stick = stick_segment(*sticks[0], T)
    if len(sticks) > 1:
        stick2 = chopsticks(sticks[1:], T // 2)
        stick[T // 2 :] += stick2
    return stick


def sticks_of(hierarchy, row):
    """What a row of codes says about each stick, read from the names of the variables."""
    sticks = {}
    for variable, value in zip(hierarchy.variables, row, strict=True):
        if variable.kind == "continuous" and not np.isnan(value):
            kind, level = variable.name[:5], int(variable.name[5])
            sticks.setdefault(level, {})[kind] = value
    return [(sticks[k].get("slope", 0.0), sticks[k].get("inter", 0.0)) for k in sorted(sticks)]


def the_papers_generator(depth, variant, rng, T=64):
    """The listing as printed, but with a generator of its own; also tells how many sticks it used."""
    slope = rng.uniform(-0.01, 0.01) * np.arange(T)
    inter = rng.uniform(-0.2, 0.2) + np.zeros(T)
    either = slope if rng.uniform() < 0.5 else inter
    stick = {"slope": slope, "inter": inter, "both": slope + inter, "either": either}[variant].copy()
    n_sticks = 1
    if rng.uniform() < 1 - 2.0 ** -(depth - 1):
        stick2, below = the_papers_generator(depth - 1, variant, rng, T // 2)
        stick[T // 2 :] += stick2
        n_sticks += below
    return stick, n_sticks


@every_variant
@every_depth
def test_series_are_those_of_the_papers_listing(depth, variant):
    ds = load_dataset(name_of(depth, variant), n_samples=200, seed=3)
    expected = [chopsticks(sticks_of(ds.hierarchy, row)) for row in ds.codes]
    np.testing.assert_allclose(ds.X, expected, rtol=0, atol=1e-14)


@every_variant
def test_samples_are_distributed_as_the_listing_says(variant):
    rng = np.random.default_rng(0)
    pairs = [the_papers_generator(3, variant, rng) for _ in range(20_000)]
    theirs, levels = np.array([x for x, _ in pairs]), np.array([n for _, n in pairs])
    ds = load_dataset(name_of(3, variant), n_samples=20_000, seed=1)
    ours = np.array([len(sticks_of(ds.hierarchy, row)) for row in ds.codes])
    for level in (1, 2, 3):
        assert np.mean(ours == level) == pytest.approx(np.mean(levels == level), abs=0.02)
    scale = theirs.std(axis=0).max()
    np.testing.assert_allclose(ds.X.mean(axis=0), theirs.mean(axis=0), atol=0.05 * scale)
    np.testing.assert_allclose(np.cov(ds.X.T), np.cov(theirs.T), atol=0.05 * scale**2)


@pytest.mark.parametrize(("depth", "ranks"), [(2, (2, 2, 4, 4)), (3, (3, 3, 6, 6))])
def test_data_are_exactly_linear(depth, ranks):
    found = [np.linalg.matrix_rank(load_dataset(name_of(depth, v), 500).X) for v in VARIANTS]
    assert dict(zip(VARIANTS, found, strict=True)) == dict(zip(VARIANTS, ranks, strict=True))


@pytest.mark.parametrize(
    ("depth", "n_paths"), [(1, (1, 1, 1, 2)), (2, (2, 2, 2, 6)), (3, (3, 3, 3, 14)), (4, (4, 4, 4, 30))]
)
def test_numbers_of_paths(depth, n_paths):
    assert tuple(len(dataset_info(name_of(depth, v)).hierarchy.paths) for v in VARIANTS) == n_paths


@every_variant
def test_dimensions_grow_with_each_chop(variant):
    per_stick = 2 if variant == "both" else 1
    h = dataset_info(name_of(3, variant)).hierarchy
    n_sticks = [1, 2, 3] if variant != "either" else [1, 2, 3, 3, 2, 3, 3] * 2
    assert [p.dimension for p in h.paths] == [per_stick * n for n in n_sticks]


@pytest.mark.parametrize(("stop", "shares"), [("paper", (1 / 4, 3 / 8, 3 / 8)), ("equal", (1 / 3, 1 / 3, 1 / 3))])
@pytest.mark.parametrize("variant", ["inter", "either"])
def test_shares_of_the_levels(variant, stop, shares):
    ds = load_dataset(name_of(3, variant), n_samples=100_000, seed=0, stop=stop)
    dimension = np.array([p.dimension for p in ds.hierarchy.paths])[ds.paths]
    found = [np.mean(dimension == d) for d in (1, 2, 3)]
    np.testing.assert_allclose(found, shares, atol=0.006)


def test_either_kind_is_equally_likely():
    ds = load_dataset("chopsticks-depth2-either", n_samples=100_000)
    shares = np.bincount(ds.paths) / len(ds)
    np.testing.assert_allclose(shares, np.array([2, 1, 1, 2, 1, 1]) / 8, atol=0.006)


@pytest.mark.parametrize("info", list_datasets(), ids=lambda info: info.name)
def test_codes_give_the_data_back_exactly(info):
    ds = load_dataset(info.name, n_samples=300, seed=5)
    assert ds.hierarchy == info.hierarchy
    assert ds.X.shape[0] == len(ds) == 300
    np.testing.assert_array_equal(ds.generate(ds.codes), ds.X)
    some = np.array([7, 200, 3])
    np.testing.assert_array_equal(ds.generate(ds.codes[some]), ds.X[some])
    np.testing.assert_array_equal(ds.generate(ds.codes[:1]), ds.X[:1])
    np.testing.assert_array_equal(ds.hierarchy.path_of(ds.codes), ds.paths)
    ds.hierarchy.validate(ds.codes)


@given(
    depth=st.integers(1, 4),
    variant=st.sampled_from(VARIANTS),
    length=st.integers(16, 70),
    mode=st.sampled_from(["offset", "overwrite", "overwrite-slope", "overwrite-inter"]),
    distribution=st.sampled_from(["uniform", "gaussian"]),
    stop=st.sampled_from(["paper", "equal"]),
    min_offset=st.floats(0, 0.9),
    seed=st.integers(0, 2**32),
)
def test_every_option_gives_the_data_back_exactly(depth, variant, seed, **options):
    ds = load_dataset(name_of(depth, variant), n_samples=20, seed=seed, **options)
    assert ds.X.shape == (20, options["length"])
    assert np.isfinite(ds.X).all()
    np.testing.assert_array_equal(ds.generate(ds.codes), ds.X)


def test_same_seed_same_bytes_and_other_seeds_other_data():
    first, again, other = (load_dataset("chopsticks-depth3-either", 500, seed=s) for s in (1, 1, 2))
    assert first.X.tobytes() == again.X.tobytes()
    assert first.codes.tobytes() == again.codes.tobytes()
    assert not np.array_equal(first.X, other.X)


def test_the_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    load_dataset("chopsticks-depth2-both", 100, noise=0.1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ------------------------------------------------------------------ options


def test_factors_fill_their_bounds():
    ds = load_dataset("chopsticks-depth1-both", 20_000)
    slope, inter = ds.codes.T
    for values, bound in ((slope, 0.01), (inter, 0.2)):
        assert -bound < values.min() < -0.99 * bound
        assert 0.99 * bound < values.max() < bound
        assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)


def test_noise_is_added_to_the_same_series():
    clean = load_dataset("chopsticks-depth2-both", 2000, seed=4)
    noisy = load_dataset("chopsticks-depth2-both", 2000, seed=4, noise=0.05)
    np.testing.assert_array_equal(noisy.codes, clean.codes)
    np.testing.assert_array_equal(noisy.generate(noisy.codes), clean.X)
    rest = noisy.X - clean.X
    assert rest.std() == pytest.approx(0.05, rel=0.02)
    assert rest.mean() == pytest.approx(0, abs=0.001)
    assert noisy.options == {"noise": 0.05}


@pytest.mark.parametrize("distribution", ["uniform", "gaussian"])
def test_min_offset_leaves_gaps_around_zero(distribution):
    ds = load_dataset("chopsticks-depth2-both", 5000, min_offset=0.5, distribution=distribution)
    for v in ds.hierarchy.variables:
        if v.kind == "continuous":
            bound = {"slope": 0.01, "inter": 0.2}[v.name[:5]]
            values = ds.codes[~np.isnan(ds.codes[:, v.index]), v.index]
            assert np.abs(values).min() >= 0.5 * bound
            assert np.abs(values).min() < 0.51 * bound
            assert 0.45 < np.mean(values > 0) < 0.55


def test_gaussian_factors_have_the_bound_as_standard_deviation():
    ds = load_dataset("chopsticks-depth1-both", 50_000, distribution="gaussian")
    np.testing.assert_allclose(ds.codes.std(axis=0), [0.01, 0.2], rtol=0.02)
    kurtosis = np.mean((ds.codes / ds.codes.std(axis=0)) ** 4, axis=0)
    np.testing.assert_allclose(kurtosis, 3, atol=0.15)


t = np.arange(32)


@pytest.mark.parametrize(
    ("mode", "right_half"),
    [
        ("offset", 0.1 + 0.01 * (32 + t) + 0.05 - 0.02 * t),
        ("overwrite", 0.05 - 0.02 * t),
        ("overwrite-slope", 0.1 + 0.01 * 32 + 0.05 - 0.02 * t),  # goes on from where the first stick was
        ("overwrite-inter", 0.05 + (0.01 - 0.02) * t),
    ],
)
def test_modes_by_hand(mode, right_half):
    sticks = Chopsticks(2, "both", mode=mode)
    X = sticks.render(np.array([[0.01, 0.1, 1, -0.02, 0.05], [0.01, 0.1, 0, np.nan, np.nan]]))
    first = 0.1 + 0.01 * np.arange(64)
    np.testing.assert_allclose(X[0, :32], first[:32], atol=1e-15)
    np.testing.assert_allclose(X[0, 32:], right_half, atol=1e-15)
    np.testing.assert_allclose(X[1], first, atol=1e-15)


def test_overwriting_leaves_what_the_new_stick_does_not_have():
    sticks = Chopsticks(2, "either", mode="overwrite")
    codes = np.full((2, 9), np.nan)
    columns = {v.name: v.index for v in sticks.hierarchy.variables}
    codes[0, [columns["stick1"], columns["slope1"], columns["stick2[s]"], columns["inter2[s]"]]] = (
        1,
        0.01,
        1,
        0.05,
    )
    codes[1, [columns["stick1"], columns["inter1"], columns["stick2[i]"], columns["slope2[i]"]]] = (
        0,
        0.1,
        2,
        0.02,
    )
    X = sticks.render(sticks.hierarchy.validate(codes))
    np.testing.assert_allclose(X[0, 32:], 0.05 + 0.01 * t, atol=1e-15)
    np.testing.assert_allclose(X[1, 32:], 0.1 + 0.02 * t, atol=1e-15)


def test_length():
    assert load_dataset("chopsticks-depth3-both", 10, length=100).X.shape == (10, 100)


# ------------------------------------------------------------------ bad input


BOTH = "chopsticks-depth2-both"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("chopsticks-depth0-both", {}, "depth must be 1 or more, got 0"),
        (BOTH, {"noise": -0.1}, "noise must be a number of 0 or more, got -0.1"),
        (BOTH, {"noise": float("nan")}, "noise must be a number of 0 or more, got nan"),
        (BOTH, {"noise": "much"}, "noise must be a number of 0 or more, got 'much'"),
        (BOTH, {"n_samples": 0}, "n_samples must be a whole number of 1 or more, got 0"),
        (BOTH, {"n_samples": -5}, "n_samples must be a whole number of 1 or more, got -5"),
        (BOTH, {"n_samples": True}, "n_samples must be a whole number of 1 or more, got True"),
        (BOTH, {"seed": -1}, "seed must be a whole number of 0 or more, got -1"),
        (BOTH, {"min_offset": 1.0}, r"min_offset must be a number in \[0, 1\), got 1.0"),
        (BOTH, {"min_offset": -0.1}, r"min_offset must be a number in \[0, 1\), got -0.1"),
        ("chopsticks-depth7-both", {}, "length must be a whole number, at least 2.depth = 128"),
        (BOTH, {"colour": 1}, "chopsticks-depth2-both has no option 'colour'; it has dist"),
        (BOTH, {"binarize": True}, "has no option 'binarize'"),
        ("spaceshapes", {"mode": "overwrite"}, "spaceshapes has no option 'mode'; it has binarize, noise"),
        ("chopstick-depth2-both", {}, "did you mean 'chopsticks-depth2-both'?"),
        ("chopsticks-depth5-slop", {}, "did you mean 'chopsticks-depth5-slope'?"),
        ("spaceshape", {}, "there is no data set 'spaceshape'; did you mean 'spaceshapes'?"),
        ("", {}, "there is no data set ''; known names: chopsticks-depth2-inter, "),
    ],
)
def test_mistakes_are_told_in_one_sentence(name, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_dataset(name, **{"n_samples": 10, **options})
    assert "\n" not in str(caught.value)


def test_generate_refuses_codes_that_do_not_fit():
    ds = load_dataset("chopsticks-depth2-both", 3)
    with pytest.raises(ValueError, match="row 0: variable 'slope2' is inactive"):
        ds.generate([[0.0, 0.0, 0, 0.5, np.nan]])
