"""A tree with the share of rows on each of its branches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.hierarchy.hierarchy import Hierarchy


def with_sizes(
    hierarchy: Hierarchy,
    labels: Int[np.ndarray, " n"],
    form: str = "{} ({:.1%}{})",
    after: Mapping[tuple[int, int], str] | None = None,
) -> Hierarchy:
    """The same tree with the share of rows behind every option's name, and further words for some: `after` has
    them by column of the categorical and option."""
    after = {} if after is None else after
    counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
    tree = hierarchy.to_dict()
    column = 0

    def visit(variables: list[dict[str, Any]]) -> None:
        nonlocal column
        for variable in variables:
            here, column = column, column + 1
            for k, option in enumerate(variable.get("options", ())):
                inside = sum(int(counts[p.index]) for p in hierarchy.paths if (here, k) in p.choices)
                option["name"] = form.format(
                    option["name"], inside / max(1, len(labels)), after.get((here, k), "")
                )
                visit(option["variables"])

    visit(tree["variables"])
    return Hierarchy.from_dict(tree)
