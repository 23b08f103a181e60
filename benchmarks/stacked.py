"""What it saves to train the settings of the paper's grid stacked, in one pass instead of one after the other.

    python benchmarks/stacked.py [--models 9] [--steps 3] [--out results/stacked.json]

Steps of Algorithm 2 with the paper's networks (Chopsticks of depth 2 `both`, batches of 256) on one thread: every
model by itself, and all of them by `torch.func.stack_module_state` and `vmap`. Both start from the same weights
and must end at the same. Seconds are processor time; a ratio above 1 says that stacking is faster. "autoencoder"
leaves the discriminator out, whose three layers of 1000 take nearly all of the time; "pair" has both.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import math
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from disentree.cofhae.search import PAPER_GRID
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from disentree.cofhae.algorithm8 import HierarchicalAutoencoder
from disentree.cofhae.fitting.algorithm2 import descend
from disentree.cofhae.fitting.losses import discriminator, discriminator_loss, frozen, permute_active
from disentree.datasets import load_dataset
from disentree.training.loop import adam
from disentree.training.networks import glorot, mlp
from disentree.utils.files import write_json
from disentree.utils.versions import build_versions

BATCH, PAPER_EPOCHS, PAPER_ROWS = 256, 50, 90_000
SAME = 1e-5  # by which weights may differ in the mean: Adam moves those without a gradient by rounding


class Pair(nn.Module):
    """A hierarchical autoencoder and its discriminator: both losses of a minibatch."""

    def __init__(self, hierarchy, columns: int, adversary: bool):
        super().__init__()
        self.hae = HierarchicalAutoencoder(hierarchy, nn.Identity(), nn.Identity())
        items, d = self.hae.mask.n_items, self.hae.mask.n_continuous
        self.hae.encoder, self.hae.decoder = glorot(mlp(columns, items)), glorot(mlp(items, columns))
        self.D = glorot(discriminator(d, (1000, 1000, 1000))) if adversary else None

    def forward(self, x: Tensor, a: Tensor, setting: Tensor, permuted: Tensor | None = None):
        """The autoencoder's loss and what is permuted; with `permuted`, the discriminator's loss."""
        tau, lambda1, lambda2 = setting
        if permuted is not None:
            return discriminator_loss(self.D, x, permuted)
        code = self.hae.encode(x, tau)
        loss = 100 * (self.hae.decode(code.a, code.z) - x).square().sum(1).mean()
        loss = loss + lambda1 * (code.a - a).square().sum(1).mean()
        if self.D is not None:
            loss = loss + lambda2 * self.D(code.z).mean()
        return loss, (code.z, self.hae.mask.harden(code.z_pre.detach())[1])


def optimizers(module: nn.Module) -> list[torch.optim.Optimizer]:
    return [adam(part, lr=1e-3) for part in (module.hae, module.D) if part is not None]


def one_by_one(pairs: list[Pair], batches, settings: Tensor) -> float:
    start = time.process_time()
    for pair, setting in zip(pairs, settings, strict=True):
        theta, *psi = optimizers(pair)
        generator = torch.Generator().manual_seed(0)
        for x, a in batches:
            with frozen(pair.D) if psi else nullcontext():
                loss, (z, on) = pair(x, a, setting)
                descend(theta, loss)
            if psi:
                descend(psi[0], pair(z.detach(), a, setting, permute_active(z.detach(), on, generator)))
    return time.process_time() - start


def stacked(pairs: list[Pair], batches, settings: Tensor) -> tuple[float, dict[str, Tensor]]:
    start = time.process_time()
    model, (params, buffers) = copy.deepcopy(pairs[0]).to("meta"), stack_module_state(pairs)
    own = {"hae": {}, "D": {}}
    for name, value in params.items():
        own[name.split(".")[0]][name] = value
    steps = {name: torch.optim.Adam(part.values(), lr=1e-3, fused=True) for name, part in own.items() if part}
    generators = [torch.Generator().manual_seed(0) for _ in pairs]

    def loss(trained, others, buffers, x, a, setting, permuted=None):
        return functional_call(model, {**trained, **others, **buffers}, (x, a, setting, permuted))

    def descend_stacked(part, losses, *given):
        trained = {name: value.detach() for name, value in own[part].items()}
        other = {name: v.detach() for kind, values in own.items() if kind != part for name, v in values.items()}
        gradients, found = losses(trained, other, buffers, *given)
        for name, value in own[part].items():
            value.grad = gradients[name]
        steps[part].step()
        return found

    first = vmap(grad_and_value(loss, has_aux=True), in_dims=(0, 0, 0, None, None, 0))
    second = vmap(grad_and_value(loss), in_dims=(0, 0, 0, 0, None, 0, 0))
    for x, a in batches:
        _, (z, on) = descend_stacked("hae", first, x, a, settings)
        if own["D"]:
            permuted = torch.stack([permute_active(*row) for row in zip(z, on, generators, strict=True)])
            descend_stacked("D", second, z, a, settings, permuted)
    return time.process_time() - start, params


def compare(adversary: bool, ds, settings: Tensor, steps: int) -> dict[str, float]:
    """Seconds of a step of one model, by itself and stacked, and their ratio."""
    pairs = [Pair(ds.hierarchy, ds.X.shape[1], adversary) for _ in settings]
    X = torch.as_tensor(ds.X, dtype=torch.float32).split(BATCH)
    batches = list(zip(X, pairs[0].hae.mask.from_codes(ds.codes)[0].split(BATCH), strict=True))[:steps]
    one_by_one(copy.deepcopy(pairs[:1]), batches[:1], settings[:1])  # what is done once
    together, weights = stacked(pairs, batches, settings)
    single = one_by_one(pairs, batches, settings)
    for i, pair in enumerate(pairs):
        for name, value in pair.named_parameters():
            assert (weights[name][i] - value).detach().abs().mean() < SAME, name
    n = len(pairs) * steps
    return {"seconds": single / n, "stacked seconds": together / n, "ratio": single / together}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=9)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # vmap copies for an operation that it does not know
    grid = list(itertools.product(*PAPER_GRID.values()))
    ds = load_dataset("chopsticks-depth2-both", n_samples=BATCH * asked.steps, seed=0)
    found: dict[str, Any] = {}
    for name, adversary in (("autoencoder", False), ("pair", True)):
        found[name] = compare(adversary, ds, torch.tensor(grid)[: asked.models], asked.steps)
        print(name, *(f"{what} {value:.4f}" for what, value in found[name].items()), flush=True)
    steps = len(grid) * PAPER_EPOCHS * math.ceil(PAPER_ROWS / BATCH)
    found["hours of the grid"] = round(steps * found["pair"]["seconds"] / 3600)
    print(f"{found['hours of the grid']} hours of one core for all settings and epochs of one grid")
    if asked.out is not None:
        command = f"python benchmarks/stacked.py --models {asked.models} --steps {asked.steps}"
        write_json(asked.out, {"command": command, "versions": build_versions(), **found})


if __name__ == "__main__":
    main()
