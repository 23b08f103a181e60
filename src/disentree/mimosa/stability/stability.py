"""How much of a tree comes back when MIMOSA is fitted again to a part of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.mimosa.explain.factors import factor_columns
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.stability.comparing import Found
from disentree.mimosa.summary.contents import came_back
from disentree.mimosa.summary.wording import brought_back


@dataclass(frozen=True)
class Stability:
    """How often the parts of a tree came back, as `MIMOSA.stability` reports it.

    Attributes
    ----------
    support : array of shape (n_components,)
        For each component, the share of resamples in which a leaf was found that has three quarters of the rows in
        common with it (Jaccard index). NaN for one that had no row in any resample.
    jaccard : array of shape (n_components,)
        The Jaccard index with the likest leaf, on average.
    dimensions : list of dict
        For each component, how often it came back with which dimension.
    parents : list of dict
        For each component that came back, how often with which parent: a component, None, or -1 for a leaf that
        is none of the components.
    tree : float
        The share of resamples with the same tree: as many leaves, all of which came back, with the same dimensions
        and parents; of a product, the same choices with the same numbers of variables, all of which came back.
    branch_support : array of shape (n_branches,)
        As `support`, for every option of every categorical in the order of `branches`: the rows of all leaves
        below it.
    branches : sequence of two str
        Names of categorical and option.
    n_components : dict
        How often how many leaves were found.
    n_resamples : int
    fraction : float
        The part of the rows that each resample has.
    verdict : str
        Which branches, or independent choices, came back, in a sentence.
    factors : list of dict
        For each of the categoricals that are chosen independently of each other at the root, its `name` and
        `support`: the share of resamples in which some categorical divided the rows as it does, option by option
        (Jaccard indices of three quarters and more). Empty if there are fewer than two.
    """

    support: Float[np.ndarray, " components"]
    jaccard: Float[np.ndarray, " components"]
    dimensions: list[dict[int, int]]
    parents: list[dict[int | None, int]]
    tree: float
    branch_support: Float[np.ndarray, " branches"]
    branches: Sequence[Sequence[str]]
    n_components: dict[int, int]
    n_resamples: int
    fraction: float
    verdict: str
    factors: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_records(cls, found: Found, records: Sequence[dict[str, Any]], fraction: float) -> Stability:
        """What the records of single resamples say together."""
        leaves, branches, factors = (
            np.array([[np.nan if j is None else j for j in r[kind]] for r in records], dtype=float)
            for kind in ("jaccard", "branches", "factors")
        )
        columns = factor_columns(found.hierarchy)
        back = leaves >= FINDERS.most
        names = [(found.hierarchy.variables[v], k) for v, k in found.branches]
        branch_support = _share(branches)
        support, factor_support = _share(leaves), _share(factors)
        named = [found.hierarchy.variables[c].name for c in columns] or [v.options[k] for v, k in names]
        pairs = zip(named, factor_support if columns else branch_support, strict=True)
        told = [(name, float(share)) for name, share in pairs if np.isfinite(share)]
        said = brought_back(told, len(records), "choice" if columns else "group") if told else ""
        flat = sum(r["components"] == 1 for r in records)
        return cls(
            support=support,
            jaccard=_mean(leaves),
            dimensions=[
                _counts(r["dimensions"][c] for r in records if r["dimensions"][c] is not None)
                for c in range(leaves.shape[1])
            ],
            parents=[
                _counts(r["parents"][c] for r, ok in zip(records, back[:, c], strict=True) if ok)
                for c in range(leaves.shape[1])
            ],
            tree=float(np.mean([r["same_tree"] for r in records])),
            branch_support=branch_support,
            branches=[(variable.name, variable.options[k]) for variable, k in names],
            factors=[
                {"name": found.hierarchy.variables[c].name, "support": float(one)}
                for c, one in zip(columns, factor_support, strict=True)
            ],
            n_components=_counts(r["components"] for r in records),
            n_resamples=len(records),
            fraction=fraction,
            verdict=f"{said[:1].upper()}{said[1:]}." if said else f"{flat} of {len(records)} have one leaf too.",
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it.

        Returns
        -------
        dict
        """
        components = [
            {
                "path": c,
                "support": _number(self.support[c]),
                "jaccard": _number(self.jaccard[c]),
                "dimensions": {str(d): n for d, n in self.dimensions[c].items()},
                "parents": {_parent(p): n for p, n in self.parents[c].items()},
            }
            for c in range(len(self.support))
        ]
        branches = [
            {"categorical": name, "option": option, "support": _number(support)}
            for (name, option), support in zip(self.branches, self.branch_support, strict=True)
        ]
        return {
            "n_resamples": self.n_resamples,
            "fraction": self.fraction,
            "tree": self.tree,
            "verdict": self.verdict,
            "n_components": {str(k): n for k, n in sorted(self.n_components.items())},
            "components": components,
            "branches": branches,
            "factors": [{**factor, "support": _number(factor["support"])} for factor in self.factors],
        }

    def factor_lines(self) -> list[str]:
        """How often each factor came back, a line each.

        Returns
        -------
        list of str
        """
        return [f"{factor['name']}: {in_words(factor['support'])}" for factor in self.factors]

    def __str__(self) -> str:
        lines = [
            self.verdict,
            f"{self.n_resamples} resamples of {self.fraction:.0%} of the rows, {self.tree:.0%} of them with the "
            "same tree to the last leaf and dimension",
        ]
        lines += self.factor_lines()
        for c, support in enumerate(self.support):
            dims = ", ".join(f"{d}-D {n} times" for d, n in sorted(self.dimensions[c].items()))
            lines.append(f"component {c}: {in_words(support)}; its likest leaf was {dims or 'none'}")
        return "\n".join(lines)


def in_words(support: float) -> str:
    """How often something came back; a warning sign if in fewer than half of the resamples."""
    if not np.isfinite(support):
        return "too few rows to tell"
    return f"came back in {support:.0%} of resamples" + ("" if came_back(support) else "  (!)")


def _share(jaccard: Float[np.ndarray, "r c"]) -> Float[np.ndarray, " c"]:
    return _mean(np.where(np.isnan(jaccard), np.nan, jaccard >= FINDERS.most))


def _mean(values: Float[np.ndarray, "r c"]) -> Float[np.ndarray, " c"]:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)


def _counts(values: Iterable[Any]) -> dict[Any, int]:
    return dict(Counter(values))


def _number(value: float) -> float | None:
    return None if not np.isfinite(value) else round(float(value), 4)


def _parent(parent: int | None) -> str:
    return "none" if parent is None else "another" if parent < 0 else str(parent)
