"""`disentree steer`: make the tree of a run coarser or finer, give names, and undo that."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from disentree.cli.options import Device, Full, NJobs, RunFolder
from disentree.errors import UserError

log = logging.getLogger(__name__)


def steer(
    run: RunFolder,
    cut: Annotated[int | None, typer.Option(min=1, help="At most so many leaves.")] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(metavar="LEAF", help="Make one leaf of several; repeat it: --merge 0 --merge 2."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="LEAF", help="Undo what was merged into a leaf, or look inside it.")
    ] = None,
    rename: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="OLD NEW", help="Another name for a leaf, a branch or a variable."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last step back.")] = False,
    full: Full = False,
    device: Device = "auto",
    n_jobs: NJobs = None,
) -> None:
    """Make the tree of a run coarser or finer, or give names.

    LEAF is the number or the name of a leaf; without an option, the leaves are listed. Codes are learned anew for
    the new tree, and scores, figures and the report are made again.
    """
    import matplotlib

    from disentree.cli.run import print_summary
    from disentree.mimosa.explain.names import leaf_name
    from disentree.runs import Run, finish_run
    from disentree.runs.files.schemas import Step
    from disentree.runs.report.findings import read_findings
    from disentree.runs.stages import check_stages
    from disentree.runs.steering import steer_run

    matplotlib.use("Agg")
    opened = Run.open(run)
    asked = [name for name, one in (("--cut", cut), ("--merge", merge), ("--split", split), ("--rename", rename),
                                    ("--undo", undo)) if one]  # fmt: skip
    if len(asked) > 1:
        raise UserError(f"one step at a time, got {' and '.join(asked)}")
    check_stages(opened, "structure")
    tree = opened.found_hierarchy
    shown = read_findings(opened, opened.hierarchy)
    names = [shown.path_name(path.index) for path in tree.paths]
    if not asked:
        print(*(f"{path}  {name}" for path, name in enumerate(names)), sep="\n")
        return

    def path_of(leaf: str) -> int:
        if leaf in names:
            return names.index(leaf)
        if not leaf.isdecimal() or int(leaf) >= len(names):
            raise UserError(f"there is no leaf {leaf!r}; `disentree steer {run}` lists the leaves")
        return int(leaf)

    if merge and len(set(map(path_of, merge))) < 2:
        raise UserError("--merge needs two leaves or more: --merge 0 --merge 2")
    step = None
    if not undo:
        renamed = None
        if rename is not None:  # names that the page shows may be a user's own
            old, new = rename
            renamed = {leaf_name(tree, names.index(old)) if old in names else old: new}
        merged = None if merge is None else [path_of(leaf) for leaf in merge]
        step = Step(cut=cut, merge=merged or None, split=None if split is None else path_of(split), rename=renamed)
    steered = steer_run(opened, step)
    finish_run(steered, device=device, n_jobs=n_jobs, verbose=log.isEnabledFor(logging.INFO))
    print_summary(steered, full)
