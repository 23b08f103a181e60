"""Objects of other libraries, taken as they are: AnnData."""

from disentree.integrations.anndata import annotate

__all__ = ["annotate"]
