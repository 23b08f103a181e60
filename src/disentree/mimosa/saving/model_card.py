"""The model card: a page in every folder that a model is saved to, for whoever finds the folder."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.summary.summary import summarize
from disentree.utils.files import atomic_path
from disentree.utils.versions import build_versions

CARD = "MODEL_CARD.md"
MIMOSA_FOLDER = "mimosa"  # of an estimator, in the folder of a model that was learned on its tree


def write_card(model: Any, folder: Path) -> None:
    """Write the card of a fitted model, in place of one that is there."""
    with atomic_path(folder / CARD) as temporary:
        temporary.write_text(model_card(model), encoding="utf-8")


def model_card(model: Any) -> str:
    """What a fitted model is, what it was fitted to, how well it does and how to load it, as Markdown.

    The text is the same for the same model; its head is that of the model hubs.
    """
    name, n_leaves = type(model).__name__, len(model.hierarchy_.paths)
    found = getattr(getattr(model, "mimosa_", None) or model, "summary_", None) or summarize(
        model.hierarchy_, source="given"
    )
    about = {
        "MIMOSA": "It finds the leaf that a row belongs to, and the row's variables in that leaf.",
        "PaperMIMOSA": "It finds the leaf that a row belongs to, by the algorithm of the paper.",
        "COFHAE": "It encodes rows as variables that follow the tree, and decodes them.",
    }.get(name, "")
    parts = [
        "---\nlibrary_name: disentree\ntags:\n- disentree\n- disentanglement\n- tabular\n---",
        f"# {name} with {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}",
        about,
        f"## What was found\n\n{found.markdown()}",
        f"## Data\n\n{_data(model)}",
        f"## Training\n\n{measured}" if (measured := _measured(model)) else "",
        f"## Settings\n\n{_settings(model)}",
        f"## Use\n\n{_use(name)}",
        """## Limits

A row unlike all that the model was fitted to gets a leaf nevertheless. The tree is a description of these rows:
that a branch exists does not say why it does. What the data is, who may use the model and for what, only its owner
can add. This file is written again by every `save`.""",
        "Made with " + ", ".join(f"{what} {version}" for what, version in build_versions().items()) + ".",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _code(text: str) -> str:
    """Text in a code span that nothing in it ends."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _data(model: Any) -> str:
    out, model = [], getattr(model, "mimosa_", None) or model  # which knows the columns
    if (labels := getattr(model, "labels_", getattr(model, "paths_", None))) is not None:
        out.append(f"- rows: {len(labels):,}")
    if shape := getattr(model, "shape_", None):
        out.append(f"- shape of a row: {'x'.join(map(str, shape))}")
    table = getattr(model, "table_", None)
    names = [str(column) for column in getattr(model, "feature_names_in_", ())]
    if table is not None:
        names = [f"{column.name} ({column.kind})" for column in table.codec.schema.columns if column.used]
    if names:
        more = f" and {len(names) - EXPLAIN.many} more" if len(names) > EXPLAIN.many else ""
        out.append(f"- columns: {', '.join(map(_code, names[: EXPLAIN.many]))}{more}")
    return "\n".join(out) or "Not recorded."


def _measured(model: Any) -> str:
    out = []
    if history := getattr(model, "history_", None):
        last = {k: v for k, v in history[-1].items() if k not in ("epoch", "seconds") and isinstance(v, float)}
        out.append(f"- losses of epoch {len(history)}: " + ", ".join(f"{k} {v:.4g}" for k, v in last.items()))
    if getattr(model, "maps_", None) == "linear":
        out.append("- linear maps in closed form, no network")
    return "\n".join(out)


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
