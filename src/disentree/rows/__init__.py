"""Rows in blocks: whatever holds them, memory, files or a cluster, they are read a block at a time."""

from disentree.rows.blocks import Blocks, concatenated, in_blocks, is_blocks, opened, sampled, taken
from disentree.rows.survey import Survey

__all__ = ["Blocks", "Survey", "concatenated", "in_blocks", "is_blocks", "opened", "sampled", "taken"]
