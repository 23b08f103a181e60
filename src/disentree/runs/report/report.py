"""The report of a run: one page of HTML that needs nothing else.

This module computes what the page says; `templates/report.html` lays it out and escapes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from disentree.errors import UserError
from disentree.mimosa.summary.page import html_footnote, html_sentences, html_tree
from disentree.mimosa.summary.wording import proposed_by
from disentree.runs.files.schemas import LEAVES, LeafProfiles
from disentree.runs.report.examples import leaf_examples
from disentree.runs.report.findings import Findings
from disentree.runs.report.leaf_sections import leaf_sections, shared_variables
from disentree.runs.report.page import Picture, render_page
from disentree.runs.report.scores import SCORES, duration, score_rows, score_text
from disentree.runs.report.summary import TERMS, RunSummary
from disentree.runs.run import Run
from disentree.tables.column import KINDS
from disentree.utils.files import atomic_path
from disentree.utils.latex import latex_table

FIGURES = {  # in the order of the page: file, title, caption
    "traversals": (
        "What each variable does",
        "Active continuous variables, each swept from its 1st to its 99th percentile with the others of its path "
        "half way between theirs. The framed column is the same for all variables of a path.",
    ),
    "reconstructions": (
        "Held-out rows and their reconstructions",
        "Rows the model was not trained on: originals above or in gray, reconstructions below or in color.",
    ),
    "pairwise": (
        "True against learned variables",
        "Histograms over the held-out rows where both are active; a dash where they never are. At the right the "
        "part of R4c that each true variable contributes; the learned variables that earned it are framed.",
    ),
    "training": ("Training", "Losses by epoch, on the training rows."),
}

STRUCTURE_SOURCES = {
    "mimosa": "found by MIMOSA",
    "mimosa-paper": "found by the paper's MIMOSA",
    "true": "that of the ground truth",
    "given": "given with the data",
}


SHOWN_LEAVES = 24  # in the table
MANY_PATHS = 64  # combinations of many branches, most of which no row may have
RIVALS = {"pca_r2": "the same by PCA", "autoencoder_r2": "by a flat autoencoder"}


def write_report(run: Run) -> str:
    """Write ``report.html``, and ``scores.tex`` for papers."""
    scores = [row[:2] for row in score_rows(run.metrics, run.about_data["kind"])]
    table = latex_table(
        ("score", "value"), scores, [1], caption=f"Scores on {run.about_data['name']}", label="scores"
    )
    for path, text in ((run.folder / "scores.tex", table), (run.report_path, render(run))):
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return str(run.report_path)


def render(run: Run) -> str:
    """The report of a run whose stages up to the figures are finished: a page of HTML with its pictures."""
    summary = RunSummary.of(run)
    about, metrics, structure, findings = summary.about, summary.metrics, summary.structure, summary.findings
    labels, follows_tree = summary.labels, summary.hierarchy == run.hierarchy
    profiles = run.read_optional(LEAVES, LeafProfiles) if follows_tree else None
    sections = [] if profiles is None else leaf_sections(profiles, findings, len(labels))
    shared = [] if profiles is None else shared_variables(profiles, findings)
    explained = bool(shared) or any(section["variables"] for section in sections)
    seconds = {name: stage["seconds"] for name, stage in run.stages.items() if name != "report"}
    truth = run.codes("true")
    context = {
        "title": about["name"],
        "subtitle": _subtitle(about, metrics),
        "sentences": Markup(html_sentences(summary.found)),
        "footnote": Markup(html_footnote(summary.found)),
        "is_flat": summary.n_leaves < 2,
        "terms": TERMS,
        "warnings": metrics["warnings"],
        "cards": _cards(metrics, summary.n_leaves, sum(seconds.values())),
        "tree": Markup(html_tree(summary.found, _examples(run, about["kind"]))),
        "unassigned": f"{(labels < 0).mean():.1%}" if (labels < 0).any() else "",
        "core": _core(run) if follows_tree else "",
        "structure_source": STRUCTURE_SOURCES[structure["from"]] if follows_tree else "flat",
        # without shares: other rows than those of the learned tree are known
        "true_tree": None if truth is None else truth[1].to_dict()["variables"],
        "leaves": _leaves(summary),
        "sections": sections,
        "shared": shared,
        "candidates": compared(structure),
        "tree_picture": _picture(run.folder / "figures" / "tree.png", "The tree"),
        "figures": _figures(run, about["kind"], explained),
        "factors": _factors(metrics["factors"]),
        "scores": score_rows(metrics, about["kind"]),
        "dependence": _dependence(metrics["dependence"], findings),
        "estimator": metrics.get("estimator"),
        "notes": metrics["notes"],
        "policy": about["policy"],
        "timings": [(n, duration(s)) for n, s in (*seconds.items(), ("together", sum(seconds.values())))],
        "structure_timings": ", ".join(f"{step} {duration(s)}" for step, s in structure["timings"].items()),
        "command": run.about["command"],
        "folder": shlex.quote(str(run.folder)),
        "has_truth": truth is not None,
        "created": run.about["created"].replace("T", " ").partition("+")[0],
        "seed": run.config.seed,
        "versions": ", ".join(f"{name} {version}" for name, version in run.about["versions"].items()),
    }
    return render_page("report.html", context)


def _examples(run: Run, kind: str) -> dict[int, str]:
    """Of images, some of each leaf."""
    if kind != "images":
        return {}
    samples = run.read_npz("samples.npz", "X", "paths")
    return leaf_examples(samples["X"], samples["paths"])


def _subtitle(about: dict[str, Any], metrics: dict[str, Any]) -> str:
    shape = "x".join(map(str, about["shape"]))
    what, n = {"table": "features", "series": "values", "images": "pixels"}[about["kind"]], about["n_rows"]
    if about["kind"] == "table" and about["table"] is not None:
        used = [c for c in about["table"]["columns"] if c["kind"] in KINDS]
        shape, what = str(len(used)), f"column{'s' * (len(used) != 1)}"
    return (
        f"{n:,} rows of {shape} {what}; {metrics['n_train']:,} to learn from, "
        f"{metrics['n_test']:,} held out to check it with."
    )


def _core(run: Run) -> str:
    """The share of rows in the cores of leaves, where MIMOSA has found some."""
    if run.config.structure not in ("mimosa", "mimosa-paper"):
        return ""
    core = run.read_npz("labels.npz", "core_labels")["core_labels"]
    return f"{(core >= 0).mean():.0%}"


def _cards(metrics: dict[str, Any], n_leaves: int, seconds: float) -> list[tuple[str, str]]:
    shown = []
    if metrics["scores"]:
        shown += [(SCORES[name][0], metrics["scores"].get(name), SCORES[name][2]) for name in ("r4c", "h_error")]
    own = metrics["scores_without_truth"]
    shown += [("leaves", n_leaves, 0), ("reconstruction R²", own["reconstruction_r2"], 4)]
    shown += [(title, own.get(name), 4) for name, title in RIVALS.items()]
    if not metrics["scores"] and "dependence" in own:
        shown.append(("dependence left", own["dependence"], 3))
    cards = [(name, score_text(value, places)) for name, value, places in shown if value is not None]
    return [*cards, ("time", duration(seconds))]


def _leaves(summary: RunSummary) -> list[tuple[str, ...]]:
    """The table of leaves; of very many those that have rows, the largest first."""
    findings, labels, counts = summary.findings, summary.labels, summary.counts
    paths, n, order = summary.hierarchy.paths, len(labels), np.arange(len(counts))
    if len(paths) > MANY_PATHS:
        order = np.argsort(-counts, kind="stable")[: summary.n_leaves]
    rows = []
    for p in order[:SHOWN_LEAVES].tolist():
        support = findings.support.get(p)
        came_back = "–" if support is None else f"{support:.0%}"
        share = f"{counts[p] / max(1, n):.1%}"
        rows.append((findings.path_name(p), str(paths[p].dimension), f"{counts[p]:,}", share, came_back))
    if len(rest := order[SHOWN_LEAVES:]):
        left = int(counts[rest].sum())
        rows.append((f"{len(rest)} more", "", f"{left:,}", f"{left / n:.1%}", ""))
    if unassigned := int((labels < 0).sum()):
        rows.append(("not assigned", "", f"{unassigned:,}", f"{unassigned / n:.1%}", ""))
    return rows


def compared(structure: dict[str, Any]) -> dict[str, Any]:
    """What was proposed, the chosen one first, and what the bits are of: ``note``, ``header`` and ``rows`` for the
    template; empty if nothing was compared."""
    rows = structure.get("candidates", [])
    if not rows:
        return {}
    note = "Bits are of the same held-out rows and columns for all."
    if rows[0].get("branches"):
        note = (
            "Bits are of the same held-out rows for all, and of the same cells: the numbers that all rows have, "
            "and which cells are empty. What the columns of a branch hold is not counted in any."
        )
    better = any(row["why_not"] for row in rows)
    note += " The first was chosen" + (", though others have fewer: the last column says why." if better else ".")
    spent = {row["left_out"]: row["finder"] for row in rows if row.get("left_out")}
    note += "".join(f" Its budget spent, {finder} did not look at: {what}." for what, finder in spent.items())
    told = []
    for row in rows:
        cells = (str(row["components"]), _ranges(row["dimensions"]), f"{row['bits']:.2f}")
        told.append((proposed_by(row, rows[0]), *cells, *([row["why_not"]] if better else [])))
    header = ("proposed by", "leaves", "their dimensions", "bits per held-out row")
    return {"note": note, "header": (*header, "why not") if better else header, "rows": told}


def _ranges(dimensions: Sequence[int]) -> str:
    """1, 2 (4 times), 5"""
    numbers, counts = np.unique(np.asarray(dimensions, dtype=int), return_counts=True)
    return ", ".join(f"{d}" if c == 1 else f"{d} ({c} times)" for d, c in zip(numbers, counts, strict=True))


def _figures(run: Run, kind: str, explained: bool) -> list[dict[str, Any]]:
    """Pictures with their headings. Those of a table's rows are on request: what they show is in the sections of
    the leaves, in the columns' own units."""
    out = []
    for name, (heading, caption) in FIGURES.items():
        path = run.folder / "figures" / f"{name}.png"
        if name in ("pairwise", "training") and not path.is_file():
            continue
        folded = kind == "table" and name in ("reconstructions", "traversals")
        if folded and name == "traversals" and explained:
            heading = "What each variable does, in pictures"
        picture = _picture(path, heading)
        out.append({"name": name, "heading": heading, "caption": caption, "picture": picture, "folded": folded})
    return out


def _picture(path: Path, alternative: str) -> Picture:
    if not path.is_file():
        raise UserError(f"{path} is missing; `disentree report` draws it again")
    return Picture(path, alternative)


def _factors(factors: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    if not factors:
        return []
    rows = []
    for factor in factors:
        by = "; ".join(m["variable"] + (f" where {m['where']}" if m["where"] else "") for m in factor["matches"])
        rows.append((factor["factor"], f"{factor['score']:.3f}", by or "–"))
    rows.append(("mean: R4c", f"{np.mean([f['score'] for f in factors]):.3f}", ""))
    return rows


def _dependence(found: list[dict[str, Any]], findings: Findings) -> list[tuple[str, ...]]:
    """Leaf, mean, largest, and between which variables."""
    index = {path.name: i for i, path in enumerate(findings.hierarchy.paths)}
    return [
        (
            findings.path_name(index[p["path"]]),
            f"{p['mean']:.3f}",
            f"{p['worst']:.3f}",
            " and ".join(findings.variable_name(name) for name in p["pair"]),
        )
        for p in found
    ]
