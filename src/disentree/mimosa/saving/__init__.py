"""Fitted models on disk."""
