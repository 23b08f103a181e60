"""Leaves of rows of which only the nearest are alike."""
