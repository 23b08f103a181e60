"""What the rows on each leaf are like, written down while the data is at hand: reports are made without it.

``leaves.json`` has the columns of a table in each leaf (`report/profiles.py`), ``map.npz`` where the rows lie in
two dimensions (`report/row_map.py`). The stage that scores the model calls it.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from disentree.runs.files.schemas import LEAVES, MAP
from disentree.runs.report.columns import table_of
from disentree.runs.report.profiles import leaf_profiles
from disentree.runs.report.row_map import RowMap, make_map
from disentree.runs.run import Run


def describe_rows(run: Run, follows_tree: bool) -> None:
    """Write the files of this module, or remove those of an earlier model that do not apply.

    Of a model with another tree (flat models have their own) nothing is known
    about the leaves of most rows.
    """
    for name in (LEAVES, MAP):
        (run.folder / name).unlink(missing_ok=True)
    if not follows_tree:
        return
    data, paths, cells = run.data, run.paths, None
    if data.kind == "table" and data.schema is not None:
        table = getattr(run.mimosa, "table_", None)
        columns, cells = table_of(data, data.codec if table is None else table.codec)
        numbers = np.arange(len(data)) if data.rows is None else data.rows
        profiles = leaf_profiles(columns, cells, data.X, paths, numbers, run.hierarchy)
        run.write_json(LEAVES, profiles)
    found = make_map(data.X, paths, cells, run.config.seed)
    run.write_npz(MAP, **{field.name: getattr(found, field.name) for field in fields(RowMap)})
