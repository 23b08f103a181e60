"""How much of a tree comes back in resamples of the rows."""
