"""Helpers that every package may use: files, processes, progress, Dask arrays."""
