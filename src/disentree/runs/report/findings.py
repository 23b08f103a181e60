"""What was found in words: names, reasons and support of the branches of a run's tree.

They come from three files that need not be there: ``explanation.json`` (reasons), ``stability.json`` (support) and
``names.json`` (names that a user may edit). Without them branches have the names in ``hierarchy.json``.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.explain.sentences import no_reason_sentence
from disentree.runs.files.schemas import EXPLANATION, NAMES, STABILITY, ExplanationFile, NamesFile, StabilityFile
from disentree.runs.run import Run

log = logging.getLogger(__name__)

GENERIC_VARIABLE = re.compile(r"[cxz]\d+")  # names that say nothing
GENERIC_OPTION = re.compile(r"branch(\d+)")
PLAIN_OPTIONS = {"stop": "nothing more"}  # what the algorithm calls a branch without variables of its own

YES_NO = {"yes": "with {}", "no": "no {}"}


@dataclass(frozen=True)
class Findings:
    """Names, reasons and support of the parts of a tree. Options are known by the names of categorical and
    option."""

    hierarchy: Hierarchy  # with the names in hierarchy.json
    variables: dict[str, str] = field(default_factory=dict)  # shown names, where they say something
    options: dict[tuple[str, str], str] = field(default_factory=dict)  # shown names
    reasons: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # as in explanation.json
    leaves: dict[int, str] = field(default_factory=dict)  # what is free on a path, in a sentence
    moves: dict[str, dict[str, Any]] = field(default_factory=dict)  # of variables, as in explanation.json
    support: dict[int, float] = field(default_factory=dict)  # how often the leaf of a path came back, from 0 to 1
    branch_support: dict[tuple[str, str], float] = field(default_factory=dict)
    stability: dict[str, Any] = field(default_factory=dict)  # stability.json; empty if there is none
    factors: dict[str, dict[str, Any]] = field(default_factory=dict)  # independent choices, as in explanation.json
    lost: list[str] = field(default_factory=list)  # what the tree does not show, in sentences

    def factor_support(self, name: str) -> float | None:
        """How often an independent choice came back; None if it was not measured, or depends on others."""
        return next((f["support"] for f in self.stability.get("factors", ()) if f["name"] == name), None)

    def reason(self, categorical: str, option: str) -> str:
        """Why rows are on a branch, in a sentence; empty if nothing is known, or no column tells it from its
        siblings."""
        text = self.reasons.get((categorical, option), {}).get("text", "")
        return "" if text == no_reason_sentence() else text

    def option_support(self, categorical: int, option: int) -> float | None:
        """How often a branch came back, else the only leaf behind it; None if it was not measured."""
        variable = self.hierarchy.variables[categorical]
        key = (variable.name, variable.options[option])
        if key in self.branch_support:
            return self.branch_support[key]
        behind = [p.index for p in self.hierarchy.paths if (categorical, option) in p.choices]
        return self.support.get(behind[0]) if len(behind) == 1 else None

    def option_name(self, categorical: str, option: str) -> str:
        """How an option is shown: by the name that was given, else by one without jargon."""
        if found := self.options.get((categorical, option)):
            return found
        if match := GENERIC_OPTION.fullmatch(option):
            return f"group {match[1]}"
        if option in YES_NO and self.says_something(categorical):  # what exists, in a table
            return YES_NO[option].format(self.variable_name(categorical))
        return PLAIN_OPTIONS.get(option, option)

    def variable_name(self, name: str) -> str:
        """How a variable is shown; its own name if none was given."""
        return self.variables.get(name, name)

    def says_something(self, name: str) -> bool:
        """Whether a variable has a name that tells what it is."""
        return name in self.variables or not GENERIC_VARIABLE.fullmatch(name)

    def is_still(self, name: str, path: int | None = None) -> bool:
        """Whether a variable moves no column of a table on a path, or on the one that most of its rows are on;
        False if that is not known."""
        about = self.moves.get(name, {})
        about = next((there for there in about.get("on", ()) if there["path"] == path), about)
        return not about.get("moves") and "moves no column" in about.get("text", "")

    def path_name(self, path: int) -> str:
        """How a leaf is shown: the names of its options, or "all rows"."""
        return leaf_name(self._shown, path)

    @cached_property
    def _shown(self) -> Hierarchy:
        return self.shown_hierarchy()

    def shown_hierarchy(self) -> Hierarchy:
        """The tree with the names that are shown."""
        tree = self.hierarchy.to_dict()

        def visit(variables: list[dict[str, Any]]) -> None:
            for variable in variables:
                name = variable["name"]
                variable["name"] = self.variable_name(name)
                for option in variable.get("options", ()):
                    visit(option["variables"])
                    option["name"] = self.option_name(name, option["name"])

        visit(tree["variables"])
        return Hierarchy.from_dict(tree)


def read_findings(run: Run, hierarchy: Hierarchy) -> Findings:
    """Names, reasons and support of the tree of a run's model. Files about another tree are not read: flat models
    have their own."""
    if hierarchy != run.hierarchy:
        return Findings(hierarchy)
    hierarchy = run.hierarchy  # trees are equal whatever their names
    explained = run.read_optional(EXPLANATION, ExplanationFile) or {}
    stability = run.read_optional(STABILITY, StabilityFile) or {}
    given = read_names(run)
    reasons = {(s["categorical"], s["option"]): s for s in explained.get("splits", ())}
    moves = {v["name"]: v for v in explained.get("variables", ())}
    _check_names(run, given, hierarchy)
    return Findings(
        hierarchy,
        {n: t for n, t in given["variables"].items() if t not in ("", n)},
        {key: s["name"] for key, s in reasons.items() if s["name"] not in ("", key[1])}
        | {(c, o): t for c, texts in given["options"].items() for o, t in texts.items() if t not in ("", o)},
        reasons,
        {leaf["path"]: leaf["text"] for leaf in explained.get("leaves", ()) if leaf["text"]},
        moves,
        {c["path"]: c["support"] for c in stability.get("components", ()) if c["support"] is not None},
        {
            (b["categorical"], b["option"]): b["support"]
            for b in stability.get("branches", ())
            if b["support"] is not None
        },
        stability,
        {f["name"]: f for f in explained.get("factors", ())},
        list(explained.get("lost", ())),
    )


def read_names(run: Run) -> dict[str, Any]:
    """The names in ``names.json``, by the names in ``hierarchy.json``; none if there is no such file."""
    if not (run.folder / NAMES).is_file():
        return {"variables": {}, "options": {}}
    try:
        return NamesFile.model_validate(run.read_json(NAMES)).model_dump()
    except ValidationError:
        form = '{"variables": {"c1": "garage"}, "options": {"c1": {"branch1": "no garage"}}}'
        raise UserError(f"{run.folder / NAMES} must be of the form {form}, with names as text") from None
    except UserError as error:  # a user has written it: no command makes it again
        raise UserError(str(error).replace(run.advice, "correct it, or remove it")) from None


def _check_names(run: Run, given: dict[str, Any], hierarchy: Hierarchy) -> None:
    """Say what names.json names that the tree does not have: a user has written it."""
    known = {v.name: set(v.options) for v in hierarchy.variables}
    unknown = [n for n in (*given["variables"], *given["options"]) if n not in known]
    unknown += [
        f"{c}={o}" for c, texts in given["options"].items() if c in known for o in texts if o not in known[c]
    ]
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        log.warning("%s names %s%s, which the tree has not", run.folder / NAMES, ", ".join(unknown[:3]), more)
    for texts in (given["variables"], *given["options"].values()):
        if long := next((t for t in texts.values() if len(t) > 200), None):
            raise UserError(f"{run.folder / NAMES} has a name of {len(long)} letters; 200 are the most")
