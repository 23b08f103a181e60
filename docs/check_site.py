"""Opens every page of the built site in Chromium: `python docs/check_site.py [FOLDER]`, after `make docs`.

The folder is served on this machine. A message of the console that is an error or a warning, an exception of a
script, a request that fails and a request to anywhere else are printed, and end in exit code 1.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        pass


def problems_of(folder: Path) -> list[str]:
    """What is wrong with the pages of a folder, a line for each."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    found: list[str] = []
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        here = ""

        def say(what: str) -> None:
            found.append(f"{here}: {what}")

        page.on("console", lambda m: say(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: say(f"exception: {error}"))
        # going on to the next page ends what the last one still asks for
        page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else say(f"failed: {r.url}"))
        page.on("response", lambda r: say(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: None if r.url.startswith((home, "data:", "blob:")) else say(f"asks {r.url}"))
        for here in pages:
            if here != "404.html":  # it is written for the address of the published site
                page.goto(home + here.removesuffix("index.html"), wait_until="load", timeout=120_000)
                page.wait_for_timeout(300)
        browser.close()
    server.shutdown()
    print(f"{len(pages)} pages, {len(found)} problems")
    return found


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    if not (folder / "index.html").is_file():
        sys.exit(f"{folder} has no site: make docs")
    found = problems_of(folder)
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
