"""COFHAE on data frames with columns of any kind: `preprocessor.py`, `linear.py`, `base.py`, `estimator.py`."""

import numpy as np
import pandas as pd
import pytest

from disentree import COFHAE
from disentree.datasets import load_dataset

N = 300


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    ill = rng.random(n) < 0.3
    return pd.DataFrame(
        {
            "height": 170 + 8 * size,
            "weight": 70 + 9 * size + rng.normal(size=n),
            "rooms": (4 + size).round().clip(1).astype(int),
            "sex": rng.choice(["f", "m"], n),
            "size": pd.Categorical(np.where(size > 0, "large", "small"), ["small", "large"], ordered=True),
            "owner": rng.random(n) < 0.5,
            "since": np.where(ill, rng.normal(40, 9, n), np.nan),
            "dose": np.where(ill, rng.normal(5, 1, n), np.nan),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 1, n)),
        }
    )


@pytest.fixture(scope="module")
def fitted():
    frame = people()
    return frame, COFHAE(device="cpu").fit(frame)


def test_the_way_there_and_back(fitted):
    frame, model = fitted
    Z = model.transform(frame)
    back = model.inverse_transform(Z)
    assert list(back.columns) == list(frame.columns)
    assert (back.dtypes == frame.dtypes).all()
    assert list(back["size"].cat.categories) == ["small", "large"]
    for column in ("since", "dose", "height", "sex"):
        assert (back[column].isna() == frame[column].isna()).mean() > 0.99
    assert not back["income"].isna().any()  # not known, but it exists
    assert np.corrcoef(back["height"], frame["height"])[0, 1] > 0.95
    assert set(back["sex"]) <= {"f", "m"}


def test_the_branch_has_its_variables(fitted):
    frame, model = fitted
    Z = model.transform(frame)
    model.hierarchy_.validate(Z)
    ill = frame["since"].notna().to_numpy()
    below = [v.index for v in model.hierarchy_.variables if v.depth == 1]
    assert below
    assert (np.isnan(Z[:, below]).all(axis=1) == ~ill).mean() > 0.99


def test_saved_models_take_frames(fitted, tmp_path):
    frame, model = fitted
    model.save(tmp_path)
    again = COFHAE.load(tmp_path, device="cpu")
    Z = model.transform(frame)
    np.testing.assert_array_equal(again.transform(frame), Z)
    pd.testing.assert_frame_equal(again.inverse_transform(Z), model.inverse_transform(Z))


def test_frames_of_numbers_come_back_as_frames():
    frame = people()[["height", "weight", "rooms"]]
    model = COFHAE(device="cpu", epochs=2, hidden=(8,)).fit(frame)
    back = model.inverse_transform(model.transform(frame))
    assert list(back.columns) == list(frame.columns)
    assert (back.dtypes == frame.dtypes).all()


def test_branches_of_a_frame_of_numbers_keep_their_names():
    rng = np.random.default_rng(0)
    far = rng.random(N) < 0.5
    depth = np.where(far, 3, 0) + rng.normal(size=N)
    frame = pd.DataFrame({"distance": np.where(far, 900, 10) + rng.normal(size=N), "depth": depth})
    model = COFHAE(device="cpu", epochs=2, hidden=(8,)).fit(frame)
    assert model.hierarchy_.to_dict() == model.mimosa_.hierarchy_.to_dict()
    assert len(model.hierarchy_.paths) == 2
    assert all("distance" in path.name for path in model.hierarchy_.paths)


def test_resuming_on_a_frame_does_not_ask_mimosa_again(tmp_path, monkeypatch):
    frame = people()
    settings = {"epochs": 3, "hidden": (8,), "device": "cpu", "checkpoint": tmp_path}

    def stop(record, model):
        raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="stopped"):
        first = COFHAE(**settings, callbacks=[stop]).fit(frame)
    monkeypatch.setattr("disentree.cofhae.fitting.stages.ask_mimosa", None)
    second = COFHAE(**settings).fit(frame)
    assert second.hierarchy_ == first.hierarchy_  # names of variables follow the codes, which have learned more
    assert [v.options for v in second.hierarchy_.variables] == [v.options for v in first.hierarchy_.variables]
    np.testing.assert_array_equal(second.paths_, first.paths_)
    assert second.preprocessor_.to_dict() == first.preprocessor_.to_dict()
    assert second.preprocessor_.table.branches  # "since" and "dose" are empty together
    back = second.inverse_transform(second.transform(frame))
    assert back["since"].isna().any()


def test_a_structure_of_ones_own():
    frame = people()
    ds = load_dataset("chopsticks-depth2-slope", n_samples=2, seed=0)
    paths = frame["since"].notna().to_numpy().astype(int)
    model = COFHAE(device="cpu").fit(frame, hierarchy=ds.hierarchy, paths=paths)
    back = model.inverse_transform(model.transform(frame))
    assert list(back.columns) == list(frame.columns)


def test_many_switches_at_once():
    rng = np.random.default_rng(0)
    n, k = 2000, 7
    on = rng.random((n, k)) < 0.5
    data = {"x": rng.normal(size=n)}
    for i in range(k):
        data |= {f"area{i}": np.where(on[:, i], rng.normal(5, 1, n), 0), f"kind{i}": np.where(on[:, i], "a", None)}
    frame = pd.DataFrame(data)
    model = COFHAE(device="cpu").fit(frame)
    assert len(model.hierarchy_.paths) == 2**k
    back = model.inverse_transform(model.transform(frame))
    for i in range(k):
        assert ((back[f"area{i}"] == 0) == ~on[:, i]).all()
        assert np.abs(back[f"area{i}"] - frame[f"area{i}"]).max() < 1e-3
