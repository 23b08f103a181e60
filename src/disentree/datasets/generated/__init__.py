"""Data sets that are generated, with ground truth."""
