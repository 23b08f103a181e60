"""What the density of a leaf may be, and mixtures of leaves."""
