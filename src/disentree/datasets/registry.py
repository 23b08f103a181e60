"""Data sets by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from disentree.datasets.base import Dataset
from disentree.datasets.chopsticks import VARIANTS, Chopsticks
from disentree.hierarchy import Hierarchy

_CHOPSTICKS = re.compile(r"chopsticks-depth(\d+)-(\w+)")
_ABOUT = {
    "inter": "sticks with an intercept",
    "slope": "sticks with a slope",
    "both": "sticks with a slope and an intercept",
    "either": "sticks with a slope or an intercept",
}


_BENCHMARKS = [*(f"chopsticks-depth{d}-{v}" for d in (2, 3) for v in VARIANTS), "spaceshapes"]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a data set before it is made.

    Attributes
    ----------
    name : str
        The name that `load_dataset` knows it by.
    description : str
        What it is, in a few words.
    hierarchy : Hierarchy
        The tree that its codes follow.
    options : mapping of str to value
        All options of `load_dataset` for it, with their values.
    """

    name: str
    description: str
    hierarchy: Hierarchy
    options: Mapping[str, Any]


def list_datasets() -> list[DatasetInfo]:
    """Describe the nine benchmarks of the paper.

    Returns
    -------
    list of DatasetInfo
        Eight Chopsticks, which exist at any other depth too, and Spaceshapes.

    Examples
    --------
    >>> list_datasets()[0].name
    'chopsticks-depth2-inter'
    """
    return [dataset_info(name) for name in _BENCHMARKS]


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
    return _recipe(name, options)[0]


def load_dataset(name: str, n_samples: int = 100_000, seed: int = 0, **options: Any) -> Dataset:
    """Make a benchmark data set.

    Parameters
    ----------
    name : str
        ``chopsticks-depth{d}-{inter|slope|both|either}`` for any depth d, or ``spaceshapes``.
    n_samples : int, default=100000
        How many rows to draw.
    seed : int, default=0
        The same seed gives the same bytes, whatever the number of cores.
    **options
        Chopsticks: `length`, `noise` (standard deviation of Gaussian noise), `min_offset`, `mode`,
        `distribution`, `stop` (see `Chopsticks`). Spaceshapes: `binarize`, `noise`.

    Returns
    -------
    Dataset
        Observations, their codes, hierarchy and paths.

    Examples
    --------
    >>> ds = load_dataset("chopsticks-depth2-either", n_samples=1000, seed=0)
    >>> ds.X.shape, ds.codes.shape, len(ds.hierarchy.paths)
    ((1000, 64), (1000, 9), 6)
    >>> bool((ds.generate(ds.codes) == ds.X).all())
    True
    """
    _check_whole("n_samples", n_samples, 1)
    _check_whole("seed", seed, 0)
    info, sample_codes, render = _recipe(name, options)
    # Factors and noise have generators of their own: a noisy data set is the clean one plus noise.
    factor_rng, noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(int(seed)).spawn(2))
    codes = sample_codes(int(n_samples), factor_rng)
    X = render(codes)
    if noise := float(info.options["noise"]):
        X = _add_noise(X, noise, noise_rng)
    return Dataset(name, X, codes, info.hierarchy, info.hierarchy.path_of(codes), int(seed), options, render)


def _recipe(name: str, options: dict[str, Any]) -> tuple[DatasetInfo, Callable, Callable]:
    """What is known about a data set, how its codes are drawn, and how they become observations."""
    match = _CHOPSTICKS.fullmatch(name)
    if match and match[2] in VARIANTS:
        defaults = {f.name: f.default for f in fields(Chopsticks) if f.name not in ("depth", "variant")}
        own = _check_options(name, options, defaults)
        sticks = Chopsticks(int(match[1]), match[2], **own)  # pyright: ignore[reportArgumentType]
        chops = sticks.depth - 1
        times = f"chopped up to {chops} time{'s' * (chops > 1)}" if chops else "never chopped"
        about, hierarchy = f"{_ABOUT[sticks.variant]}, {times}", sticks.hierarchy
        sample_codes, render = sticks.sample_codes, sticks.render
    elif name == "spaceshapes":
        from disentree.datasets import spaceshapes

        defaults = {"binarize": False}
        own = _check_options(name, options, defaults)
        about, hierarchy = "64x64 images of moons, stars and ships, some with a jet", spaceshapes.SPACESHAPES
        sample_codes, render = spaceshapes.sample_codes, partial(spaceshapes.render, **own)
    else:
        known = [*_BENCHMARKS, *(f"chopsticks-depth{match[1]}-{v}" for v in VARIANTS if match)]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(known)}"
        raise ValueError(f"there is no data set {name!r}; {hint}")
    return DatasetInfo(name, about, hierarchy, {**defaults, "noise": 0.0, **options}), sample_codes, render


def _check_options(name: str, options: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The options without `noise`, which every data set has, once all of them are known to exist."""
    known = [*defaults, "noise"]
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(sorted(known))}")
    noise = options.get("noise", 0.0)
    if not isinstance(noise, int | float | np.number) or not 0 <= noise < float("inf"):
        raise ValueError(f"noise must be a number of 0 or more, got {noise!r}")
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
