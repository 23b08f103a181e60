"""Tables as they come: columns of any kind, empty cells, and the way from them to numbers and back."""
