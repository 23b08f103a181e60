"""Tables with categories and empty cells."""
