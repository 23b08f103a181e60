"""Studies of what COFHAE and other models learn."""
