"""Scores of single true variables, with the learned variables that explain them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Match:
    """A learned variable that explains a true one on a branch of the learned hierarchy.

    Attributes
    ----------
    variable : str
        Name of the learned variable.
    where : str
        The choices that lead to the branch; empty at the root.
    n_rows : int
        Rows on the branch in which the true variable is active.
    score : float
        How well the two correspond there.
    """

    variable: str
    where: str
    n_rows: int
    score: float


@dataclass(frozen=True)
class FactorScore:
    """How well one true variable is represented, and by which learned ones.

    Attributes
    ----------
    factor : str
        Name of the true variable.
    score : float
        Between 0 and 1; 1 is best.
    n_rows : int
        Rows in which the factor is active.
    matches : tuple of Match
        The learned variables that explain it; empty if none does.
    """

    factor: str
    score: float
    n_rows: int
    matches: tuple[Match, ...]

    def to_dict(self) -> dict[str, Any]:
        """The score and its matches as a dict, ready for JSON."""
        return asdict(self) | {"matches": [asdict(m) for m in self.matches]}


class FactorScores(NamedTuple):
    """Scores of all true variables. Its text form is a table.

    Attributes
    ----------
    scores : ndarray of float, shape (n_variables,)
        One score for each true variable.
    factors : tuple of FactorScore
        The same, with the learned variables that explain each.
    """

    scores: Float[np.ndarray, " v"]
    factors: tuple[FactorScore, ...]

    @property
    def mean(self) -> float:
        """The mean of `scores`."""
        return float(self.scores.mean())

    def to_dict(self) -> dict[str, Any]:
        """Mean and factors as a dict, ready for JSON."""
        return {"mean": self.mean, "factors": [f.to_dict() for f in self.factors]}

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("factor", "score", "matched by", "where", "rows", "score")]
        for f in self.factors:
            first = (f.factor, f"{f.score:.3f}")
            for m in f.matches or (Match("-", "", f.n_rows, 0.0),):
                rows.append((*first, m.variable, m.where or "everywhere", str(m.n_rows), f"{m.score:.3f}"))
                first = ("", "")
        rows.append(("mean", f"{self.mean:.3f}", "", "", "", ""))
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)).rstrip() for r in rows
        )
