"""Screenshots of the explorer for the documentation: `python docs/screenshots.py runs/demo runs/spaceshapes`.

Takes the folders of finished runs, writes their pages to temporary files and looks at them
with Chromium: docs/figures/explorer-NAME.png in light, -dark.png, and -phone.png.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from disentree.explorer import Page, from_run
from disentree.runs.run import Run

FIGURES = Path(__file__).parent / "figures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SHOTS = {"": ("light", 1320, 860), "-dark": ("dark", 1320, 860), "-phone": ("light", 390, 844)}


def shoot(browser, folder: str) -> None:
    explored = from_run(Run.open(folder), device="cpu")
    # a leaf with as many variables as any has, and a row that is on it
    active = np.isfinite(explored.codes()[0]).sum(axis=1)
    row = int(np.flatnonzero(active == active.max())[3])
    with tempfile.TemporaryDirectory() as temporary:
        url = Page(explored).save(Path(temporary) / "page.html").as_uri()
        for suffix, (scheme, width, height) in SHOTS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.25
            )
            page = context.new_page()
            page.goto(f"{url}#_row={row}")
            page.wait_for_selector("html[data-ready]")
            page.wait_for_timeout(1500)
            name = explored.title.split("-")[0]
            out = FIGURES / f"explorer-{name}{suffix}.png"
            page.screenshot(path=out)
            context.close()
            print(out)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for folder in sys.argv[1:]:
            shoot(browser, folder)
        browser.close()


if __name__ == "__main__":
    main()
