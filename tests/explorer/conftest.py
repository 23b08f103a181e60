"""A run that was trained for a second, a server for it, and Chromium to look at both."""

import os
import shutil
import threading
from contextlib import contextmanager

import pytest
import torch

from disentree import COFHAE
from disentree.explorer import from_run
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.steps import scores, training

# As root, without a screen, and without the calls home that a network of our own does not answer
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# ------------------------------------------------------------------ models and runs


def quick_model(**settings):
    """Trained enough to have a network, not enough to be good."""
    return COFHAE(
        **{"epochs": 1, "hidden": (16, 16), "targets": "none", "penalty": "none", "device": "cpu"} | settings
    )


def make_run(folder, source="chopsticks-depth2-either", n_samples=600, **settings):
    options = {"structure": "true", "n_samples": n_samples, **settings}
    run = start_run(RunConfig.of(source, **options), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "make_model", lambda run, *_, **__: quick_model(random_state=run.config.seed))
        patch.setattr(scores, "score_against_truth", lambda *_: {})  # takes seconds, and no test here reads it
        finish_run(run, device="cpu", until="scores")
    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Two runs of the same data."""
    folder = tmp_path_factory.mktemp("explored")
    return [make_run(folder / name, seed=0, epochs=k + 1) for k, name in enumerate(("first", "second"))]


@pytest.fixture(scope="session")
def explored(runs):
    return from_run(runs[0], device="cpu")


# ------------------------------------------------------------------ server


@contextmanager
def serving(explored, host="127.0.0.1", token=None, **limits):
    """The address of a server that runs in a thread. `limits` are those of `limited_connections`,
    `body_seconds`, and a `steerer`."""
    from disentree.explorer.connections import limited_connections
    from disentree.explorer.server import address_of, listen, make_app, make_server

    sock = listen(host, 0)
    app = make_app(explored, host, token, limits.pop("steerer", None))
    app.body_seconds = limits.pop("body_seconds", app.body_seconds)
    server = make_server(app)
    if limits:
        server.config.http = limited_connections(**limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        yield address_of(sock, token)
    finally:
        server.should_exit = True
        thread.join(10)
        sock.close()


@pytest.fixture(scope="session")
def address(explored):
    with serving(explored) as address:
        yield address


# ------------------------------------------------------------------ browser


@pytest.fixture(scope="session")
def chromium():
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium was found: install it, or name it in the variable CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium):
    """Opens an address and returns the page once it has drawn; whatever the console says is an error."""
    contexts, problems = [], []

    def open_page(url, *, offline=False, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        context.set_offline(offline)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        settled(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def until(page, condition):
    """Wait in the page; Playwright's own way of waiting needs an eval that the page's policy forbids."""
    wait = "new Promise((go) => setTimeout(go, 10))"
    return page.evaluate(
        f"(async () => {{ for (let i = 0; i < 1500; i++) {{ if ({condition}) return true; await {wait}; }} "
        f"throw new Error('never came true: ' + {condition!r}); }})()"
    )


def settled(page):
    """Wait until everything that was asked for has been decoded and drawn."""
    page.wait_for_selector("html[data-ready]")
    until(page, "explorer.panels.every((p) => p.milliseconds !== undefined && !p.busy)")


@pytest.fixture
def exported(tmp_path):
    """Writes a page and returns its address."""

    def write(page, name="page.html"):
        return page.save(tmp_path / name).as_uri()

    return write
