"""Trees that are steered: made coarser and finer, and found with what is known beforehand."""
