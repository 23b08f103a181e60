"""The model card: a page in every folder that a model is saved to, for whoever finds the folder."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from disentree.hierarchy.sizes import with_sizes
from disentree.utils.files import atomic_path
from disentree.utils.versions import build_versions

CARD = "MODEL_CARD.md"
MOST_COLUMNS = 40  # that are named
MOST_LINES = 100  # of the tree
# By class, what it is in a sentence; "" for the others.
ABOUT = {
    "MIMOSA": "It finds the leaf that a row belongs to, and the row's variables in that leaf.",
    "PaperMIMOSA": "It finds the leaf that a row belongs to, by the algorithm of the paper.",
    "COFHAE": "It encodes rows as variables that follow the tree, and decodes them.",
}
# Where things are and how much is shown: nothing that the model depends on.
NOT_SHOWN = ("checkpoint", "events", "tensorboard", "verbose", "device", "callbacks", "n_jobs", "mimosa")
TREE, END = "## Tree\n\n```\n", "\n```"  # around the tree
LIMITS = """\
A row unlike all that the model was fitted to gets a leaf nevertheless. The tree is a description of these rows:
that a branch exists does not say why it does. What the data is, who may use the model and for what, only its owner
can add. This file is written again by every `save`."""


def write_card(model: Any, folder: Path) -> None:
    """Write the card of a fitted model, in place of one that is there."""
    with atomic_path(folder / CARD) as temporary:
        temporary.write_text(model_card(model), encoding="utf-8")


def model_card(model: Any) -> str:
    """What a fitted model is, what it was fitted to, how well it does and how to load it, as Markdown.

    Parameters
    ----------
    model : MIMOSA, COFHAE or a baseline

    Returns
    -------
    str
        The same text for the same model; its head is that of the model hubs.
    """
    name = type(model).__name__
    n_leaves = len(model.hierarchy_.paths)
    parts = [
        "---\nlibrary_name: disentree\ntags:\n- disentree\n- disentanglement\n- tabular\n---",
        f"# {name} with {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}",
        " ".join(filter(None, [ABOUT.get(name, ""), getattr(model, "verdict_", "")])),
        _tree_section(_tree(model)),
        "## Data\n\n" + _data(model),
        "## Measured\n\n" + _measured(model),
        "## Settings\n\n" + _settings(model),
        "## Use\n\n" + _use(name),
        "## Limits\n\n" + LIMITS,
        "Made with " + ", ".join(f"{what} {version}" for what, version in build_versions().items()) + ".",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def name_card(folder: Path, tree: str) -> None:
    """Write another tree, as text, into the card of a folder: the same with names, where these are found later.

    Parameters
    ----------
    folder : path
        Without a card in it nothing is done.
    tree : str
    """
    if not (folder / CARD).is_file():
        return
    card = (folder / CARD).read_text(encoding="utf-8")
    before, found, rest = card.partition(TREE)
    _, end, after = rest.partition(END)
    if found and end:
        with atomic_path(folder / CARD) as temporary:
            temporary.write_text(f"{before}{_tree_section(tree)}{after}", encoding="utf-8")


def _tree_section(tree: str) -> str:
    return f"{TREE}{_cut(tree)}{END}"


def _tree(model: Any) -> str:
    labels = getattr(model, "labels_", None)
    return str(model.hierarchy_ if labels is None else with_sizes(model.hierarchy_, labels))


def _cut(tree: str) -> str:
    lines = tree.splitlines()
    more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more])


def _data(model: Any) -> str:
    told = []
    if (labels := getattr(model, "labels_", None)) is not None:
        told.append(f"- rows: {len(labels):,}")
    if shape := getattr(model, "shape_", None):
        told.append(f"- shape of a row: {'x'.join(map(str, shape))}")
    table = getattr(model, "table_", None)
    names = [str(column) for column in getattr(model, "feature_names_in_", ())]
    if table is not None:
        names = [f"{column.name} ({column.kind})" for column in table.codec.schema.columns if column.used]
    if names:
        more = f" and {len(names) - MOST_COLUMNS} more" if len(names) > MOST_COLUMNS else ""
        told.append(f"- columns: {', '.join(f'`{n}`' for n in names[:MOST_COLUMNS])}{more}")
    return "\n".join(told) or "Not recorded."


def _measured(model: Any) -> str:
    told = []
    if (saved := getattr(model, "saved_bits_", None)) is not None and saved == saved:
        doubt = model.saved_bits_doubt_
        told.append(
            f"- held-out bits per row saved over the best model without structure: {saved:.2f} ± {doubt:.2f}"
        )
    if (stability := getattr(model, "stability_", None)) is not None:
        came_back = ", ".join(f"{s:.0%}" if s == s else "–" for s in stability.support)
        told.append(f"- resamples in which each leaf came back: {came_back}")
    if history := getattr(model, "history_", None):
        last = {k: v for k, v in history[-1].items() if k not in ("epoch", "seconds") and isinstance(v, float)}
        told.append(f"- losses of epoch {len(history)}: " + ", ".join(f"{k} {v:.4g}" for k, v in last.items()))
    if getattr(model, "maps_", None) == "linear":
        told.append("- linear maps in closed form, no network")
    return "\n".join(told) or "Nothing is recorded with the model."


def _settings(model: Any) -> str:
    """The parameters that are not the defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    shown = model.get_params(deep=False).items()
    changed = [(k, v) for k, v in shown if k not in NOT_SHOWN and repr(v) != repr(defaults.get(k))]
    plain = [(k, v) for k, v in changed if isinstance(v, str | int | float | bool | tuple | list | None)]
    return "\n".join(f"- `{k}={v!r}`" for k, v in plain) or "All are the defaults."


def _use(name: str) -> str:
    home, loaded = ("disentree", name) if name != "PaperMIMOSA" else ("disentree.mimosa", name)
    call = "model.predict(X)       # the leaf of each row" if "MIMOSA" in name else "Z = model.transform(X)"
    return f'```python\nfrom {home} import {loaded}\n\nmodel = {loaded}.load("this folder")\n{call}\n```'
