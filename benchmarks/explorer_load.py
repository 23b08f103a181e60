"""How long the explorer's server takes for many decodes at once: `python benchmarks/explorer_load.py [RUN]`.

Opens 1,000 connections and sends one code on each at the same moment. Prints the median and the 99th percentile of
the time until the whole answer is there; the processor time of the server, which other work on the machine does
not change; and the median of single requests, one after the other. Without a run, a quick one is made.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from disentree.explorer import from_run
from disentree.explorer.content import variables
from disentree.runs.run import Run

N_PARALLEL = 1000
GOAL = 0.5  # seconds, for the median


def requests(run: Run, netloc: str) -> list[bytes]:
    """A request for each of some codes."""
    explored = from_run(run, device="cpu")
    names = [v["id"] for v in variables(explored.models[0].hierarchy_)]
    out = []
    for code in explored.codes()[0]:
        named = {name: value for name, value in zip(names, code.tolist(), strict=True) if not np.isnan(value)}
        body = json.dumps({"codes": [named]})
        head = f"POST /api/decode HTTP/1.1\r\nHost: {netloc}\r\nContent-Type: application/json\r\n"
        out.append(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return out


async def answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0], head
    length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length"))
    await reader.readexactly(int(length.split(b":")[1]))


def processor_seconds(pid: int) -> float:
    """Of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(address: str, bodies: list[bytes], pid: int) -> tuple[np.ndarray, np.ndarray, float]:
    host, port = urlsplit(address).hostname, urlsplit(address).port
    streams = [await asyncio.open_connection(host, port) for _ in range(N_PARALLEL)]
    single = []
    for k in range(50):
        began = time.perf_counter()
        streams[0][1].write(bodies[k % len(bodies)])
        await answer(streams[0][0])
        single.append(time.perf_counter() - began)
    before, began = processor_seconds(pid), time.perf_counter()

    async def one(k: int) -> float:
        reader, writer = streams[k]
        writer.write(bodies[k % len(bodies)])
        await answer(reader)
        return time.perf_counter() - began

    times = await asyncio.gather(*(one(k) for k in range(N_PARALLEL)))
    used = processor_seconds(pid) - before
    for _, writer in streams:
        writer.close()
    return np.array(times), np.array(single), used


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[1] if len(sys.argv) > 1 else str(Path(temporary) / "run")
        if len(sys.argv) < 2:
            command = [
                "run",
                "chopsticks-depth2-either",
                "--n-samples",
                "3000",
                "--preset",
                "quick",
                "--out",
                folder,
            ]
            subprocess.run([sys.executable, "-m", "disentree", *command], check=True, capture_output=True)
        command = [sys.executable, "-m", "disentree", "explore", folder, "--no-browser", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            bodies = requests(Run.open(folder), urlsplit(address).netloc)
            try:
                for _ in range(3):
                    times, single, used = asyncio.run(measure(address, bodies, server.pid))
                    p50, p99 = np.percentile(times, [50, 99])
                    verdict = "ok" if p50 < GOAL else f"above {GOAL} s"
                    print(f"{N_PARALLEL} at once: p50 {p50:.2f} s ({verdict}), p99 {p99:.2f} s, "
                          f"{used:.2f} s of processor time; "
                          f"alone {1e3 * np.median(single):.1f} ms")  # fmt: skip
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
