"""Networks and the loop that trains them."""
