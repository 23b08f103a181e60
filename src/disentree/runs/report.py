"""The report of a run: one page of HTML that needs nothing else, and the pictures on it.

Everything that comes from outside (names of files, columns, variables and options) is escaped on its way into
the page.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.runs.page import PAGE, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from disentree.runs.folder import Run

PICTURES = {  # in the order of the page: file, title, caption
    "traversals": (
        "What each variable does",
        "Every active continuous variable, swept from its 1st to its 99th percentile with the others of its path "
        "half way between theirs. The framed column is the same for all variables of a path.",
    ),
    "reconstructions": (
        "Held-out rows and their reconstructions",
        "Rows the model was not trained on: originals above or in grey, reconstructions below or in colour.",
    ),
    "pairwise": (
        "True against learned variables",
        "Histograms over the held-out rows where both are active; a dash where they never are. At the right the "
        "part of R4c that each true variable contributes; the learned variables that earned it are framed.",
    ),
    "training": ("Training", "Losses by epoch, on the training rows."),
}

SHOWN_PATHS = 24

SCORES = {  # name in metrics.json: (title, what it is, number of decimals)
    "r4c": ("R4c", "correspondence of learned to true variables, 1 is best", 3),
    "r4": ("R4", "the same, without regard to where variables are active", 3),
    "h_error": ("H-error", "edits from the learned to the true tree, 0 is best", 0),
    "purity": ("purity", "of the leaves' cores, training rows", 4),
    "coverage": ("coverage", "training rows in the core of a leaf", 4),
    "purity_all_rows": ("purity, all rows", "every training row assigned to a leaf", 4),
    "purity_held_out": ("purity, held out", "of the model's leaves", 4),
    "reconstruction_r2": ("reconstruction R²", "variance of the held-out rows that is explained", 5),
    "reconstruction_mse": ("squared error per value", "held-out rows; pixels from 0 to 1", 8),
    "reconstruction_error_per_row": ("squared error per row", "the sum over a row's values", 6),
    "assignment_agreement": ("assignment agreement", "training rows that the model puts on their leaf", 4),
    "assignment_agreement_held_out": ("assignment agreement, held out", "model against structure on new rows", 4),
    "description_length": ("description length", "bits per row for active codes, 32 for a number", 1),
    "mimosa_description_length": ("description length of the structure", "bits per row, as MIMOSA counts", 1),
    "dependence": ("dependence left", "distance correlation of codes within a leaf, 0 is best", 3),
}


# ------------------------------------------------------------------ the tree


def with_sizes(hierarchy: Hierarchy, labels: Int[np.ndarray, " n"], form: str = "{} ({:.1%})") -> Hierarchy:
    """The same tree with the share of rows behind every option's name."""
    counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
    tree = hierarchy.to_dict()
    column = 0

    def visit(variables: list[dict[str, Any]]) -> None:
        nonlocal column
        for variable in variables:
            here, column = column, column + 1
            for k, option in enumerate(variable.get("options", ())):
                inside = sum(int(counts[p.index]) for p in hierarchy.paths if (here, k) in p.choices)
                option["name"] = form.format(option["name"], inside / max(1, len(labels)))
                visit(option["variables"])

    visit(tree["variables"])
    return Hierarchy.from_dict(tree)


def learned_tree(run: Run) -> tuple[Hierarchy, Int[np.ndarray, " n"]]:
    """The model's tree and the path of each training row in it; of each held-out row if it is not the tree that
    the model was given, for then (in flat models) nothing says which path a row should be on."""
    learned = run.codes("learned")
    assert learned is not None
    codes, hierarchy = learned
    if hierarchy == run.hierarchy:
        return hierarchy, run.read_npz("labels.npz", "labels")["labels"]
    return hierarchy, hierarchy.path_of(codes)


def _tree_html(variables: Sequence[dict[str, Any]]) -> str:
    items = []
    for variable in variables:
        name = escape(variable["name"])
        if variable["kind"] == "continuous":
            items.append(f'<li class="num">{name}</li>')
            continue
        options = "".join(
            f'<li class="opt"><b>{escape(o["name"])}</b>{_tree_html(o["variables"])}</li>'
            for o in variable["options"]
        )
        items.append(f'<li class="cat">{name}<ul>{options}</ul></li>')
    return f"<ul>{''.join(items)}</ul>" if items else ' <span class="dim">∅</span>'


# ------------------------------------------------------------------ pictures


def figures(run: Run, device: str = "auto") -> dict[str, Callable[[], Figure]]:
    """The pictures of a run, by name; each is drawn when it is called for."""
    from disentree import plots

    about = run.read_json("data.json")
    names = tuple(about["feature_names"])
    learned = run.codes("learned")
    assert learned is not None
    codes, hierarchy = learned
    samples = run.read_npz("samples.npz", "X", "X_again", "rows", "paths")
    model = run.model(device)
    truth = run.codes("true")
    metrics = run.metrics
    out: dict[str, Callable[[], Figure]] = {}

    def tree() -> Figure:
        return _figure_of(plots.draw_hierarchy(with_sizes(*learned_tree(run), "{}\n{:.1%}")))

    def decode(z: np.ndarray) -> np.ndarray:
        X = model.inverse_transform(z)
        if about["kind"] == "series" and about["scale"] is not None:  # in the units of the file
            X = X * np.array(about["scale"]) + np.array(about["centre"])
        return X

    def reconstructions() -> Figure:
        paths = [p.name for p in hierarchy.paths] if len(hierarchy.paths) > 1 else ()
        X, again = samples["X"], samples["X_again"]
        return _figure_of(
            plots.draw_reconstructions(X, again, samples["paths"], path_names=paths, feature_names=names)
        )

    out["tree"] = tree
    # Flat models with many categoricals have a path for every combination: only the largest can be shown.
    found, counts = np.unique(hierarchy.path_of(codes), return_counts=True)
    largest = sorted(found[np.argsort(-counts, kind="stable")[:SHOWN_PATHS]].tolist())
    out["traversals"] = lambda: plots.draw_traversals(codes, hierarchy, decode, paths=largest, feature_names=names)
    out["reconstructions"] = reconstructions
    if truth is not None:
        V, v_hierarchy = truth
        factors = metrics["factors"] or None
        out["pairwise"] = lambda: _figure_of(plots.draw_pairwise(V, codes, v_hierarchy, hierarchy, scores=factors))
    if model.history_:
        out["training"] = lambda: plots.draw_training(model.history_)
    return out


def _figure_of(ax: Any) -> Figure:
    return ax.figure


def _picture(path: Path, alternative: str) -> str:
    try:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    except FileNotFoundError:
        raise UserError(f"{path} is missing; `disentree report` draws it again") from None
    return f'<img alt="{escape(alternative, quote=True)}" src="data:image/png;base64,{data}">'


# ------------------------------------------------------------------ the page


def render(run: Run) -> str:
    """The whole page. Pictures are part of it; nothing is loaded from elsewhere."""
    about, metrics, structure = run.read_json("data.json"), run.metrics, run.read_json("structure.json")
    hierarchy, labels = learned_tree(run)
    truth = run.codes("true")
    title = f"{about['name']}: {len(hierarchy.paths)} leaves" if len(hierarchy.paths) > 1 else about["name"]
    parts = [
        f"<header><h1>{escape(title)}</h1><p>{escape(_subtitle(run, about, metrics))}</p></header>",
        _cards(run, metrics, hierarchy),
        _section("The tree", _tree_section(run, hierarchy, labels, truth, structure)),
    ]
    for name, (heading, caption) in PICTURES.items():
        path = run.folder / "figures" / f"{name}.png"
        if name in ("pairwise", "training") and not path.is_file():
            continue
        body = f"<figure>{_picture(path, heading)}<figcaption>{escape(caption)}</figcaption></figure>"
        if name == "pairwise":
            body += _factor_table(metrics["factors"])
        parts.append(_section(heading, body))
    parts += [
        _section("Scores", _score_table(metrics)),
        _section("The data", _list(about["policy"])),
        _section("Timings", _timings(run)),
        _section("To repeat it", _provenance(run)),
    ]
    return PAGE.replace("{title}", escape(title)).replace("{style}", STYLE).replace("{body}", "\n".join(parts))


def _subtitle(run: Run, about: dict[str, Any], metrics: dict[str, Any]) -> str:
    shape = "x".join(map(str, about["shape"]))
    what = {"table": "columns", "series": "values", "images": "pixels"}[about["kind"]]
    return (
        f"{about['n_rows']:,} rows of {shape} {what}; {metrics['n_train']:,} to learn from, "
        f"{metrics['n_test']:,} held out. disentree {run.about['versions']['disentree']}, {run.about['created']}"
    )


def _cards(run: Run, metrics: dict[str, Any], hierarchy: Hierarchy) -> str:
    shown = []
    if metrics["scores"]:
        shown += [(SCORES[name][0], metrics["scores"].get(name), SCORES[name][2]) for name in ("r4c", "h_error")]
    own = metrics["scores_without_truth"]
    shown += [("leaves", len(hierarchy.paths), 0), ("reconstruction R²", own["reconstruction_r2"], 4)]
    if not metrics["scores"] and "dependence" in own:
        shown.append(("dependence left", own["dependence"], 3))
    cells = "".join(
        f"<div><span>{escape(title)}</span><b>{_number(value, places)}</b></div>"
        for title, value, places in shown
        if value is not None
    )
    total = sum(stage["seconds"] for stage in run.stages.values())
    return f'<div class="cards">{cells}<div><span>time</span><b>{_seconds(total)}</b></div></div>'


def _tree_section(
    run: Run,
    hierarchy: Hierarchy,
    labels: Int[np.ndarray, " n"],
    truth: tuple[np.ndarray, Hierarchy] | None,
    structure: dict[str, Any],
) -> str:
    came = {
        "mimosa": "found by MIMOSA",
        "mimosa-paper": "found by the paper's MIMOSA",
        "true": "that of the ground truth",
        "given": "given with the data",
    }
    learned = _tree_html(with_sizes(hierarchy, labels).to_dict()["variables"])
    which = came[structure["from"]] if hierarchy == run.hierarchy else "flat"
    out = f'<div class="trees"><div class="tree"><h3>Learned ({which})</h3>{learned}</div>'
    if truth is not None:
        codes, true_hierarchy = truth
        sized = with_sizes(true_hierarchy, true_hierarchy.path_of(codes))
        out += f'<div class="tree"><h3>True</h3>{_tree_html(sized.to_dict()["variables"])}</div>'
    out += "</div>"
    rows = [
        (p["path"].replace("/", ", "), str(p["dimension"]), f"{p['n_rows']:,}", f"{p['share']:.1%}")
        for p in run.metrics["leaves"]
    ]
    unassigned = int((labels < 0).sum())
    if unassigned:
        rows.append(("not assigned", "", f"{unassigned:,}", f"{unassigned / len(labels):.1%}"))
    if rows:
        out += _table(("leaf", "dimension", "training rows", "share"), rows, numbers=(1, 2, 3))
    picture = _picture(run.folder / "figures" / "tree.png", "The tree")
    return out + f"<details><summary>As a drawing</summary><figure>{picture}</figure></details>"


def _factor_table(factors: Sequence[dict[str, Any]]) -> str:
    if not factors:
        return ""
    rows = []
    for factor in factors:
        by = "; ".join(m["variable"] + (f" where {m['where']}" if m["where"] else "") for m in factor["matches"])
        rows.append((factor["factor"], f"{factor['score']:.3f}", by or "–"))
    rows.append(("mean: R4c", f"{np.mean([f['score'] for f in factors]):.3f}", ""))
    return _table(("true variable", "part of R4c", "explained by"), rows, numbers=(1,))


def _score_table(metrics: dict[str, Any]) -> str:
    rows = []
    for name, value in {**metrics["scores"], **metrics["scores_without_truth"]}.items():
        title, what, places = SCORES.get(name, (name, "", 4))
        rows.append((title, _number(value, places), what))
    out = _table(("score", "value", ""), rows, numbers=(1,))
    if metrics["dependence"]:
        left = [
            (p["path"].replace("/", ", "), f"{p['mean']:.3f}", f"{p['worst']:.3f}", " and ".join(p["pair"]))
            for p in metrics["dependence"]
        ]
        out += "<h3>Dependence left within each leaf</h3>"
        out += _table(("leaf", "mean", "largest", "between"), left, numbers=(1, 2))
    if metrics.get("estimator"):
        out += f'<p class="dim">R4 and R4c by {escape(metrics["estimator"])}.</p>'
    return out + (_list(metrics["notes"]) if metrics["notes"] else "")


def _timings(run: Run) -> str:
    rows = [(stage, _seconds(about["seconds"])) for stage, about in run.stages.items()]
    rows.append(("together", _seconds(sum(about["seconds"] for about in run.stages.values()))))
    out = _table(("stage", "time"), rows, numbers=(1,))
    steps = run.read_json("structure.json").get("timings")
    if steps:
        inside = ", ".join(f"{step} {_seconds(s)}" for step, s in steps.items())
        out += f'<p class="dim">Structure: {escape(inside)}.</p>'
    return out


def _provenance(run: Run) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.about["versions"].items())
    folder = escape(str(run.folder))
    return (
        f"<pre>{escape(run.about['command'])}</pre>"
        f"<p>Scores of the same codes with all metrics: <code>disentree score {folder}</code>. "
        f"This page again: <code>disentree report {folder}</code>. "
        f"Sliders and radio buttons to move through it: <code>disentree explore {folder}</code>.</p>"
        f'<p class="dim">Seed {run.config.seed}; {escape(versions)}.</p>'
    )


# ------------------------------------------------------------------ pieces


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in sentences) + "</ul>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if j in numbers else ''}>{escape(cell)}</{tag}>" for j, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', header)}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def _number(value: float, places: int) -> str:
    if value and abs(value) < 10.0**-places:
        return f"{value:.2e}"
    return f"{value:.{places}f}"


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {seconds % 60:.0f} s"
