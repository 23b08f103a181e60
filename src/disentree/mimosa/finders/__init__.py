"""Ways to find the components of data that has been given a representation."""
