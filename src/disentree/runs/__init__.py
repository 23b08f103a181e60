"""A run: a folder that holds everything one analysis made, from which it is resumed, reported and applied."""
