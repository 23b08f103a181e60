"""What training is told of each row: its path, and the targets of its variables with their weights."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder, choices_of
from disentree.cofhae.fitting.losses import target_loss
from disentree.cofhae.fitting.targets import Targets

Aims = tuple[Tensor, ...]  # of a minibatch: targets, trust in them, which are kept, which only guide at first


class Labels:
    """The assignment `a` of each row, and its aims."""

    def __init__(
        self,
        hae: HierarchicalAutoencoder,
        paths: Int[np.ndarray, " n"],
        targets: Targets,
        device: torch.device,
    ):
        self.paths = torch.from_numpy(paths).to(device)
        self.choices = hae.mask.path_options().to(device)
        self.targets = torch.from_numpy(targets.values[:, hae.mask.continuous].astype(np.float32)).to(device)
        # [-1]: no path
        self.trust = torch.from_numpy(np.append(targets.trust, 0.0).astype(np.float32)).to(device)
        self.kept, self.guided = (
            torch.from_numpy(np.pad(weights[:, hae.mask.continuous], ((0, 1), (0, 0))).astype(np.float32)).to(
                device
            )
            for weights in (targets.kept, targets.guided)
        )

    def __call__(self, rows: Int[Tensor, " batch"]) -> tuple[Tensor, ...]:
        paths = self.paths[rows]
        choices = choices_of(paths, self.choices)
        return choices, self.targets[rows], self.trust[paths], self.kept[paths], self.guided[paths]


def off_target(hae: HierarchicalAutoencoder, code: Encoding, aims: Aims, is_guided: bool) -> Float[Tensor, ""]:
    """How far the continuous variables are from their targets. Guides count while training `is_guided`; afterwards
    those of paths without trust have slack."""
    targets, trust, kept, guided = aims
    slack = constants.SLACK * (trust == 0) * (not is_guided)
    return target_loss(code.z_pre[:, : hae.mask.n_continuous], targets, kept + guided * is_guided, slack)
