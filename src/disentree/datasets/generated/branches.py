"""Random trees whose branches share some variables: what stands where is known.

Every row has the shared variables, which do the same on all branches, and those of its branch, which do something
of their own. In some trees two of three branches or more have a variable that does the same on both: it stands on
each of them, since the others lack it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from disentree.datasets.generated.recipe import Codes, Recipe, Rows
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group

APART = 2.0  # how far branches lie from each other; variables have values from -1 to 1
BENT = 0.3  # the same within the sines of a curved embedding


@dataclass(frozen=True)
class Branches:
    """One member of the family, by its number.

    >>> print(Branches(0).hierarchy)
    ○ s1
    ○ s2
    ◇ branch
    ├── a
    │   ├── ○ u1
    │   ├── ○ p1
    │   └── ◇ twig
    │       ├── none ∅
    │       └── more
    │           └── ○ v1
    ├── b
    │   ├── ○ u2
    │   └── ○ p2
    └── c
        └── ○ u3
    """

    number: int
    curved: bool = False  # columns are sines of mixed variables instead of mixed variables

    @cached_property
    def _tree(self) -> tuple[Hierarchy, list[int]]:
        """The tree, and for each continuous variable which direction is its own."""
        rng = np.random.default_rng(self.number)
        n_shared, n_options = int(rng.integers(3)), int(rng.integers(2, 5))
        own = [f"u{i}" for i in range(1, n_options + 1)]
        partly = n_options > 2 and rng.random() < 1 / 3
        nested = int(rng.integers(n_options)) if rng.random() < 1 / 2 else -1
        names, options = [f"s{i}" for i in range(1, n_shared + 1)], []
        directions = list(names)
        for i in range(n_options):
            variables: list[Continuous | Categorical] = [Continuous(own[i])]
            directions.append(own[i])
            if partly and i < 2:
                variables.append(Continuous(f"p{i + 1}"))
                directions.append("p")
            if i == nested:
                twig = (Group((), "none"), Group((Continuous(f"v{i + 1}"),), "more"))
                variables.append(Categorical("twig", twig))
                directions.append(f"v{i + 1}")
            options.append(Group(tuple(variables), "abcd"[i]))
        tree = Hierarchy(Group((*(Continuous(name) for name in names), Categorical("branch", tuple(options)))))
        return tree, [list(dict.fromkeys(directions)).index(name) for name in directions]

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the codes follow."""
        return self._tree[0]

    def sample_codes(self, n_samples: int, rng: np.random.Generator) -> Codes:
        """Every option equally likely, continuous variables uniform on [-1, 1]."""
        codes = self.hierarchy.sample(n_samples, rng)
        return np.where(self.hierarchy.is_categorical, codes, 2 * codes - 1)

    def render(self, codes: Codes) -> Rows:
        """Rows without noise."""
        tree, own = self._tree
        columns = [v.index for v in tree.variables if v.kind == "continuous"]
        n = 4 + max(own)
        rng = np.random.default_rng([self.number, 1])
        directions = rng.standard_normal((max(own) + 1, n)) / np.sqrt(n)
        directions *= rng.uniform(1.0, 1.5, (len(directions), 1))
        places = rng.standard_normal((len(tree.root.categoricals[0].options), n)) / np.sqrt(n)
        phases = rng.uniform(0, 2 * np.pi, n)
        branch = np.flatnonzero(tree.is_categorical)[0]
        places = places[codes[:, branch].astype(int)]
        X = np.zeros((len(codes), n))
        # One variable after the other: a product of matrices may round rows differently in blocks of other sizes.
        for column, which in zip(columns, own, strict=True):
            X += np.nan_to_num(codes[:, column])[:, None] * directions[which]
        if not self.curved:
            return X + APART * places
        apart = APART * np.eye(len(tree.root.categoricals[0].options))[codes[:, branch].astype(int)]
        return np.column_stack([np.sin(X + BENT * places + phases), apart])

    @property
    def recipe(self) -> Recipe:
        """How a data set of this tree is made."""
        about = f"branches that share some variables{', curved' * self.curved}"
        return Recipe(about, self.hierarchy, self.sample_codes, self.render)
