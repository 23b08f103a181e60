"""The model card: a page in every folder that a model is saved to, for whoever finds the folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from disentree.hierarchy.sizes import with_sizes
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.utils.files import atomic_path
from disentree.utils.versions import build_versions

CARD = "MODEL_CARD.md"
MIMOSA_FOLDER = "mimosa"  # of an estimator, in the folder of a model that was learned on its tree
_TREE = re.compile(r"(?<=## Tree\n\n```\n).*?(?=\n```)", re.DOTALL)


def write_card(model: Any, folder: Path) -> None:
    """Write the card of a fitted model, in place of one that is there."""
    with atomic_path(folder / CARD) as temporary:
        temporary.write_text(model_card(model), encoding="utf-8")


def model_card(model: Any) -> str:
    """What a fitted model is, what it was fitted to, how well it does and how to load it, as Markdown.

    The text is the same for the same model; its head is that of the model hubs.
    """
    name, n_leaves, labels = type(model).__name__, len(model.hierarchy_.paths), getattr(model, "labels_", None)
    tree = model.hierarchy_ if labels is None else with_sizes(model.hierarchy_, labels)
    about = {
        "MIMOSA": "It finds the leaf that a row belongs to, and the row's variables in that leaf.",
        "PaperMIMOSA": "It finds the leaf that a row belongs to, by the algorithm of the paper.",
        "COFHAE": "It encodes rows as variables that follow the tree, and decodes them.",
    }.get(name, "")
    parts = [
        "---\nlibrary_name: disentree\ntags:\n- disentree\n- disentanglement\n- tabular\n---",
        f"# {name} with {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}",
        " ".join(filter(None, [about, getattr(model, "verdict_", "")])),
        f"## Tree\n\n```\n{_cut(str(tree))}\n```",
        f"## Data\n\n{_data(model)}",
        f"## Measured\n\n{_measured(model)}",
        f"## Settings\n\n{_settings(model)}",
        f"## Use\n\n{_use(name)}",
        """## Limits

A row unlike all that the model was fitted to gets a leaf nevertheless. The tree is a description of these rows:
that a branch exists does not say why it does. What the data is, who may use the model and for what, only its owner
can add. This file is written again by every `save`.""",
        "Made with " + ", ".join(f"{what} {version}" for what, version in build_versions().items()) + ".",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def name_card(folder: Path, tree: str) -> None:
    """Write another tree, as text, into the card of a folder, if it has one: the same tree with names, where these
    are found later."""
    if not (folder / CARD).is_file():
        return
    card = (folder / CARD).read_text(encoding="utf-8")
    with atomic_path(folder / CARD) as temporary:
        temporary.write_text(_TREE.sub(lambda _: _cut(tree), card, count=1), encoding="utf-8")


def _cut(tree: str) -> str:
    lines = tree.replace("`", "'").splitlines()  # which would end the block
    more = [f"... {len(lines) - EXPLAIN.most_listed} more lines"] if len(lines) > EXPLAIN.most_listed else []
    return "\n".join([*lines[: EXPLAIN.most_listed], *more])


def _code(text: str) -> str:
    """Text in a code span that nothing in it ends."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _data(model: Any) -> str:
    out = []
    if (labels := getattr(model, "labels_", None)) is not None:
        out.append(f"- rows: {len(labels):,}")
    if shape := getattr(model, "shape_", None):
        out.append(f"- shape of a row: {'x'.join(map(str, shape))}")
    table = getattr(model, "table_", None)
    names = [str(column) for column in getattr(model, "feature_names_in_", ())]
    if table is not None:
        names = [f"{column.name} ({column.kind})" for column in table.codec.schema.columns if column.used]
    if names:
        more = f" and {len(names) - EXPLAIN.most_listed} more" if len(names) > EXPLAIN.most_listed else ""
        out.append(f"- columns: {', '.join(map(_code, names[: EXPLAIN.most_listed]))}{more}")
    return "\n".join(out) or "Not recorded."


def _measured(model: Any) -> str:
    out = []
    if (saved := getattr(model, "saved_bits_", None)) is not None and saved == saved:
        doubt = model.saved_bits_doubt_
        out.append(
            f"- held-out bits per row saved over the best model without structure: {saved:.2f} ± {doubt:.2f}"
        )
    if (stability := getattr(model, "stability_", None)) is not None:
        came_back = ", ".join(f"{s:.0%}" if s == s else "–" for s in stability.support)
        out.append(f"- resamples in which each leaf came back: {came_back}")
    if history := getattr(model, "history_", None):
        last = {k: v for k, v in history[-1].items() if k not in ("epoch", "seconds") and isinstance(v, float)}
        out.append(f"- losses of epoch {len(history)}: " + ", ".join(f"{k} {v:.4g}" for k, v in last.items()))
    if getattr(model, "maps_", None) == "linear":
        out.append("- linear maps in closed form, no network")
    return "\n".join(out) or "Nothing is recorded with the model."


def _settings(model: Any) -> str:
    """The parameters that are not the defaults, without those that only say where things are or what is shown."""
    not_shown = ("checkpoint", "events", "tensorboard", "verbose", "device", "callbacks", "n_jobs", "mimosa")
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    shown = model.get_params(deep=False).items()
    changed = [(k, v) for k, v in shown if k not in not_shown and repr(v) != repr(defaults.get(k))]
    plain = [(k, v) for k, v in changed if isinstance(v, str | int | float | bool | tuple | list | None)]
    return "\n".join(f"- {_code(f'{k}={v!r}')}" for k, v in plain) or "All are the defaults."


def _use(name: str) -> str:
    home, loaded = ("disentree", name) if name != "PaperMIMOSA" else ("disentree.mimosa", name)
    call = "model.predict(X)       # the leaf of each row" if "MIMOSA" in name else "Z = model.transform(X)"
    return f'```python\nfrom {home} import {loaded}\n\nmodel = {loaded}.load("this folder")\n{call}\n```'
