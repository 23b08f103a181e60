"""COFHAE: an autoencoder whose code follows a hierarchy of variables, its ablations and its search."""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder, HierarchicalMask
    from disentree.cofhae.estimator import COFHAE
    from disentree.cofhae.search import COFHAESearch

__all__ = ["COFHAE", "COFHAESearch", "Encoding", "HierarchicalAutoencoder", "HierarchicalMask"]

# Units and explanations need no torch; these do.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Encoding": "disentree.cofhae.algorithm8",
        "HierarchicalAutoencoder": "disentree.cofhae.algorithm8",
        "HierarchicalMask": "disentree.cofhae.algorithm8",
        "COFHAE": "disentree.cofhae.estimator",
        "COFHAESearch": "disentree.cofhae.search",
    },
)
