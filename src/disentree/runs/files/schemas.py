"""What the JSON files and arrays of a run folder hold. Files that hold anything else are reported as damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt, model_validator

# Names of files that several modules read.
LEAVES, MAP, EXPLANATION, NAMES, STABILITY, STEERING = (
    "leaves.json", "map.npz", "explanation.json", "names.json", "stability.json", "steering.json",
)  # fmt: skip

Seconds = Annotated[FiniteFloat, Field(ge=0)]
Score = FiniteFloat | None  # None for one that is not finite


class _Schema(BaseModel):
    """Keys that are not named here are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)


class StageRecord(_Schema):
    """A finished stage in ``stages.json``."""

    seconds: Seconds
    cpu_seconds: Seconds  # of this process, since it began or continued
    files: dict[str, str]  # by name: the SHA-256 of its content


class DataDescription(_Schema):
    """``data.json``."""

    name: str
    kind: Literal["table", "series", "images"]
    n_rows: NonNegativeInt
    shape: Annotated[list[PositiveInt], Field(min_length=1, max_length=3)]
    dtype: str
    policy: list[str]
    feature_names: list[str]
    table: dict[str, Any] | None = None  # what the columns of a table are
    columns: list[NonNegativeInt] | None = None
    n_columns: PositiveInt | None = None
    center: list[FiniteFloat] | None = None
    scale: list[FiniteFloat] | None = None
    chosen_table: str | None = None  # of a file that holds several

    @model_validator(mode="after")
    def _lengths_agree(self) -> DataDescription:
        if self.kind == "table" and self.table is None:
            raise ValueError("it does not say what the columns are")
        if (self.center is None) != (self.scale is None):
            raise ValueError("center and scale must be given together")
        width = self.shape[0]
        for name, values in (
            ("center", self.center),
            ("scale", self.scale),
            ("names", self.feature_names or None),
        ):
            if values is not None and (len(self.shape) > 1 or len(values) != width):
                raise ValueError(f"{len(values)} {name} for rows of shape {self.shape}")
        if self.columns is not None and (len(self.columns) != width or self.n_columns is None):
            raise ValueError(f"{len(self.columns)} columns for rows of shape {self.shape}")
        if self.columns and max(self.columns) >= (self.n_columns or 0):
            raise ValueError(f"there is no column {max(self.columns)}")
        if self.scale is not None and 0.0 in self.scale:
            raise ValueError("scale must not be 0")
        return self


class _Candidate(_Schema):
    finder: str
    components: PositiveInt
    dimensions: list[NonNegativeInt]
    bits: FiniteFloat
    seconds: Seconds
    why_not: str = ""
    left_out: str = ""
    branches: NonNegativeInt | None = None  # of tables with empty cells


class _Lost(_Schema):
    component: NonNegativeInt
    parent: NonNegativeInt
    variables: list[NonNegativeInt]


class _Division(_Schema):
    variable: NonNegativeInt
    bits: FiniteFloat
    support: list[Score]


class Step(BaseModel):
    """One thing that a user did to a tree, in terms of its paths and names then."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    cut: PositiveInt | None = None  # to so many leaves
    merge: Annotated[list[NonNegativeInt], Field(min_length=2)] | None = None
    split: NonNegativeInt | None = None
    rename: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Step:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("a step is one of cut, merge, split and rename")
        return self


class SteeringFile(BaseModel):
    """``steering.json``: what was done to the tree that was found, in order."""

    steps: list[Step]


class _LevelLeaf(_Schema):
    name: str
    paths: list[NonNegativeInt]  # of the tree of the run


class _Level(_Schema):
    n_leaves: PositiveInt
    bits: FiniteFloat
    leaves: list[_LevelLeaf]


class StructureDescription(_Schema):
    """``structure.json``."""

    source: Literal["mimosa", "mimosa-paper", "true", "given"] = Field(alias="from")
    divisions: list[_Division] = []  # of the tree, by its categoricals
    levels: list[_Level] = []  # coarser trees, and the tree itself
    nowhere: NonNegativeInt = 0  # rows that fit no leaf
    told: list[str] = []  # what was done to the tree, and what could not be
    description_length: Score = None
    candidates: list[_Candidate] = []  # none with the paper's MIMOSA
    saved_bits: Score = None
    saved_bits_doubt: Score = None
    timings: dict[str, Seconds] = {}
    lost: list[_Lost] = []
    matches: list[list[NonNegativeInt]] = []


class _Match(_Schema):
    variable: str
    where: str | None = None


class _Factor(_Schema):
    factor: str
    score: FiniteFloat
    matches: list[_Match]


class _Dependence(_Schema):
    path: str
    mean: FiniteFloat
    worst: FiniteFloat
    pair: list[str]


class Metrics(_Schema):
    """``metrics.json``."""

    n_train: NonNegativeInt
    n_test: NonNegativeInt
    scores: dict[str, Score]
    scores_without_truth: dict[str, Score]
    factors: list[_Factor]
    notes: list[str]
    warnings: list[str] = []
    dependence: list[_Dependence]
    estimator: str | None = None

    @model_validator(mode="after")
    def _has_reconstruction(self) -> Metrics:
        if "reconstruction_r2" not in self.scores_without_truth:
            raise ValueError("reconstruction_r2 is missing")
        return self


class _Counts(_Schema):
    """A column among some rows: how many have each value, or lie in each bin."""

    counts: list[NonNegativeInt]
    n_empty: NonNegativeInt
    median: Score = None


class _ProfileColumn(_Counts):
    name: str
    kind: Literal["number", "integer", "date", "category"]
    levels: list[str]
    empty: str
    bins: list[FiniteFloat] | None


class _LeafColumn(_Counts):
    column: NonNegativeInt
    difference: FiniteFloat
    typical: list[Score]


class _LeafProfile(_Schema):
    path: NonNegativeInt | None = None  # of a leaf
    choice: tuple[NonNegativeInt, NonNegativeInt] | None = None  # of a branch: its categorical and option
    n_rows: NonNegativeInt
    typical: list[NonNegativeInt]
    columns: list[_LeafColumn]


class _Move(_Schema):
    column: str
    start: float | str | None = Field(alias="from")
    end: float | str | None = Field(alias="to")


class _OnPath(_Schema):
    path: NonNegativeInt
    text: str = ""
    moves: list[_Move] = []


class _ExplainedVariable(_Schema):
    name: str
    text: str = ""
    moves: list[_Move] = []
    on: list[_OnPath] = []  # if rows of several paths have it


class LeafProfiles(_Schema):
    """``leaves.json``."""

    n_rows: PositiveInt
    columns: list[_ProfileColumn]
    leaves: list[_LeafProfile]

    @model_validator(mode="after")
    def _columns_exist(self) -> LeafProfiles:
        places = {c.column for leaf in self.leaves for c in leaf.columns}
        if places and max(places) >= len(self.columns):
            raise ValueError(f"there is no column {max(places)}")
        return self


class NamesFile(_Schema):
    """``names.json``: shown names, by the names in ``hierarchy.json``."""

    variables: dict[str, str] = {}
    options: dict[str, dict[str, str]] = {}


class _Rule(_Schema):
    text: str
    shares: str = ""  # what it holds for, in words


class _Split(_Schema):
    path: list[str] = []
    categorical: str = ""
    option: str = ""
    name: str = ""
    text: str = ""
    rule: _Rule | None = None


class _ExplainedLeaf(_Schema):
    path: NonNegativeInt
    text: str = ""


class _ExplainedFactor(_Schema):
    name: str
    text: str
    reason: str = ""
    columns: list[str] = []


class ExplanationFile(_Schema):
    """``explanation.json``: why rows are on their branches, in terms of the columns."""

    splits: list[_Split] = []
    leaves: list[_ExplainedLeaf] = []
    variables: list[_ExplainedVariable] = []
    factors: list[_ExplainedFactor] = []
    lost: list[str] = []


class _Support(_Schema):
    path: NonNegativeInt
    support: Annotated[FiniteFloat, Field(ge=0, le=1)] | None = None


class _BranchSupport(_Schema):
    categorical: str
    option: str
    support: Score = None


class _FactorSupport(_Schema):
    name: str
    support: Score = None


class StabilityFile(_Schema):
    """``stability.json``: how often what was found came back in parts of the rows."""

    n_resamples: NonNegativeInt
    fraction: Score = None
    tree: Score = None
    verdict: str = ""
    components: list[_Support] = []
    branches: list[_BranchSupport] = []
    factors: list[_FactorSupport] = []


ROWS, LABELS = ("train", "test", "rows"), ("labels", "core_labels", "test_labels", "paths")


def problem_of_arrays(
    arrays: Mapping[str, np.ndarray], *, n_rows: int, n_paths: int, shape: tuple[int, ...]
) -> str | None:
    """What is wrong with arrays of ``labels.npz`` or ``samples.npz``, for so many rows and paths and rows of a
    shape; None if nothing is."""
    for name, array in arrays.items():
        if name in (*ROWS, *LABELS):
            low, high = (0, n_rows) if name in ROWS else (-1, n_paths)
            if array.ndim != 1 or array.dtype.kind not in "iu":
                return f"{name} must be whole numbers, got {array.dtype} of shape {array.shape}"
            if len(array) and (array.min() < low or array.max() >= high):
                return f"{name} must be from {low} to {high - 1}, got {array.min()} to {array.max()}"
        elif array.dtype.kind not in "biuf" or array.shape[1:] != shape or not array.ndim:
            return f"{name} must be rows of shape {shape}, got {array.dtype} of shape {array.shape}"
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            return f"{name} must be finite"
    groups = (("train", "labels", "core_labels"), ("test", "test_labels"), ("rows", "paths", "X", "X_again"))
    for group in groups:
        lengths = {name: len(arrays[name]) for name in group if name in arrays}
        if len({*lengths.values()}) > 1:
            return "arrays differ in length: " + ", ".join(f"{name} {n}" for name, n in lengths.items())
    return None
