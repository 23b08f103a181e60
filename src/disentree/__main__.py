"""`python -m disentree` is `disentree`."""

from disentree.cli import main

main()
