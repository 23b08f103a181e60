"""What exists in some rows only: `presence.py`, `branches.py`."""

import numpy as np
import pandas as pd
import pytest

from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import Gaussian
from disentree.mimosa.mixed.branches import Names, choices, make_branches, product_hierarchy
from disentree.mimosa.mixed.evidence import fit_existence, fit_usual_cells
from disentree.mimosa.mixed.imputation import Imputation
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.mixed.nesting import Switch, entropy, n_paths
from disentree.mimosa.mixed.presence import find_presence, has_zeros, zero_is_apart
from disentree.tables import Codec

N = 1000


def presence_of(frame, seed=0):
    codec = Codec.fit(frame)
    cells = codec.read(frame)
    return codec, cells, find_presence(cells, codec.schema, np.random.default_rng(seed))[0]


def houses(seed=0):
    rng = np.random.default_rng(seed)
    garage, floor = rng.random(N) < 0.9, rng.random(N) < 0.4
    workshop = garage & (rng.random(N) < 0.5)
    return pd.DataFrame(
        {
            "price": rng.lognormal(12, 0.3, N),
            "garage_area": np.where(garage, rng.normal(400, 50, N).round(), 0),
            "garage_type": np.where(garage, rng.choice(["in", "out"], N), None),
            "cars": np.where(garage, rng.integers(1, 4, N), 0),
            "upper_area": np.where(floor, rng.normal(700, 90, N).round(), 0),
            "tools": np.where(workshop, rng.normal(size=N), np.nan),
            "bench": np.where(workshop, rng.normal(size=N), np.nan),
            "frontage": np.where(rng.random(N) < 0.2, np.nan, rng.normal(60, 9, N)),
        }
    )


def test_things_own_their_columns():
    codec, cells, found = presence_of(houses())
    names = [column.name for column in codec.used]
    owned = [sorted(names[j] for j in switch.columns) for switch in found.switches]
    assert owned == [["cars", "garage_area", "garage_type"], ["bench", "tools"], ["upper_area"]]
    assert [switch.parent for switch in found.switches] == [-1, 0, -1]
    assert not found.absent[names.index("frontage")]
    frame = houses()
    present = found.present(cells)
    np.testing.assert_array_equal(present[:, 0], frame["garage_area"] > 0)
    np.testing.assert_array_equal(present[:, 1], frame["tools"].notna())


def test_of_few_rows_nothing_is_told():
    frame = houses()
    assert presence_of(frame.head(60))[2].switches
    few = presence_of(frame.head(FIT.fewest - 1))[2]
    assert few.switches == []
    assert not few.absent.any()


def test_paths_of_branches():
    codec, cells, found = presence_of(houses())
    present = found.present(cells)
    branches = make_branches(found, cells, codec.schema, present)
    assert n_paths(found.switches) == 6
    core = Hierarchy.from_dict(
        {"variables": [{"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}]}
    )
    names = Names(["garage", "tools", "floor"], ["garage", "tools", "floor"])
    h = product_hierarchy(core, 1, branches, [1, 2, 1], names)
    assert len(h.paths) == 12
    nothing = Imputation(np.zeros(0), np.zeros((0, 0)))
    model = TableModel(
        codec, found, branches, [], nothing, core, 1, [1, 2, 1], names,
        existence=fit_existence(found, branches, cells, present, choices(branches, cells, present)),
        usual_cells=fit_usual_cells(cells, codec, found, branches, []),
    )  # fmt: skip
    leaves = [Gaussian(np.array([at]), np.eye(1), 1) for at in (0.0, 50.0)]
    Z = np.full((len(cells), 1), 50.0)
    paths = model.placed(LeafCandidate("two", leaves, np.full(2, 0.5)), h, cells, Z)[0].argmax(axis=1)
    assert all(h.paths[path].choices[0] == (0, 1) for path in paths)
    for path in np.unique(paths):
        rows = paths == path
        dimension = 1 + present[rows][0] @ [1, 2, 1]
        assert h.paths[path].dimension == dimension
        assert (present[rows] == present[rows][0]).all()


def test_an_empty_cell_that_others_explain_is_absent():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 80, N)
    frame = pd.DataFrame(
        {"age": age, "x": rng.normal(size=N), "job": np.where(age >= 18, rng.normal(size=N), np.nan)}
    )
    _, _, found = presence_of(frame)
    assert found.absent.tolist() == [False, False, True]
    assert found.explained[2] > 0.9
    assert len(found.switches) == 1


def test_a_thing_that_another_is_part_of_is_one():
    rng = np.random.default_rng(0)
    pays = rng.random(N) < 0.4
    frame = pd.DataFrame({"x": rng.normal(size=N), "payment": np.where(pays, rng.normal(size=N), np.nan)})
    assert presence_of(frame)[2].switches == []  # nothing says that it is no accident
    company = pays & (rng.random(N) < 0.4)
    frame["company"] = [f"firm {i}" if there else None for i, there in enumerate(company)]
    codec, cells, found = presence_of(frame)
    names = [column.name for column in codec.used]
    assert [names[s.columns[0]] for s in found.switches] == ["payment", "company"]
    assert [s.parent for s in found.switches] == [-1, 0]
    np.testing.assert_array_equal(found.present(cells)[:, 1], company)


@pytest.mark.parametrize("seed", range(5))
def test_accidents_are_no_things(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N, 5)), columns=list("abcde"))
    frame = frame.mask(rng.random(frame.shape) < rng.uniform(0.01, 0.4, 5))
    found = presence_of(frame, seed)[2]
    assert found.switches == []
    assert not found.absent.any()


def zero_inflated(x: np.ndarray, seed: int = 0) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(len(x)) < 0.3, 0, x)


def test_zeros_that_end_a_range():
    rng = np.random.default_rng(0)
    for x in (rng.normal(50, 20, N).round().clip(0, 80), rng.normal(size=N).round(1)):
        assert not has_zeros(x)
    brightness = rng.normal(4, 8, N).round().clip(0, 16)
    counts = rng.negative_binomial(0.3, 0.02, N).astype(float)
    amounts = zero_inflated(rng.exponential(10, N))
    for x in (brightness, counts, amounts, amounts.round()):
        assert has_zeros(x)
        assert not zero_is_apart(x)
    for x in (zero_inflated(rng.normal(700, 90, N)), zero_inflated(rng.gamma(4, 10, N).round())):
        assert has_zeros(x)
        assert zero_is_apart(x)


def test_numbers_by_hand():
    assert entropy(0.5) == 1
    assert entropy(0) == 0
    one, below, other = Switch([0], [0.0]), Switch([1], [0.0], parent=0), Switch([2], [0.0])
    assert n_paths([one, other]) == 4
    assert n_paths([one, below, other]) == 6
