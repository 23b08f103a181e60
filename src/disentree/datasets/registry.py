"""Data sets by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from disentree.datasets.base import Dataset
from disentree.datasets.generated import clusters, curved, humid_air, robot_arm, triangle
from disentree.datasets.generated.branches import Branches
from disentree.datasets.generated.chopsticks import VARIANTS, Chopsticks
from disentree.datasets.generated.product import Product
from disentree.datasets.generated.recipe import Recipe
from disentree.datasets.real_tables import CARDS, Card, load_table
from disentree.datasets.registered import OWN, Registered, find_registered, own_names, true_hierarchy
from disentree.hierarchy import Hierarchy
from disentree.utils.plugins import check_new_name

_CHOPSTICKS = re.compile(r"chopsticks-depth(\d+)-(\w+)")
_PRODUCT = re.compile(r"product-(\d+)(-curved)?")
_BRANCHES = re.compile(r"branches-(\d+)(-curved)?")
_ABOUT = {
    "inter": "sticks with an intercept",
    "slope": "sticks with a slope",
    "both": "sticks with a slope and an intercept",
    "either": "sticks with a slope or an intercept",
}


N_SAMPLES = 100_000  # of generated data, unless told
_BENCHMARKS = [*(f"chopsticks-depth{d}-{v}" for d in (2, 3) for v in VARIANTS), "spaceshapes"]
_RECIPES = {**curved.RECIPES, **clusters.RECIPES, "robot-arm": robot_arm.RECIPE, "humid-air": humid_air.RECIPE}
_RECIPES["triangle-edges"] = triangle.RECIPE
_PRODUCTS = [f"product-{k}{curved}" for curved in ("", "-curved") for k in range(2, 6)]


@dataclass(frozen=True)
class DatasetInfo:
    """What can be said about a data set before it is made.

    Attributes
    ----------
    name, description : str
    hierarchy : Hierarchy or None
        None for real data.
    options : mapping
        Everything `load_dataset` takes for it, with the values it would have.
    card : Card or None
        Of real data: source, license, citation and what is known of its structure.
    """

    name: str
    description: str
    hierarchy: Hierarchy | None
    options: Mapping[str, Any]
    card: Card | None = None


def list_datasets(kind: str = "benchmarks") -> list[DatasetInfo]:
    """Describe the data sets of a kind.

    Parameters
    ----------
    kind : {"benchmarks", "generated", "real", "own"}, default="benchmarks"
        The nine benchmarks of the paper (Chopsticks exist at any other depth too), other generated data with
        ground truth, real tables, or what was registered.

    Returns
    -------
    list of DatasetInfo

    Examples
    --------
    >>> list_datasets()[0].name, list_datasets("real")[0].name
    ('chopsticks-depth2-inter', 'penguins')
    """
    names = {"benchmarks": _BENCHMARKS, "generated": [*_RECIPES, *_PRODUCTS], "real": list(CARDS)}
    names["own"] = own_names()
    if kind not in names:
        raise ValueError(f"kind must be {', '.join(names)}, got {kind!r}")
    return [dataset_info(name) for name in names[kind]]


def register_dataset(
    name: str,
    make: Any,
    *,
    description: str = "",
    hierarchy: Hierarchy | Mapping[str, Any] | None = None,
) -> None:
    """Give a data set of your own a name, which `load_dataset`, runs and studies then know.

    A package can do so by an entry point of the group ``disentree.datasets``. Studies tell their worker processes.

    Parameters
    ----------
    name : str
        A word.
    make : callable
        ``make(n_samples, seed)`` returns a `Dataset`, or X, codes (NaN where a variable is not active) and
        hierarchy; the latter two are None where they are not known. More parameters, with defaults, are options.
    description : str, default=""
        A few words.
    hierarchy : Hierarchy or dict, default=None
        The true one. None: that of a few rows, which are made when it is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from disentree import Hierarchy
    >>> from disentree.datasets import load_dataset, register_dataset
    >>> def make(n_samples, seed, radius=1.0):
    ...     angle = np.random.default_rng(seed).uniform(0, 3, (n_samples, 1))
    ...     return radius * np.hstack([np.cos(angle), np.sin(angle)]), angle, Hierarchy.flat(1)
    >>> register_dataset("arc", make)
    >>> load_dataset("arc", 100, radius=2.0)
    <Dataset arc: 100 samples of 2, 1 paths>
    """
    if not callable(make):
        raise TypeError(f"make must be a function of (n_samples, seed), got {make!r}")
    is_again = name in OWN and OWN[name].make is make  # a cell of a notebook that is run once more
    check_new_name("data set", name, taken=not is_again and is_known(name))
    tree = hierarchy if hierarchy is None or isinstance(hierarchy, Hierarchy) else Hierarchy.from_dict(hierarchy)
    OWN[name] = Registered(make, description, tree)


def is_known(name: str) -> bool:
    """Whether there is a data set of this name."""
    try:
        return name in own_names() or dataset_info(name) is not None
    except ValueError:
        return False


def dataset_info(name: str, **options: Any) -> DatasetInfo:
    """Describe a data set without making it.

    Parameters
    ----------
    name : str
        A name that `load_dataset` knows.
    **options
        Options of `load_dataset`.

    Returns
    -------
    DatasetInfo

    Examples
    --------
    >>> dataset_info("chopsticks-depth4-inter").description
    'sticks with an intercept, chopped up to 3 times'
    """
    if (mine := find_registered(name)) is not None:
        _check_options(name, options, mine.options, noise=False)
        return DatasetInfo(
            name, mine.description, true_hierarchy(name, mine, options), {**mine.options, **options}
        )
    if name in CARDS:
        own = _check_options(name, options, {"numeric": False}, noise=False)
        return DatasetInfo(name, CARDS[name].title, None, {"numeric": False, **own}, CARDS[name])
    return _recipe(name, options)[0]


def load_dataset(name: str, n_samples: int | None = None, seed: int = 0, **options: Any) -> Dataset:
    """Make a data set with ground truth, or read a real one.

    Parameters
    ----------
    name : str
        ``chopsticks-depth{d}-{inter|slope|both|either}`` for any depth d, ``product-{k}`` and
        ``product-{k}-curved`` for any number of switches k from 2, ``branches-{k}`` and
        ``branches-{k}-curved`` for any number k, ``spaceshapes``, or another name that
        `list_datasets` has.
    n_samples : int or None, default=None
        None for 100,000 rows of a generated data set and for all rows of a real one, of which it is otherwise the
        size of a random subset.
    seed : int, default=0
        The same seed gives the same bytes, whatever the number of cores.
    **options
        Chopsticks: `length`, `noise` (standard deviation of Gaussian noise), `min_offset`, `mode`,
        `distribution`, `stop` (see `Chopsticks`). Products: `shares`, `missing`, `offset`, `noise`
        (see `Product`). Spaceshapes: `binarize`, `second` (an independent second categorical: None, "color" or
        "size"), `style` ("smooth", or "paper" for its steps and hard edges), `noise`. Other generated data:
        `noise`.
        Real tables: `numeric`, to have only the measured numbers of rows without empty cells, as an array.

    Returns
    -------
    Dataset
        Observations and, where they are known, their codes, hierarchy and paths.

    Examples
    --------
    >>> ds = load_dataset("chopsticks-depth2-either", n_samples=1000, seed=0)
    >>> ds.X.shape, ds.codes.shape, len(ds.hierarchy.paths)
    ((1000, 64), (1000, 9), 6)
    >>> bool((ds.generate(ds.codes) == ds.X).all())
    True
    >>> load_dataset("penguins").X.columns[1]
    'bill_length_mm'
    """
    if n_samples is not None:
        _check_whole("n_samples", n_samples, 1)
    _check_whole("seed", seed, 0)
    if (mine := find_registered(name)) is not None:
        _check_options(name, options, mine.options, noise=False)
        return mine.load(name, int(n_samples or N_SAMPLES), int(seed), options)
    if name in CARDS:
        return _load_table(name, n_samples, int(seed), options)
    info, recipe = _recipe(name, options)
    # Factors and noise have generators of their own: a noisy data set is the clean one plus noise.
    factor_rng, noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(int(seed)).spawn(2))
    codes = recipe.sample_codes(int(n_samples or N_SAMPLES), factor_rng)
    X = recipe.render(codes)
    if recipe.disturb is not None:
        X = recipe.disturb(X, noise_rng)
    if noise := float(info.options["noise"]):
        X = _add_noise(X, noise, noise_rng)
    named = partial(_with_names, columns=recipe.columns)
    render = recipe.render if not recipe.columns else lambda codes: named(recipe.render(codes))
    paths = recipe.hierarchy.path_of(codes)
    return Dataset(name, named(X), codes, recipe.hierarchy, paths, int(seed), options, render)


def _load_table(name: str, n_samples: int | None, seed: int, options: dict[str, Any]) -> Dataset:
    numeric = bool(dataset_info(name, **options).options["numeric"])
    X, label, names = load_table(CARDS[name], numeric)
    if n_samples is not None and n_samples < len(X):
        chosen = np.sort(np.random.default_rng(seed).choice(len(X), n_samples, replace=False))
        X = X[chosen] if numeric else X.iloc[chosen].reset_index(drop=True)
        label = None if label is None else label[chosen]
    return Dataset(name, X, None, None, label, seed, options, path_names=names)


def _with_names(X: np.ndarray, columns: Sequence[str]) -> Any:
    if not columns:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=pd.Index(columns))


def _recipe(name: str, options: dict[str, Any]) -> tuple[DatasetInfo, Recipe]:
    """What is known about a data set, and how it is made."""
    match = _CHOPSTICKS.fullmatch(name)
    if match and match[2] in VARIANTS:
        defaults = {f.name: f.default for f in fields(Chopsticks) if f.name not in ("depth", "variant")}
        own = _check_options(name, options, defaults)
        sticks = Chopsticks(int(match[1]), match[2], **own)  # pyright: ignore[reportArgumentType]
        chops = sticks.depth - 1
        times = f"chopped up to {chops} time{'s' * (chops > 1)}" if chops else "never chopped"
        about = f"{_ABOUT[sticks.variant]}, {times}"
        recipe = Recipe(about, sticks.hierarchy, sticks.sample_codes, sticks.render)
    elif name == "spaceshapes":
        from disentree.datasets.generated import spaceshapes

        defaults = {"binarize": False, "second": None, "style": "smooth"}
        own = {**defaults, **_check_options(name, options, defaults)}
        tree = spaceshapes.hierarchy_with(**own)
        about = "64x64 images of moons, stars and ships, some with a jet"
        sample = partial(spaceshapes.sample_codes, second=own["second"])
        recipe = Recipe(about, tree, sample, partial(spaceshapes.render, **own))
    elif product := _PRODUCT.fullmatch(name):
        defaults = {f.name: f.default for f in fields(Product) if f.name not in ("k", "curved")}
        own = _check_options(name, options, defaults)
        recipe = Product(int(product[1]), bool(product[2]), **own).recipe
    elif branches := _BRANCHES.fullmatch(name):
        defaults, recipe = {}, Branches(int(branches[1]), bool(branches[2])).recipe
        _check_options(name, options, defaults)
    elif name in _RECIPES:
        defaults, recipe = {}, _RECIPES[name]
        _check_options(name, options, defaults)
    else:
        names = [*_BENCHMARKS, *(f"chopsticks-depth{match[1]}-{v}" for v in VARIANTS if match)]
        names += [*_RECIPES, *_PRODUCTS, *CARDS, *own_names()]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(names)}"
        raise ValueError(f"there is no data set {name!r}; {hint}")
    return DatasetInfo(name, recipe.description, recipe.hierarchy, {**defaults, "noise": 0.0, **options}), recipe


def _check_options(
    name: str, options: dict[str, Any], defaults: dict[str, Any], noise: bool = True
) -> dict[str, Any]:
    """The options without `noise`, which every generated data set has, once all of them are known to exist."""
    known = [*defaults, *(["noise"] if noise else [])]
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(sorted(known))}")
    level = options.get("noise", 0.0)
    if not isinstance(level, int | float | np.number) or not 0 <= level < float("inf"):
        raise ValueError(f"noise must be a number of 0 or more, got {level!r}")
    return {option: value for option, value in options.items() if option != "noise"}


def _check_whole(argument: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{argument} must be a whole number of {least} or more, got {value!r}")


def _add_noise(X: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise; on images its standard deviation is a fraction of full brightness."""
    if X.dtype != np.uint8:
        return X + noise * rng.standard_normal(X.shape)
    out = np.empty_like(X)
    for start in range(0, len(X), 4096):  # images in blocks: floats of all of them would not fit
        block = slice(start, start + 4096)
        noisy = X[block] + 255 * noise * rng.standard_normal(X[block].shape, dtype=np.float32)
        out[block] = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    return out
