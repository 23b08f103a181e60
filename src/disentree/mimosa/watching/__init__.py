"""A fitted tree and rows that come later."""
