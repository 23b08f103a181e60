"""What the files of a saved model may hold: names, types and sizes, looked at before anything is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt, model_validator

from disentree.cofhae.inputs import KINDS, LIKELIHOODS
from disentree.hierarchy import Hierarchy

MOST_LAYERS, WIDEST = 64, 2**14  # of the networks that the parameters name
MOST_PATHS, MOST_OPTIONS = 2**16, 5000  # of a tree: some numbers for each, or for each two of the options

Widths = Annotated[list[Annotated[int, Field(ge=1, le=WIDEST)]], Field(max_length=MOST_LAYERS)]


class _Schema(BaseModel):
    """Keys that are not named here are of later versions, and are not read."""

    model_config = ConfigDict(strict=True)


class Parameters(_Schema):
    """Those of the parameters that say how large something is; the estimators check the others."""

    hidden: Widths = []
    discriminator: Widths = []
    random_state: int | None = None


class Input(BaseModel):
    """The fixed first layer."""

    model_config = ConfigDict(strict=True, extra="allow")

    kind: str = "raw"
    likelihood: str
    shape: Annotated[list[PositiveInt], Field(min_length=1, max_length=3)]
    dtype: str
    pixel_scale: Annotated[FiniteFloat, Field(gt=0)]
    variance: FiniteFloat = 1.0
    range: tuple[FiniteFloat, FiniteFloat] | list[FiniteFloat] = (0.0, 1.0)
    centered: bool = True

    @model_validator(mode="after")
    def _is_known(self) -> Input:
        if self.kind not in KINDS or self.likelihood not in LIKELIHOODS or len(self.range) != 2:
            raise ValueError(f"there is no input of kind {self.kind!r} with likelihood {self.likelihood!r}")
        return self


class _OnPath(_Schema):
    percentiles: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)]
    histogram: list[NonNegativeInt]


class _Path(_Schema):
    choices: list[NonNegativeInt | None]
    n_rows: NonNegativeInt
    variables: dict[str, _OnPath]


class CodeStatistics(_Schema):
    """What `code_statistics` gives."""

    n_rows: NonNegativeInt
    ranges: list[Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)] | None]
    paths: list[_Path]


class SavedPreprocessor(_Schema):
    """What `Preprocessor.to_dict` gives."""

    table: dict[str, Any] | None = None
    codec: dict[str, Any] | None = None
    names: list[str] = []
    columns: list[NonNegativeInt] | None = None
    n_columns: PositiveInt | None = None
    in_units: bool = True
    center: list[FiniteFloat] | None = None
    scale: list[FiniteFloat] | None = None


class About(_Schema):
    """``model.json``."""

    format: int
    name: str = Field(alias="class")
    version: str = ""
    parameters: dict[str, Any]
    hierarchy: dict[str, Any]
    input: Input
    n_features_in: PositiveInt
    feature_names_in: list[str | int] = []
    seed: int | None = None
    interrupted: bool | None = None
    diverged: bool | None = None
    history: list[dict[str, float | int | None]] = []
    code_statistics: CodeStatistics | None = None
    maps: Literal["linear", "network"] = "network"
    preprocessor: SavedPreprocessor | None = None
    mimosa: bool = False
    move: dict[str, Any] | None = None
    sha256: str


def bounded_hierarchy(tree: dict[str, Any]) -> Hierarchy:
    """A hierarchy from its dict, unless it is larger than any that is found."""
    hierarchy = Hierarchy.from_dict(tree)
    n_paths, n_options = hierarchy.root.n_paths, sum(v.n_options or 0 for v in hierarchy.variables)
    if n_paths > MOST_PATHS or max(n_options, hierarchy.n_variables) > MOST_OPTIONS:
        raise ValueError(f"a tree of {n_paths} paths is too large to be one")
    return hierarchy
