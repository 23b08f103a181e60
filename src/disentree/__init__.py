"""disentree: find the tree of manifolds in a data set and learn a representation that follows it."""

from typing import TYPE_CHECKING

from disentree._version import __version__
from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.baselines import AE, VAE, BetaTCVAE, CascadeVAE, FactorVAE, JointVAE
    from disentree.cofhae import COFHAE
    from disentree.explorer import explore, export_onnx
    from disentree.hierarchy import Hierarchy
    from disentree.integrations import annotate
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
    "annotate",
    "explore",
    "export_onnx",
    "open_run",
]

# Imported when first asked for: `disentree --help` waits for no library that it does not use.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        **dict.fromkeys(("AE", "VAE", "BetaTCVAE", "CascadeVAE", "FactorVAE", "JointVAE"), "disentree.baselines"),
        "COFHAE": "disentree.cofhae",
        "Hierarchy": "disentree.hierarchy",
        "MIMOSA": "disentree.mimosa",
        "annotate": "disentree.integrations",
        "explore": "disentree.explorer",
        "export_onnx": "disentree.explorer",
        "open_run": "disentree.runs",
    },
)
