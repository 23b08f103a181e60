"""Tables as they come: columns of any kind, empty cells, and the way from them to numbers and back."""

from disentree.tables.codec import Cells, Codec
from disentree.tables.column import Column, Schema
from disentree.tables.kinds import infer_schema

__all__ = ["Cells", "Codec", "Column", "Schema", "infer_schema"]
