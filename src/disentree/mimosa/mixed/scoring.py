"""What was compared among the numbers of a table, after categories and empty cells are counted in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.mixed.latent_classes import LatentClasses
from disentree.mimosa.search.judge import STRUCTURELESS
from disentree.mimosa.search.search import Outcome, led_by

CLASSES = "classes"  # as a finder is called


def without_leaves(outcome: Outcome, cloud: Candidate) -> Outcome:
    """The outcome if the numbers are taken for one cloud, since their leaves only repeat what exists where."""
    table = sorted(outcome.table, key=lambda row: (row["finder"] not in STRUCTURELESS, row["bits"]))
    bits = table[0]["bits"]
    why_not = "its groups only repeat what exists where"
    table = [{**row, "why_not": why_not if row["bits"] < bits else ""} for row in table]
    return replace(outcome, candidate=cloud, table=table, description_length=bits, saved_bits=0.0, doubt=0.0)


def with_classes(outcome: Outcome, classes: LatentClasses, dimension: int, seconds: float) -> Outcome:
    """The outcome if groups that differ in categories alone were found, in each of which numbers are one cloud."""
    k, bits = len(classes.shares), outcome.description_length - classes.saved
    row = {"finder": CLASSES, "components": k, "dimensions": [dimension] * k, "bits": bits}
    row |= {"seconds": seconds, "why_not": ""}
    return replace(
        outcome,
        table=led_by(row, outcome.table),
        description_length=bits,
        saved_bits=classes.saved,
        doubt=classes.doubt,
    )


def with_presence(
    outcome: Outcome, alone: Float[np.ndarray, " n"], switched: Float[np.ndarray, " n"], n_branches: int
) -> Outcome:
    """The outcome with the bits for which cells have a value, so that all proposals are of the same cells: with
    the branches, or of every column on its own for models without structure, the chosen one's too."""
    saved = alone - switched
    chosen, *others = outcome.table
    if n_branches and chosen["finder"] in STRUCTURELESS:
        others.append(chosen)

    def counted(row: dict, is_plain: bool) -> dict:
        more = float((alone if is_plain else switched).mean())
        return {**row, "bits": row["bits"] + more, "branches": 0 if is_plain else n_branches}

    chosen = counted(chosen, is_plain=False)
    others = [counted(row, row["finder"] in STRUCTURELESS) for row in others]
    return replace(
        outcome,
        table=led_by(chosen, sorted(others, key=lambda row: row["bits"])),
        description_length=outcome.description_length + float(switched.mean()),
        saved_bits=outcome.saved_bits + float(saved.mean()),
        doubt=float(np.hypot(outcome.doubt, saved.std() / np.sqrt(len(saved)))),
    )
