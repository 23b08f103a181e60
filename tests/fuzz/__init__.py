"""Random input for the readers, the commands and the server; `make fuzz` runs it for as long as one likes.

Every try has a seed of its own, from which alone it is made, so that any of them can be repeated:

    PYTHONPATH=tests python -m fuzz --seconds 60                       # all targets in turn, fresh seeds
    PYTHONPATH=tests python -m fuzz --target damaged --seed 17 --tries 1    # one try again
"""
