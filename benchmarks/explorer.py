"""How quick the explorer is, in Chromium: `python benchmarks/explorer.py RUN...` (needs the dev extra).

For each run: the size of the exported page, the time until each form is drawn, the median round trip of a decoded
code, and the largest difference from `inverse_transform`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from disentree.explorer import Page, from_run
from disentree.runs.folder import Run

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


def measure(browser, url: str, explored) -> str:
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
    return f"loaded in {load:.0f} ms, decode {np.median(times):.1f} ms (median of {len(times)}), error {error:.1e}"


def main() -> None:
    folders = sys.argv[1:] or [str(p.parent) for p in sorted(Path("runs").glob("*/report.html"))[:1]]
    if not folders:
        print("no run to look at: `make demo` makes one")
        return
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("no Chromium was found")
        return
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for folder in folders:
            explored = from_run(Run.open(folder), device="cpu")
            file = Page(explored).save(Path(temporary) / "page.html")
            print(f"{folder}: page of {file.stat().st_size / 1e6:.1f} MB")
            print(f"  exported: {measure(browser, file.as_uri(), explored)}")
            command = [sys.executable, "-m", "disentree", "explore", folder, "--no-browser", "--port", "0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout is not None
                url = server.stdout.readline().split()[0]
                print(f"  served: {measure(browser, url, explored)}")
                server.terminate()
        browser.close()


if __name__ == "__main__":
    main()
