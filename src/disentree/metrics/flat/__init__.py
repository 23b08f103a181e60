"""Scores for variables that are always active: where they are not they are 0, or have an option of its own."""
