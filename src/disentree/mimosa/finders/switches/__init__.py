"""Products of independent choices."""
