"""Documents from results: every number of README and docs/ is filled in from `results/`, by its marker.

    <!-- result: EXPRESSION -->.963<!-- /result -->       the value of an expression, see `expressions`
    <!-- claim: EXPRESSION -->higher<!-- /claim -->       a word that is checked: it has to be what the numbers say
    <!-- table: NAME --> ... <!-- /table -->              a table that docs/results.toml describes; `sources` lists
                                                          the studies that the document uses

Markers in code are examples, and stay as they are. Reports of studies, `results/*/report.md`, are made again from
their study.json.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from disentree.errors import UserError
from disentree.studies.running.page import describe_seeds, report_markdown, table_markdown
from disentree.utils.files import atomic_path
from tools.publish.expressions import claim_problem, compared, parse, pick, value_text
from tools.publish.sources import NoSource, Source, read_source
from tools.publish.stray import blank, stray_measurements, stray_numbers

DESCRIPTION = Path("docs") / "results.toml"
RESULTS = Path("results")
NOT_MEASURED = "not measured"

_RESULT = re.compile(r"<!-- result: (.+?) -->(.*?)<!-- /result -->", re.DOTALL)
_CLAIM = re.compile(r"<!-- claim: (.+?) -->(.*?)<!-- /claim -->", re.DOTALL)
_TABLE = re.compile(r"<!-- table: (\S+) -->\n(.*?)<!-- /table -->", re.DOTALL)
_OPEN = re.compile(r"<!-- (result|claim|table): [^>]*-->")
_CODE = re.compile(r"^```.*?^```$|`<!--[^`\n]*-->`", re.DOTALL | re.MULTILINE)
_IN_CELL = re.compile(r"\{([^}]+)\}")


def publish(root: Path, *, check: bool = False) -> list[Path]:
    """Fill the documents of a checkout in, and return those that were changed.

    With `check`, nothing is changed, and it is an error if anything would be.
    """
    if not (root / DESCRIPTION).is_file() or not (root / RESULTS).is_dir():
        raise UserError(f"there is no {DESCRIPTION} or no {RESULTS} here: run this in a checkout of disentree")
    with (root / DESCRIPTION).open("rb") as file:
        description = tomllib.load(file)
    read = cache(lambda name: read_source(root / RESULTS, name))
    problems: list[str] = []
    texts: dict[Path, str] = {}
    for name in _documents(root, description):
        text = (root / name).read_text(encoding="utf-8")
        filled = _Document(name, description, read)
        texts[root / name] = filled.fill(text)
        problems += [f"{name}: {problem}" for problem in filled.problems]
        outside = _TABLE.sub(blank, _RESULT.sub(blank, _CODE.sub(blank, text)))
        if name in description["no_other_numbers"]:
            problems += [f"{name}, {where} has a number without a source" for where in stray_numbers(outside)]
        else:
            settings = description.get("settings", {}).get(name, ())
            found = stray_measurements(outside, settings)
            problems += [f"{name}, {where} reads as measured and has no source" for where in found]
        if check:
            problems += _other_builds(name, text, read)
    for folder in sorted(path.parent for path in (root / RESULTS).glob("*/study.json")):
        texts[folder / "report.md"] = report_markdown(read(folder.name).about)
    if problems:
        raise UserError("\n".join(problems))
    changed = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
    if check and changed:
        names = ", ".join(str(path.relative_to(root)) for path in changed)
        raise UserError(f"not what the results say: {names}; `make publish` writes them")
    for path in changed:
        with atomic_path(path) as temporary:
            temporary.write_text(texts[path], encoding="utf-8")
    return changed


def _documents(root: Path, description: dict[str, Any]) -> list[str]:
    """The documents that the patterns of the description name."""
    found = {pattern: sorted(root.glob(pattern)) for pattern in description["documents"]}
    paths = dict.fromkeys(path for matches in found.values() for path in matches)
    names = [path.relative_to(root).as_posix() for path in paths]
    if unknown := sorted(set(description.get("settings", {})) - set(names)):
        raise UserError(f"{DESCRIPTION} has settings of {unknown[0]}, which is not among its documents")
    if missing := [pattern for pattern, matches in found.items() if not matches]:
        raise UserError(f"{DESCRIPTION} lists {missing[0]}, which does not exist")
    return names


class _Document:
    """One document while it is filled in: the sources that it has used, and what is wrong."""

    def __init__(self, name: str, description: dict[str, Any], read: Callable[[str], Source]) -> None:
        self._up = "../" * name.count("/")
        self._tables = description["tables"]
        self._read_source = read
        self._used: dict[str, Source] = {}
        self.problems: list[str] = []

    def fill(self, text: str) -> str:
        examples = iter(_CODE.findall(text))
        return re.sub("\0", lambda _: next(examples), self._fill(_CODE.sub("\0", text)))

    def _fill(self, text: str) -> str:
        whole = sum(len(pattern.findall(text)) for pattern in (_RESULT, _CLAIM, _TABLE))
        if len(_OPEN.findall(text)) != whole:
            self.problems.append("a marker is not closed")
        text = _RESULT.sub(lambda m: f"<!-- result: {m[1]} -->{self._value(m[1])}<!-- /result -->", text)
        for match in _CLAIM.finditer(text):
            self._claim(match[1])
        # `sources` lists what all the others used, so it is last
        text = _TABLE.sub(lambda m: m[0] if m[1] == "sources" else self._table(m[1]), text)
        return _TABLE.sub(lambda m: self._sources() if m[1] == "sources" else m[0], text)

    def _read(self, name: str) -> Source:
        self._used[name] = self._read_source(name)
        return self._used[name]

    def _value(self, expression: str) -> str:
        try:
            return value_text(expression, self._read)
        except UserError as error:
            self.problems.append(str(error))
            return "?"

    def _claim(self, expression: str) -> None:
        try:
            problem = claim_problem(expression, self._read)
        except UserError as error:
            problem = str(error)
        if problem:
            self.problems.append(problem)

    # -------------------------------------------------------------- tables

    def _table(self, name: str) -> str:
        if name not in self._tables:
            self.problems.append(f"{DESCRIPTION} has no table {name}")
            return ""
        table = self._tables[name]
        rows = [self._row(row) for row in table["rows"]]
        return self._block(name, table_markdown(table["header"], rows, table.get("numbers", ())))

    @staticmethod
    def _block(name: str, text: str) -> str:
        return f"<!-- table: {name} -->\n\n{text}\n\n<!-- /table -->"

    def _row(self, row: dict[str, Any]) -> list[str]:
        cells: list[str] = []
        try:
            verdict = self._verdict(row)
            for cell in row["cells"] if verdict is None else [*row["cells"], verdict]:
                text = _IN_CELL.sub(lambda m: value_text(m[1], self._read), cell)
                cells.append(text.replace("](results/", f"]({self._up}results/"))
        except UserError as error:
            if not (row.get("optional") and isinstance(error, NoSource)):
                self.problems.append(f"{row['cells'][0]}: {error}")
            cells = [*row["cells"][:-1], NOT_MEASURED, NOT_MEASURED]
        return cells

    def _verdict(self, row: dict[str, Any]) -> str | None:
        """What the numbers say: against the published ones, or of the paper's claims; None for no such cell."""
        if "verdict" in row:
            if row["verdict"] != NOT_MEASURED:
                raise UserError(f"the verdict {row['verdict']!r} is typed by hand; only {NOT_MEASURED!r} may be")
            if "because" not in row:
                raise UserError(f"the verdict {NOT_MEASURED!r} needs a reason: `because`")
            return f"{NOT_MEASURED}: {row['because']}"
        if "against_paper" in row:
            rises = {rise for text in row["against_paper"] for rise in self._against_paper(text)}
            better = 1 if row["good"] == "high" else -1
            words = [word for word, rise in (("better", better), ("worse", -better)) if rise in rises] or ["same"]
            verdict = " and ".join(words)
        elif "holds" in row:
            wrong = [text for text in row["holds"] if claim_problem(text, self._read)]
            right, n = len(row["holds"]) - len(wrong), len(row["holds"])
            same = right >= row.get("enough", n)
            part = f" in {right if same else n - right} of {n}" if 0 < right < n else ""
            verdict = f"{'same' if same else 'differs'}{part}"
        else:
            return None
        reason = f": {row['because']}" if "because" in row and not verdict.startswith(("same", "better")) else ""
        return verdict + reason

    def _against_paper(self, text: str) -> list[int]:
        query = parse(f"same {text} against published")
        return list(compared(query, pick(query, self._read, text), text, self._read).values())

    def _sources(self) -> str:
        header = ["results", "command", "scale", "seeds", "build"]
        rows = []
        for name, source in sorted(self._used.items()):
            about = source.about
            link = f"[{name}]({self._up}results/{name}{'' if name.endswith('.json') else '/report.md'})"
            scale, seeds = about.get("scale_means", ""), about.get("seeds", [])
            rows.append([link, f"`{about['command']}`", scale, describe_seeds(seeds), source.build])
        return self._block("sources", table_markdown(header, rows, ()))


def _other_builds(name: str, text: str, read: Callable[[str], Source]) -> list[str]:
    """Sources that were made by another commit than the document states."""
    stated = re.findall(r"^\| \[([\w.-]+)\]\(\S+\) \|.*\| ([^|]+?) \|$", _sources_in(text), re.MULTILINE)
    return [
        f"{name} states that results/{source} was made by {build}, but it was made by {read(source).build}"
        for source, build in stated
        if read(source).build != build
    ]


def _sources_in(text: str) -> str:
    return next((match[2] for match in _TABLE.finditer(text) if match[1] == "sources"), "")
