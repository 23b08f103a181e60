"""Studies of the tree that MIMOSA finds."""
