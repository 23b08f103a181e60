"""From a data frame to numbers and back: `codec.py`, `margins.py`."""

import json

import numpy as np
import pandas as pd
import pytest

from disentree.tables import Codec
from disentree.tables.margins import TRANSFORMS, backward, choose_scale, deviation, forward, log_slope

N = 200


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    out = pd.DataFrame(
        {
            "x": rng.normal(5, 2, N),
            "skewed": np.exp(rng.normal(0, 2, N)),
            "count": rng.integers(0, 30, N),
            "whole": pd.array(rng.integers(0, 30, N), dtype="Int64"),
            "sex": rng.choice(["f", "m"], N),
            "shape": pd.Categorical(rng.choice(["moon", "star"], N), ["moon", "ship", "star"]),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True),
            "owner": rng.random(N) < 0.5,
            "flag": rng.integers(0, 2, N),
            "day": pd.date_range("2020-01-01", periods=N),
            "one": 3,
        }
    )
    out.loc[::7, ["x", "sex", "shape", "whole"]] = None
    return out


def test_cells_come_back_as_they_were(frame):
    codec = Codec.fit(frame)
    back = codec.frame(codec.read(frame))
    pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%d/%m/%Y", "%d.%m.%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"])
def test_dates_are_written_in_the_form_that_they_were_read_in(form):
    # Decoded rows are read again where variables are explained: a form of its own ended a run there.
    days = pd.date_range("2024-01-01 05:30", periods=N, freq="37h", tz="UTC")
    frame = pd.DataFrame({"when": days.strftime(form), "x": np.arange(N) % 17})
    codec = Codec.fit(frame)
    cells = codec.read(frame)
    again = codec.frame(cells)
    assert list(again["when"]) == list(frame["when"])
    np.testing.assert_allclose(codec.read(again).numbers, cells.numbers)


def test_features_come_back_where_cells_are_full(frame):
    codec = Codec.fit(frame)
    cells = codec.read(frame)
    features = codec.features(cells)
    assert features.shape == (N, len(codec.feature_names))
    assert np.isfinite(features).all()
    again = codec.cells(features)
    full = ~np.isnan(cells.numbers)
    np.testing.assert_allclose(again.numbers[full], cells.numbers[full], rtol=1e-9)
    assert (again.categories == cells.categories)[cells.categories >= 0].all()


def test_a_codec_is_json(frame):
    codec = Codec.fit(frame).with_empty({"x": "absent"})
    assert Codec.from_dict(json.loads(json.dumps(codec.to_dict()))) == codec


def test_columns_that_are_empty_together_share_a_flag(frame):
    other = frame.assign(y=frame["x"].where(frame["x"] > 4))
    names = Codec.fit(other).feature_names
    assert [name for name in names if name.endswith("exists")] == ["x exists", "y exists"]


def test_values_never_seen_count_as_empty(frame):
    codec = Codec.fit(frame)
    new = frame.assign(sex="x")
    assert (codec.read(new).categories[:, 0] == -1).all()
    assert codec.new_values(new) == {"sex": "x"}
    assert codec.new_values(frame) == {}


def test_of_names_that_some_rows_have_only_that_counts(frame):
    names = [f"name {i}" if i % 2 else None for i in range(len(frame))]
    codec = Codec.fit(frame.assign(name=names, number=frame["x"]), types={"number": "given"})
    assert codec.schema["name"].kind == "given"
    new = frame.assign(name=names[::-1], number=frame["x"])
    cells = codec.read(new)
    assert codec.new_values(new) == {}  # no name is new
    back = codec.frame(cells)
    assert back["name"].tolist() == ["given" if name else None for name in names[::-1]]
    np.testing.assert_array_equal(back["number"].notna(), frame["x"].notna())


def test_frames_without_a_column_are_refused(frame):
    with pytest.raises(ValueError, match="no column 'x'"):
        Codec.fit(frame).read(frame.drop(columns="x"))
    with pytest.raises(ValueError, match="data frame"):
        Codec.fit(frame).read(np.zeros((3, 11)))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_are_undone(transform):
    x = np.linspace(0.5, 900, 50)
    np.testing.assert_allclose(backward(forward(x, transform, 2.0), transform, 2.0), x, rtol=1e-9)
    step = 1e-5
    slope = (forward(x + step, transform, 2.0) - forward(x - step, transform, 2.0)) / (2 * step)
    np.testing.assert_allclose(np.log(slope), log_slope(x, transform, 2.0), atol=1e-4)


def test_scales_by_hand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    assert choose_scale(x).transform == "none"
    assert deviation(x[:0]) == 0
    assert choose_scale(np.exp(2 * x)) == ("log", 0.0)
    assert choose_scale(np.sinh(3 * x)).transform == "arcsinh"
    assert choose_scale(100 * np.exp(2 * x)).transform == "log"  # whatever the unit
    assert choose_scale(np.ones(100)).transform == "none"
    assert choose_scale((3 + x) ** 2) == ("root", 0.0)


def test_counts_with_zeros_are_taken_as_roots():
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(2000) < 0.5, rng.poisson(2, 2000), rng.poisson(60, 2000)).astype(float)
    assert choose_scale(groups) == ("root", 0.375)
    assert choose_scale(groups / 3).transform != "root"  # not even a zero of what is no count has a root
    low, high = (forward(rng.poisson(mean, 4000).astype(float), "root", 0.375).std() for mean in (5, 500))
    assert 0.9 < low / high < 1.1  # Anscombe: half, however large counts are
    frame = pd.DataFrame({"visits": groups, "kind": rng.choice(["a", "b"], 2000)})
    assert "square root" in Codec.fit(frame).schema.as_text()
    with pytest.raises(ValueError, match="no transform 'sqrt'"):
        forward(groups, "sqrt", 1.0)


def test_infinite_cells_are_told_with_their_rows():
    frame = pd.DataFrame({"rpm": np.random.default_rng(0).normal(size=20), "other": np.arange(20) % 3})
    codec = Codec.fit(frame)
    frame.loc[[4, 7], "rpm"] = np.inf
    sentence = "column 'rpm' contains infinity in 2 rows, the first is row 4, counted from 0: make such cells"
    for use in (Codec.fit, codec.read):
        with pytest.raises(ValueError, match=sentence):
            use(frame)
