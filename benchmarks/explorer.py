"""How quick the explorer is, in Chromium (needs the dev extra).

    python benchmarks/explorer.py RUN... [--out results/explorer.json]

For each run: the size of the exported page, the time until each form is drawn, the median round trip of a decoded
code, and the largest difference from `inverse_transform`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from disentree.explorer import Page, from_run
from disentree.runs.run import Run
from disentree.utils.files import write_json
from disentree.utils.versions import build_versions

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
DRAWN = "performance.getEntriesByType('navigation')[0].loadEventEnd"
DECODE = """async (codes) => {
  const { model } = explorer.panels[0], times = [], out = [];
  for (const code of codes) {
    const began = performance.now();
    const [x] = await model.decode([code]);
    times.push(performance.now() - began);
    out.push(Array.from(x));
  }
  return [times, out];
}"""


def measure(browser, url: str, explored) -> dict[str, float | str]:
    page = browser.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(1000)
    Z = explored.codes()[0]
    codes = [[None if np.isnan(v) else v for v in row] for row in Z.tolist()]
    times, X = page.evaluate(DECODE, codes)
    wanted = explored.models[0].inverse_transform(Z).reshape(len(Z), -1)
    error = np.abs(np.array(X) - wanted).max() / np.ptp(wanted)
    load = page.evaluate(DRAWN)
    page.close()
    return {"load_ms": round(load), "decode_ms": round(float(np.median(times)), 1), "error": f"{error:.0e}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="*", default=[str(p.parent) for p in Path("runs").glob("*/report.html")][:1])
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    command = f"python benchmarks/explorer.py {' '.join(options.runs)}"
    found: dict = {"command": command, "versions": build_versions(), "load": round(os.getloadavg()[0])}
    if not options.runs:
        print("no run to look at: `make demo` makes one")
        return
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("no Chromium was found")
        return
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for folder in options.runs:
            explored = from_run(Run.open(folder), device="cpu")
            file = Page(explored).save(Path(temporary) / "page.html")
            here = found.setdefault(explored.title, {"page_mb": round(file.stat().st_size / 1e6, 1)})
            here["exported"] = measure(browser, file.as_uri(), explored)
            command = [sys.executable, "-m", "disentree", "explore", folder, "--no-browser", "--port", "0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                url = server.stdout.readline().split()[0]
                here["served"] = measure(browser, url, explored)
                server.terminate()
            print(f"{folder}: {here}", flush=True)
        browser.close()
    if options.out:
        write_json(options.out, found)


if __name__ == "__main__":
    main()
