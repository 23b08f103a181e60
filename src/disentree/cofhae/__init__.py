"""COFHAE: an autoencoder whose code follows a hierarchy of variables, and its ablations."""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder, HierarchicalMask
    from disentree.cofhae.estimator import COFHAE

__all__ = ["COFHAE", "Encoding", "HierarchicalAutoencoder", "HierarchicalMask"]

# Units and explanations need no torch; these do.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Encoding": "disentree.cofhae.algorithm8",
        "HierarchicalAutoencoder": "disentree.cofhae.algorithm8",
        "HierarchicalMask": "disentree.cofhae.algorithm8",
        "COFHAE": "disentree.cofhae.estimator",
    },
)
