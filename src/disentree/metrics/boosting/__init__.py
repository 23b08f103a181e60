"""Gradient-boosted trees, compiled."""
