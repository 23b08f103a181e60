"""`python -m disentree` is `disentree`."""

from disentree.cli.app import main

main()
