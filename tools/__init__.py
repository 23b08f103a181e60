"""What the repository needs and the package does not."""
