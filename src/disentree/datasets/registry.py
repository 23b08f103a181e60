"""Data sets by name."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class DatasetInfo:
    """What can be said about a data set before it is made."""

    name: str
    description: str
    hierarchy: Hierarchy


def list_datasets() -> list[DatasetInfo]:
    """The nine benchmarks of the paper; Chopsticks come at any other depth too."""
    from disentree.datasets.spaceshapes import SPACESHAPES

    out = []
    for depth in (2, 3):
        for variant in VARIANTS:
            about = f"{_ABOUT[variant]}, chopped up to {depth - 1} time{'s' if depth > 2 else ''}"
            hierarchy = Chopsticks(depth, variant).hierarchy
            out.append(DatasetInfo(f"chopsticks-depth{depth}-{variant}", about, hierarchy))
    about = "64x64 images of moons, stars and ships, some with a jet"
    return [*out, DatasetInfo("spaceshapes", about, SPACESHAPES)]


def load_dataset(name: str, n_samples: int = 100_000, seed: int = 0, **options: Any) -> Dataset:
    """Make a benchmark data set.

    Parameters
    ----------
    name : str
        ``chopsticks-depth{d}-{inter|slope|both|either}`` for any depth d, or ``spaceshapes``.
    n_samples, seed : int
        The same seed gives the same bytes, whatever the number of cores.
    **options
        Chopsticks: `length`, `noise` (standard deviation of Gaussian noise), `min_offset`, `mode`,
        `distribution`, `stop` (see `Chopsticks`). Spaceshapes: `binarize`, `noise`.

    Examples
    --------
    >>> ds = load_dataset("chopsticks-depth2-either", n_samples=1000, seed=0)
    >>> ds.X.shape, ds.codes.shape, len(ds.hierarchy.paths)
    ((1000, 64), (1000, 9), 6)
    >>> bool((ds.generate(ds.codes) == ds.X).all())
    True
    """
    if isinstance(n_samples, bool) or int(n_samples) != n_samples or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number of 1 or more, got {n_samples!r}")
    if isinstance(seed, bool) or int(seed) != seed or seed < 0:
        raise ValueError(f"seed must be a whole number of 0 or more, got {seed!r}")
    noise = options.pop("noise", 0.0)
    if not 0 <= noise < float("inf"):
        raise ValueError(f"noise must be 0 or more, got {noise!r}")
    # Factors and noise have generators of their own: a noisy data set is the clean one plus noise.
    factor_rng, noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(int(seed)).spawn(2))
    hierarchy, codes, render = _recipe(name, int(n_samples), factor_rng, options)
    X = render(codes)
    if noise:
        X = _add_noise(X, float(noise), noise_rng)
    told = {**options, "noise": float(noise)} if noise else dict(options)
    return Dataset(name, X, codes, hierarchy, hierarchy.path_of(codes), int(seed), told, render)


def _recipe(name: str, n_samples: int, rng: np.random.Generator, options: Mapping[str, Any]):
    if match := _CHOPSTICKS.fullmatch(name):
        depth, variant = int(match[1]), match[2]
        if variant in VARIANTS:
            allowed = [p for p in inspect.signature(Chopsticks).parameters if p not in ("depth", "variant")]
            _check_options(name, options, [*allowed, "noise"])
            sticks = Chopsticks(depth, variant, **options)
            return sticks.hierarchy, sticks.sample_codes(n_samples, rng), sticks.render
    if name == "spaceshapes":
        from disentree.datasets.spaceshapes import SPACESHAPES, render, sample_codes

        _check_options(name, options, ["binarize", "noise"])
        return SPACESHAPES, sample_codes(n_samples, rng), lambda codes: render(codes, **options)
    depth = match[1] if match else "2"
    known = [info.name for info in list_datasets()] + [f"chopsticks-depth{depth}-{v}" for v in VARIANTS]
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(known)}"
    raise ValueError(f"there is no data set {name!r}; {hint}")


def _check_options(name: str, options: Mapping[str, Any], allowed: list[str]) -> None:
    for option in options:
        if option not in allowed:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(sorted(allowed))}")


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
