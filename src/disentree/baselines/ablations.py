"""The variants of COFHAE in the paper's ablation figure, by name.

    from disentree.baselines import ABLATIONS

    model = ABLATIONS["hier-a"].paper().fit(X, hierarchy=hierarchy, paths=paths)

Each is `COFHAE` with terms of its loss switched off, except for "flat", which is `AE`. They use the paper's
losses: the squared assignment loss, total correlation by an adversary, and no targets from independent components.
COFHAE itself is "hier-a-tcon" with the true structure, and `COFHAE.paper()` with MIMOSA's.

"hier-a-z" is an upper bound, the best that networks and metric allow: by default it has COFHAE's own losses, with
the true codes for targets. `ABLATIONS["hier-a-z"].paper()` has the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from disentree.baselines.ae import AE
from disentree.cofhae.estimator import COFHAE

# The paper's losses with the networks and the schedule of `COFHAE`, and its smaller adversary: minutes on a CPU.
_COFHAES = ("learning_rate", "schedule", "encoder", "decoder", "activation", "input", "epochs",
            "discriminator", "discriminator_betas")  # fmt: skip
_FASTER: dict[str, Any] = {"steps": 4000, **{name: getattr(COFHAE(), name) for name in _COFHAES}}
_QUICK = {**_FASTER, "steps": 1000, "learning_rate": 4e-3}


@dataclass(frozen=True)
class Ablation:
    """A variant of COFHAE. It is called like a class, and has the constructors of one."""

    title: str  # in the paper's figure
    settings: Mapping[str, Any]  # that differ from `COFHAE.paper`
    own: Mapping[str, Any] | None = None  # that differ from `COFHAE`, where that is the default

    def __call__(self, **parameters: Any) -> COFHAE:
        """The paper's losses in less time: 4000 steps, one-cycle, an adversary of three layers of 128."""
        if self.own is not None:
            return COFHAE(**{"steps": 4000, **self.own, **parameters})
        return COFHAE.paper(**{**_FASTER, **self.settings, **parameters})

    def quick(self, **parameters: Any) -> COFHAE:
        """1000 steps of the same."""
        if self.own is not None:
            return COFHAE.quick(**{"steps": 1000, **self.own, **parameters})
        return COFHAE.paper(**{**_QUICK, **self.settings, **parameters})

    def paper(self, *, images: bool = False, **parameters: Any) -> COFHAE:
        """The paper's networks and schedule too."""
        return COFHAE.paper(images=images, **{**self.settings, **parameters})

    def load(self, *args: Any, **more: Any) -> COFHAE:
        return COFHAE.load(*args, **more)


_NO_PENALTY = {"penalty": "none", "lambda2": 0.0}
_NO_ASSIGNMENT = {"lambda1": 0.0}

HIER = Ablation("Hier (H)", {**_NO_ASSIGNMENT, **_NO_PENALTY})
HIER_A = Ablation("H+A", _NO_PENALTY)
HIER_A_TC = Ablation("H+A+TC(Z)", {"penalty": "marginal"})
HIER_A_TCON = Ablation("H+A+TC(Z|on)", {"penalty": "adversarial"})
HIER_TCON = Ablation("H+TC(Z|on)", {**_NO_ASSIGNMENT, "penalty": "adversarial"})
HIER_A_Z = Ablation(
    "H+A+Z",
    {**_NO_PENALTY, "targets": "codes", "lambda3": 100.0},
    own={"targets": "codes", "penalty": "none", "lambda1": 1.0},
)

ABLATIONS: dict[str, Any] = {
    "flat": AE,
    "hier": HIER,
    "hier-a": HIER_A,
    "hier-a-tc": HIER_A_TC,
    "hier-a-tcon": HIER_A_TCON,
    "hier-tcon": HIER_TCON,
    "hier-a-z": HIER_A_Z,
}
