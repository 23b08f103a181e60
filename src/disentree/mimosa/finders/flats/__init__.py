"""Flat leaves: exact, in noise, and sheets in a latent."""
