"""A tree with the share of rows on each of its branches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Int

from disentree.hierarchy.hierarchy import Hierarchy
from disentree.hierarchy.renaming import relabeled


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
    inside: dict[tuple[int, int], int] = {}
    for path in hierarchy.paths:
        for choice in path.choices:
            inside[choice] = inside.get(choice, 0) + int(counts[path.index])
    options = [
        [
            form.format(name, inside.get((v.index, k), 0) / max(1, len(labels)), after.get((v.index, k), ""))
            for k, name in enumerate(v.options)
        ]
        for v in hierarchy.variables
    ]
    return relabeled(hierarchy, [v.name for v in hierarchy.variables], options)
