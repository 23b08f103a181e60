"""Whether people can read what MIMOSA finds in a table: the size of the printed tree, names that say nothing."""

from __future__ import annotations

import re
import time
from typing import Any

from disentree.errors import UserError
from disentree.mimosa import MIMOSA
from disentree.mimosa.tree.parts import brought_overlap
from disentree.studies.running.r_tables import read_table

NAMELESS = re.compile(r"[cxz]\d+")  # a variable
VAGUE = re.compile(r"(part of|mostly)\b|(branch\d*|stop|on|off)$")  # a branch
NUMBERED = re.compile(r"group \d+ \(")  # a branch that nothing else is known of than its share of rows


def readability(name: str, seed: int) -> tuple[dict[str, Any], float]:
    """What the study of tables shows of one, and the seconds of processor time that the fit took."""
    table = read_table(name)
    if table is None:
        raise UserError(f"R's data set {name} cannot be read")
    start = time.process_time()
    m = MIMOSA(random_state=seed, n_jobs=1).fit(table)
    seconds = time.process_time() - start
    columns, variables = set(map(str, table.columns)), m.hierarchy_.variables
    names = [v.name for v in variables if v.kind == "continuous"]
    branches = [option for v in variables if v.kind == "categorical" for option in v.options]
    support = brought_overlap(m.again_) if m.again_ else []
    values = {
        "n_rows": len(table),
        "n_columns": table.shape[1],
        "components": len(m.components_),
        "lines": len(str(m.hierarchy_).splitlines()),
        "finder": m.candidates_[0]["finder"],
        "variables": len(names),
        "nameless": sum(bool(NAMELESS.fullmatch(name)) and name not in columns for name in names),
        "branches": len(branches),
        "vague": sum(bool(VAGUE.match(option)) for option in branches),
        "numbered": sum(bool(NUMBERED.match(option)) for option in branches),
        "support": round(float(min(support)), 3) if len(support) else None,
        "slowest_step": max(m.timings_, key=lambda step: m.timings_[step]),
    }
    return values, seconds
