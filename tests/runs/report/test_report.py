"""The report."""

import html.parser
import shutil

import numpy as np
import pandas as pd
import pytest

from disentree import Hierarchy
from disentree.datasets import load_dataset
from disentree.hierarchy.sizes import with_sizes
from disentree.runs.report.report import compared
from disentree.runs.run import Run
from shell import invoke


class Page(html.parser.HTMLParser):
    """What a page consists of; every tag must be closed in order."""

    VOID = ("meta", "img", "br", "link", "wbr")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_report_has_everything_and_needs_nothing(finished):
    folder, _ = finished
    page = Page((folder / "report.html").read_text())
    assert page.tags.count("img") == 5
    sources = [value for _, name, value in page.attributes if name in ("src", "href")]
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    text = (folder / "report.html").read_text()
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "prefers-color-scheme: dark" in text
    run = Run.open(folder)
    for words in (
        "The tree", "What each variable does", "reconstructions", "True against learned", "Scores", "Timings",
        "Training", "To repeat it", run.about["command"], f"numpy {np.__version__}", "H-error", "part of R4c",
        f"{run.metrics['scores']['r4c']:.3f}", "600 samples of chopsticks-depth2-inter, seed 0",
        "inter2", "540 to learn from, 60 held out",
    ):  # fmt: skip
        assert words in page.text, words


def test_report_is_made_again_without_the_data(copy_of_finished, monkeypatch):
    before = (copy_of_finished / "report.html").read_text()
    (copy_of_finished / "report.html").unlink()
    shutil.rmtree(copy_of_finished / "figures")
    monkeypatch.setattr(Run, "data", property(lambda self: pytest.fail("the data was read")))
    result = invoke("report", copy_of_finished)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"report: {copy_of_finished / 'report.html'}\n"
    after = (copy_of_finished / "report.html").read_text()
    assert Page(after).tags == Page(before).tags


def test_names_cannot_become_markup(tmp_path, fakes, monkeypatch):
    evil = "<script>alert('x')</script>"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=[evil, '"><img src=x>', "$a$"])
    frame["</ul><b>"] = "text"
    file = tmp_path / "<b>bold & <i>.csv"
    frame.to_csv(file, index=False)
    tree = Hierarchy.from_dict(
        {"variables": [{"kind": "continuous", "name": evil},
                       {"kind": "categorical", "name": "<u>", "options": [
                           {"name": "<s>", "variables": []}, {"name": "&amp;", "variables": []}]}]}
    )  # fmt: skip
    (tmp_path / "h.json").write_text(tree.to_json())
    np.save(tmp_path / "l.npy", np.arange(300) % 2)
    given = ("--hierarchy", tmp_path / "h.json", "--labels", tmp_path / "l.npy")
    result = invoke("run", file, "--out", tmp_path / "<em>run", *given)
    assert result.exit_code == 0, result.stderr
    page = Page((tmp_path / "<em>run" / "report.html").read_text())
    assert not {"script", "u", "s", "i", "em"} & set(page.tags)
    assert page.tags.count("img") == 4
    assert evil in page.text
    assert "&amp;" in page.text
    assert "left out column '</ul><b>'" in page.text


def test_sizes_in_the_tree():
    h = load_dataset("spaceshapes", 10).hierarchy
    labels = np.repeat([0, 1, 2, 3, -1], [40, 30, 10, 10, 10])
    sized = with_sizes(h, labels)
    assert sized == h
    text = str(sized)
    for words in ("moon (40.0%)", "star (30.0%)", "ship (20.0%)", "none (10.0%)", "jet (10.0%)"):
        assert words in text


def test_what_was_compared_says_what_bits_are_of_and_why_fewer_were_not_chosen():
    row = {"components": 1, "dimensions": [2], "seconds": 0.0, "why_not": ""}
    chosen = {**row, "finder": "gaussian", "bits": 5.0, "branches": 2}
    others = [
        {**row, "finder": "mixture", "bits": 4.0, "branches": 2, "why_not": "its groups only repeat what exists"},
        {**row, "finder": "gaussian", "bits": 9.0, "branches": 0},
    ]
    found = compared({"candidates": [chosen, *others]})
    assert "of the same cells" in found["note"]
    assert "though others have fewer" in found["note"]
    assert found["header"][-1] == "why not"
    assert found["rows"][0] == ("2 branches by what exists, and gaussian", "1", "2", "5.00", "")
    assert found["rows"][1][-1] == "its groups only repeat what exists"
    assert found["rows"][2][0] == "gaussian, without branches"
    plain = compared({"candidates": [{**row, "finder": "gmm", "bits": 1.0, "branches": None}]})
    assert plain["rows"] == [("gmm", "1", "2", "1.00")]
    assert plain["note"] == "Bits are of the same held-out rows and columns for all. The first was chosen."
    assert compared({}) == {}
