"""What kind of column each is: `kinds.py`, `column.py`."""

import numpy as np
import pandas as pd
import pytest

from disentree.tables import Schema, infer_schema

N = 40
RNG = np.random.default_rng(0)
COLUMNS = {
    "height": (RNG.normal(size=N), "number"),
    "rooms": (RNG.integers(1, 9, N), "integer"),
    "with_na": (pd.array([None, *RNG.integers(1, 9, N - 1)], dtype="Int64"), "integer"),
    "owner": (RNG.random(N) < 0.5, "boolean"),
    "flag": (RNG.integers(0, 2, N), "boolean"),
    "said": (RNG.choice(["True", "FALSE"], N), "boolean"),
    "sex": (RNG.choice(["f", "m"], N), "category"),
    "shape": (pd.Categorical(RNG.choice(["moon", "star"], N)), "category"),
    "size": (pd.Categorical(RNG.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True), "ordinal"),
    "day": (pd.date_range("2020-01-01", periods=N), "date"),
    "day_text": ([f"2020-01-{1 + i % 28:02d}" for i in range(N)], "date"),
    "price": ([f"${i * 37 % 11},{i:03d}.50" for i in range(N)], "number"),
    "row": (np.arange(N)[::-1] * 2 + 7, "identifier"),
    "name": ([f"row {i}" for i in range(N)], "identifier"),
    "name_of_some": ([f"row {i}" if i % 3 else None for i in range(2 * N)][:N], "given"),
    "number_of_some": ([i // 3 if i % 3 == 0 else None for i in range(N)], "given"),
    "name_of_most": ([f"row {i}" if i else None for i in range(N)], "identifier"),
    "text": ([f"sentence {i % 39}" for i in range(2 * N)][:N], "category"),
    "one": (np.full(N, 3.0), "constant"),
    "none": ([None] * N, "empty"),
    "lists": ([[1, 2]] * N, "text"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds(name):
    values, kind = COLUMNS[name]
    assert infer_schema(pd.DataFrame({name: values})).columns[0].kind == kind


def test_the_order_of_rows_does_not_matter():
    frame = pd.DataFrame({name: values for name, (values, _) in COLUMNS.items()})
    mixed = frame.sample(frac=1, random_state=1)
    assert infer_schema(mixed) == infer_schema(frame)


def test_kinds_can_be_asked_for():
    frame = pd.DataFrame({"code": RNG.integers(1, 9, N), "x": np.exp(RNG.normal(size=N)), "id": np.arange(N)})
    schema = infer_schema(frame, {"code": "category", "id": "integer"}, drop=["x"])
    assert [c.kind for c in schema.columns] == ["category", "dropped", "integer"]
    assert infer_schema(frame, log=["x"])["x"].transform == "log"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"types": {"y": "number"}}, "no column 'y'"),
        ({"types": {"x": "colour"}}, "must be one of"),
        ({"types": {"s": "number"}}, "does not hold numbers"),
        ({"types": {"x": "boolean"}}, "more than a boolean's two"),
        ({"log": ["s"]}, "no column of numbers"),
        ({"log": ["x"]}, "below 0"),
    ],
)
def test_what_cannot_be_is_refused(settings, sentence):
    frame = pd.DataFrame({"x": np.linspace(-1, 1, N), "s": ["a", "b"] * (N // 2)})
    with pytest.raises(ValueError, match=sentence):
        infer_schema(frame, **settings)


def test_many_texts_are_left_out_and_said():
    column = infer_schema(pd.DataFrame({"t": [f"sentence {i % 60}" for i in range(120)]})).columns[0]
    assert (column.kind, column.note) == ("text", "60 different texts, more than 50")


def test_as_text_names_every_column():
    frame = pd.DataFrame({name: values for name, (values, _) in COLUMNS.items()})
    schema = infer_schema(frame)
    lines = schema.as_text().splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(COLUMNS)
    assert Schema.from_dict(schema.to_dict()) == schema


def test_two_values_among_numbers_are_numbers():
    def kinds(**columns) -> list[str]:
        frame = pd.DataFrame({"size": RNG.normal(size=N), "weight": RNG.normal(size=N), **columns})
        return [column.kind for column in infer_schema(frame).columns][2:]

    flag = RNG.integers(0, 2, N)
    assert kinds(flag=flag) == ["integer"]
    assert kinds(flag=flag, name=[f"row {i}" for i in range(N)]) == ["integer", "identifier"]
    assert kinds(flag=flag > 0) == ["boolean"]
    assert kinds(flag=flag, some=np.where(flag, 1.5, np.nan) * RNG.normal(size=N)) == ["boolean", "number"]
    assert kinds(flag=flag, sex=RNG.choice(["f", "m"], N)) == ["boolean", "category"]
    assert kinds(a=flag, b=flag) == ["boolean", "boolean"]  # answers of yes and no
    frame = pd.DataFrame({"size": RNG.normal(size=N), "weight": RNG.normal(size=N), "flag": flag})
    assert infer_schema(frame).is_plain
    assert infer_schema(frame, {"flag": "boolean"})["flag"].kind == "boolean"
