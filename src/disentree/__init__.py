"""disentree: find the tree of manifolds in a data set and learn a representation that follows it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from disentree._version import __version__

if TYPE_CHECKING:
    from disentree.baselines import AE, VAE, BetaTCVAE, CascadeVAE, FactorVAE, JointVAE
    from disentree.cofhae import COFHAE
    from disentree.explorer import explore
    from disentree.hierarchy import Hierarchy
    from disentree.mimosa import MIMOSA
    from disentree.runs import open_run

__all__ = [
    "AE",
    "COFHAE",
    "MIMOSA",
    "VAE",
    "BetaTCVAE",
    "CascadeVAE",
    "FactorVAE",
    "Hierarchy",
    "JointVAE",
    "__version__",
    "explore",
    "open_run",
]

# Imported when first asked for: `disentree --help` waits for no library that it does not use.
_HOMES = {
    **dict.fromkeys(("AE", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "JointVAE"), "disentree.baselines"),
    "COFHAE": "disentree.cofhae",
    "Hierarchy": "disentree.hierarchy",
    "MIMOSA": "disentree.mimosa",
    "explore": "disentree.explorer",
    "open_run": "disentree.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'disentree' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
