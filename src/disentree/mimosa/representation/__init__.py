"""Initial representations: linear, or an autoencoder for curved data."""
