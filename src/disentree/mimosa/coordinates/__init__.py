"""Coordinates that all candidates are compared in: principal components, or the latent of an autoencoder."""
