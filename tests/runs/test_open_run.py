"""Runs of tables with columns of any kind, and runs used from Python: `apply.py`, `structure.py`,
`training.py`, and the preprocessor of models."""

import numpy as np
import pandas as pd
import pytest

import disentree
from disentree import COFHAE
from disentree.runs import RunConfig, finish_run, start_run


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    size, garage = rng.normal(size=n), rng.random(n) < 0.7
    return pd.DataFrame(
        {
            "area": (150 + 30 * size).round(1),
            "price": np.exp(12 + 0.4 * size + 0.1 * rng.normal(size=n)).round(),
            "style": np.where(size > 0, "large", "small"),
            "garage_area": np.where(garage, rng.normal(40, 5, n).round(1), np.nan),
            "garage_kind": np.where(garage, rng.choice(["in", "out"], n), None),
        }
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    table().to_csv(folder / "houses.csv", index=False)
    run = start_run(RunConfig.of(str(folder / "houses.csv")), folder / "run")
    finish_run(run)
    return run


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    table()[["area", "price"]].to_csv(folder / "houses.csv", index=False)
    run = start_run(RunConfig.of(str(folder / "houses.csv")), folder / "run")
    finish_run(run, until="model")
    return run


def test_a_table_of_any_kind_from_file_to_report(mixed):
    assert mixed.report_path.is_file()
    assert [p.name for p in mixed.hierarchy.paths] == ["garage=no garage", "garage=with garage"]
    opened = disentree.open_run(mixed.folder)
    new = table(100, seed=1)
    paths = opened.predict(new)
    np.testing.assert_array_equal(paths, new["garage_area"].notna())
    back = opened.inverse_transform(opened.transform(new))
    assert list(back.columns) == list(new.columns)
    assert (back["garage_kind"].isna() == new["garage_kind"].isna()).all()
    assert np.corrcoef(back["price"], new["price"])[0, 1] > 0.9


def test_a_model_of_a_run_takes_rows_in_their_own_units(plain):
    frame = table()[["area", "price"]]
    model = COFHAE.load(plain.folder, device="cpu")
    Z = model.transform(frame)
    assert np.nanmax(np.abs(Z[:, ~model.hierarchy_.is_categorical])) < 10
    back = model.inverse_transform(Z)
    assert np.corrcoef(back["area"], frame["area"])[0, 1] > 0.9
    assert abs(back["area"].mean() - frame["area"].mean()) < 5
    with pytest.raises(ValueError, match="give a data frame"):
        model.transform(frame.to_numpy())
    with pytest.raises(ValueError, match="no column 'price'"):
        model.transform(frame[["area"]])


def test_opened_runs_of_arrays(tmp_path):
    X = np.random.default_rng(0).normal(50, 3, (200, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    np.save(tmp_path / "rows.npy", X)
    run = start_run(RunConfig.of(str(tmp_path / "rows.npy")), tmp_path / "run")
    finish_run(run, until="model")
    opened = disentree.open_run(tmp_path / "run")
    back = opened.inverse_transform(opened.transform(X))
    np.testing.assert_allclose(back.mean(axis=0), X.mean(axis=0), atol=1)
    assert "COFHAE, 1 path" in repr(opened)


def test_an_unfinished_run_is_refused(tmp_path):
    config = RunConfig.of("chopsticks-depth2-slope", n_samples=500)
    start_run(config, tmp_path / "run")
    with pytest.raises(disentree.errors.UserError, match="not finished"):
        disentree.open_run(tmp_path / "run")
