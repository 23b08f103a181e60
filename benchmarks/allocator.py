"""Steps of convolutional networks with freed memory kept for reuse, and as the C library does by default.

    python benchmarks/allocator.py [--batch 256] [--steps 15]

For the paper's networks and for those that COFHAE draws images with, each in a process of its own with one thread:
milliseconds of a step of Adam, and the ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time


def median_step(network: str, batch: int, steps: int, keep: bool) -> float:
    """Milliseconds of a step."""
    import torch

    from disentree.training.networks import build_decoder, build_encoder
    from disentree.utils.memory import keep_freed_memory

    if keep and not keep_freed_memory():
        raise SystemExit("this C library has no mallopt")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        build_encoder(network, (1, 64, 64), 7, (256, 256), "softplus"),
        build_decoder(network, 7, (1, 64, 64), (256, 256), "relu"),
    )
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    x = torch.rand(batch, 1, 64, 64)
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), x, reduction="sum") / batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--measure", nargs=2, metavar=("NETWORK", "KEEP"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        network, keep = args.measure
        print(json.dumps(median_step(network, args.batch, args.steps, keep == "yes")))
        return
    for network in ("burgess", "sharp"):
        found = {}
        for keep in ("no", "yes"):
            sizes = ["--batch", str(args.batch), "--steps", str(args.steps)]
            command = [sys.executable, __file__, *sizes, "--measure", network, keep]
            out = subprocess.run(command, check=True, capture_output=True, text=True)
            found[keep] = json.loads(out.stdout)
        ratio = found["no"] / found["yes"]
        print(f"{network}: {found['no']:.0f} ms by default, {found['yes']:.0f} ms if kept, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
