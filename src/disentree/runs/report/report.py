"""The stage that writes the report of a run: one page of HTML that needs nothing else.

This module computes what the page says; `templates/report.html` lays it out and escapes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.sizes import with_sizes
from disentree.mimosa.explain.verdict import is_nested, proposed_by
from disentree.mimosa.saving.model_card import name_card
from disentree.runs.files.schemas import LeafProfiles
from disentree.runs.options import StageOptions
from disentree.runs.report.examples import leaf_examples
from disentree.runs.report.findings import Findings, read_findings
from disentree.runs.report.first_screen import TERMS, saving, tree_nodes, verdict
from disentree.runs.report.leaf_sections import leaf_sections, shared_variables
from disentree.runs.report.page import Picture, render_page
from disentree.runs.run import Run
from disentree.runs.steps.describing import LEAVES
from disentree.runs.steps.figures import learned_tree
from disentree.runs.steps.scores import MANY_PATHS
from disentree.tables.column import KINDS
from disentree.utils.files import atomic_path

FIGURES = {  # in the order of the page: file, title, caption
    "traversals": (
        "What each variable does",
        "Every active continuous variable, swept from its 1st to its 99th percentile with the others of its path "
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

SCORES = {  # name in metrics.json: (title, what it is, number of decimals)
    "r4c": ("R4c", "correspondence of learned to true variables, 1 is best", 3),
    "r4": ("R4", "the same, without regard to where variables are active", 3),
    "h_error": ("H-error", "edits from the learned to the true tree, 0 is best", 0),
    "class_agreement": ("agreement with the classes", "adjusted mutual information, training rows", 3),
    "class_nmi": ("NMI", "normalized mutual information of leaves and classes, training rows", 3),
    "class_accuracy": ("accuracy", "training rows on the leaf of their class, one leaf for each class", 3),
    "dendrogram_purity": ("dendrogram purity", "of the smallest subtree with two rows of a class", 3),
    "purity": ("purity", "of the leaves' cores, training rows", 4),
    "coverage": ("coverage", "training rows in the core of a leaf", 4),
    "purity_all_rows": ("purity, all rows", "every training row assigned to a leaf", 4),
    "purity_held_out": ("purity, held out", "of the model's leaves", 4),
    "reconstruction_r2": ("reconstruction R²", "variance of the held-out rows that is explained", 5),
    "reconstruction_overlap": (
        "overlap",
        "of bright pixels of held-out images: in both over in either",
        4,
    ),
    "mean_dimension": ("dimensions of the codes", "active continuous variables, on average over rows", 2),
    "pca_r2": ("R² of principal components", "with as many dimensions, held-out rows", 5),
    "autoencoder_r2": ("R² of a flat autoencoder", "with as many dimensions, held-out rows", 5),
    "reconstruction_mse": ("squared error per value", "held-out rows; {units}", 8),
    "reconstruction_error_per_row": ("squared error per row", "the sum over a row's values", 6),
    "assignment_agreement": ("assignment agreement", "training rows that the model puts on their leaf", 4),
    "assignment_agreement_held_out": ("assignment agreement, held out", "model against structure on new rows", 4),
    "description_length": ("description length", "bits per row for active codes, 32 for a number", 1),
    "mimosa_description_length": ("description length of the structure", "bits per row, as MIMOSA counts", 1),
    "dependence": ("dependence left", "distance correlation of codes within a leaf, 0 is best", 3),
}

STRUCTURE_SOURCES = {
    "mimosa": "found by MIMOSA",
    "mimosa-paper": "found by the paper's MIMOSA",
    "true": "that of the ground truth",
    "given": "given with the data",
}


SHOWN_LEAVES = 24  # in the table
RIVALS = {"pca_r2": "the same by PCA", "autoencoder_r2": "by a flat autoencoder"}
UNITS = {  # what one value of a row is measured in
    "images": "pixels from 0 to 1",
    "series": "in the units of the model's input",
    "table": "in standard deviations of the columns",
}


def write_report(run: Run, options: StageOptions) -> str:
    """Write ``report.html``."""
    with atomic_path(run.report_path) as temporary:
        temporary.write_text(render(run), encoding="utf-8")
    name_tree(run)
    return str(run.report_path)


def name_tree(run: Run) -> None:
    """Write the tree into the model's card as it is shown everywhere, with names and shares.

    Parameters
    ----------
    run : Run
        Its scores are finished.
    """
    tree, labels = learned_tree(run)
    name_card(run.folder, str(with_sizes(read_findings(run, tree).shown_hierarchy(), labels)))


def render(run: Run) -> str:
    """The report of a run whose stages up to the figures are finished.

    Parameters
    ----------
    run : Run
        The run.

    Returns
    -------
    str
        A page of HTML; its pictures are part of it.
    """
    about, metrics, structure = run.about_data, run.metrics, run.structure
    hierarchy, labels = learned_tree(run)
    findings = read_findings(run, hierarchy)
    n_leaves = int((np.bincount(labels[labels >= 0], minlength=1) > 0).sum())
    profiles = run.read_optional(LEAVES, LeafProfiles) if hierarchy == run.hierarchy else None
    if profiles is not None and not findings.moves:  # reasons may not have been asked of the model
        findings = replace(findings, moves={v["name"]: v for v in profiles["variables"]})
    sections = [] if profiles is None else leaf_sections(profiles, findings, len(labels))
    shared = [] if profiles is None else shared_variables(profiles, findings)
    explained = bool(shared) or any(section["variables"] for section in sections)
    context = {
        "title": about["name"],
        "subtitle": _subtitle(about, metrics),
        "verdict": verdict(structure, findings, n_leaves),
        "saving": saving(structure),
        "is_flat": n_leaves < 2,
        "is_nested": is_nested(hierarchy),
        "terms": TERMS,
        "warnings": metrics["warnings"],
        "cards": _cards(run, metrics, n_leaves),
        "tree": tree_nodes(findings, labels, _examples(run)),
        "unassigned": f"{(labels < 0).mean():.1%}" if (labels < 0).any() else "",
        "core": _core(run, hierarchy),
        "lost": findings.lost,
        "stability": findings.stability,
        "structure_source": STRUCTURE_SOURCES[structure["from"]] if hierarchy == run.hierarchy else "flat",
        "true_tree": _true_tree(run),
        "leaves": _leaves(findings, labels),
        "sections": sections,
        "shared": shared,
        "candidates": compared(structure),
        "tree_picture": _picture(run.folder / "figures" / "tree.png", "The tree"),
        "figures": _figures(run, about["kind"], explained),
        "factors": _factors(metrics["factors"]),
        "scores": _scores(metrics, about["kind"]),
        "dependence": _dependence(metrics["dependence"], findings),
        "estimator": metrics.get("estimator"),
        "notes": metrics["notes"],
        "policy": about["policy"],
        "timings": _timings(run),
        "structure_timings": ", ".join(
            f"{step} {duration(s)}" for step, s in structure.get("timings", {}).items()
        ),
        "command": run.about["command"],
        "folder": shlex.quote(str(run.folder)),
        "has_truth": (run.folder / "true.npz").is_file(),
        "created": run.about["created"].replace("T", " ").partition("+")[0],
        "seed": run.config.seed,
        "versions": ", ".join(f"{name} {version}" for name, version in run.about["versions"].items()),
    }
    return render_page("report.html", context)


def _examples(run: Run) -> dict[int, str]:
    """Of images, some of each leaf."""
    if run.about_data["kind"] != "images":
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


def _core(run: Run, hierarchy: Hierarchy) -> str:
    """The share of rows in the cores of leaves, where MIMOSA has found some."""
    if hierarchy != run.hierarchy or run.config.structure not in ("mimosa", "mimosa-paper"):
        return ""
    core = run.read_npz("labels.npz", "core_labels")["core_labels"]
    return f"{(core >= 0).mean():.0%}"


def _cards(run: Run, metrics: dict[str, Any], n_leaves: int) -> list[tuple[str, str]]:
    shown = []
    if metrics["scores"]:
        shown += [(SCORES[name][0], metrics["scores"].get(name), SCORES[name][2]) for name in ("r4c", "h_error")]
    own = metrics["scores_without_truth"]
    shown += [("leaves", n_leaves, 0), ("reconstruction R²", own["reconstruction_r2"], 4)]
    shown += [(title, own.get(name), 4) for name, title in RIVALS.items()]
    if not metrics["scores"] and "dependence" in own:
        shown.append(("dependence left", own["dependence"], 3))
    total = sum(_seconds_by_stage(run).values())
    cards = [(name, _number(value, places)) for name, value, places in shown if value is not None]
    return [*cards, ("time", duration(total))]


def _true_tree(run: Run) -> list[dict[str, Any]] | None:
    truth = run.codes("true")
    if truth is None:
        return None
    return truth[1].to_dict()["variables"]  # without shares: other rows than those of the learned tree are known


def _leaves(findings: Findings, labels: Int[np.ndarray, " n"]) -> list[tuple[str, ...]]:
    """The table of leaves; of very many those that have rows, the largest first."""
    paths, n = findings.hierarchy.paths, len(labels)
    counts = np.bincount(labels[labels >= 0], minlength=len(paths))
    order = np.arange(len(paths))
    if len(paths) > MANY_PATHS:
        order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
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
    """What was proposed, and what the bits are of, for the template.

    Parameters
    ----------
    structure : dict
        ``structure.json``.

    Returns
    -------
    dict
        ``note``, ``header`` and ``rows``, the chosen one first; empty if nothing was compared.
    """
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


def _scores(metrics: dict[str, Any], kind: str) -> list[tuple[str, str, str]]:
    rows = []
    for name, value in {**metrics["scores"], **metrics["scores_without_truth"]}.items():
        title, what, places = SCORES.get(name, (name, "", 4))
        what = what.format(units=UNITS[kind])
        rows.append((title, _number(value, places), what))
    return rows


def _timings(run: Run) -> list[tuple[str, str]]:
    seconds = _seconds_by_stage(run)
    return [*((name, duration(s)) for name, s in seconds.items()), ("together", duration(sum(seconds.values())))]


def _seconds_by_stage(run: Run) -> dict[str, float]:
    """Without the report itself: how long it takes is not known while it is written for the first time."""
    return {name: stage["seconds"] for name, stage in run.stages.items() if name != "report"}


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


def _number(value: float | None, places: int) -> str:
    if value is None:  # not a finite number
        return "–"
    if value and abs(value) < 10.0**-places:
        return f"{value:.2e}"
    return f"{value:.{places}f}"


def duration(seconds: float) -> str:
    """A time in words; whole seconds from a minute on.

    Parameters
    ----------
    seconds : float
        How long it took.

    Returns
    -------
    str

    Examples
    --------
    >>> duration(59.94), duration(59.96), duration(719.7), duration(3725)
    ('59.9 s', '1 min 0 s', '12 min 0 s', '1 h 2 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
