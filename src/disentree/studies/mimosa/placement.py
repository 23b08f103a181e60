"""Where variables are put: once above the branches that share them, or on each."""

from __future__ import annotations

from typing import Any

from disentree.datasets.generated.chopsticks import VARIANTS
from disentree.studies.mimosa.structure import label_task, seconds_of, words_for
from disentree.studies.running.labeling import COSINES
from disentree.studies.running.options import Options
from disentree.studies.running.results import Results, Row, Section, spread
from disentree.studies.running.task import Study, Task, make_task

QUICK = 2000
ROWS = 8000
FIRST_TREE = 4000  # of random trees; what they share was developed on numbers below 1000
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat": ("", {}),
    "noise .01": ("", {"noise": 0.01}),
    "curved": ("-curved", {}),
}
IMAGES: tuple[dict[str, Any], ...] = ({}, {"second": "color"}, {"second": "size"})
REAL = ("penguins", "minerals")
OTHERS = (
    *(f"chopsticks-depth{depth}-{variant}" for depth in (2, 3) for variant in VARIANTS),
    *("product-2", "product-3", "triangle-edges", "nested-curved", "robot-arm", "spaceshapes", "penguins"),
)


def trees(n: int, first: int = FIRST_TREE) -> tuple[str, ...]:
    """Random trees in the three kinds."""
    return tuple(f"branches-{first + i}{end}" for end in ("", "-curved") for i in range(n))


def plan(options: Options) -> list[Task]:
    rows = QUICK if options.scale == "quick" else ROWS
    tasks = []
    for dataset in options.datasets:
        is_image, is_curved = dataset == "spaceshapes", dataset.endswith("curved")
        is_random = dataset.startswith("branches")
        methods = () if is_image else ("mimosa", "mimosa-down")
        if is_image or (is_random and is_curved):
            methods += ("generator",)
        noisy = ({}, {"noise": 0.01}) if is_random and not is_curved else ({},)
        for own in IMAGES if is_image else noisy:
            for seed in options.seeds:
                for method in methods:
                    task = label_task(dataset, seed, own, None if dataset in REAL else rows, method)
                    tasks.append(task.model_copy(update={"extras": ("placement",)}))
                if is_image and options.scale in ("medium", "paper"):
                    columns = {"dataset": dataset, "options": words_for(own), "method": "trained"}
                    n = options.n_samples(dataset)
                    tasks.append(make_task(columns, dataset=dataset, seed=seed, n_samples=n, options=own))
    return tasks


def report(results: Results) -> list[Section]:
    return [section for section in (_rows(results), _decoded(results), _real(results)) if section.rows]


def _rows(results: Results) -> Section:
    """By the rows alone."""
    cosines = [f"cosine {cosine:g}" for cosine in COSINES["directions"]]
    rows = []
    for title, found in _cases(results, "mimosa", "mimosa-down"):
        auto, down = ([row for row in found if row["method"] == m] for m in ("mimosa", "mimosa-down"))
        cells = [title, _right(auto), *_scores(auto), _above(auto), seconds_of(results, auto)]
        cells += [_seconds(auto), _right(down), *_scores(down)]
        rows.append(cells + [cell for cosine in cosines for cell in (_right(down, cosine), _above(down, cosine))])
    text = [
        "MIMOSA and its maps. A tree is right if its placement error is 0: every variable once above all branches "
        "on which it does the same, and on each where only some have it. Where the H-error is 0, fewer variables "
        "than the truth has were moved up and should not have been. The second time is that of placement alone.",
        'Beside it `placement="down"`, which moves nothing, and what a cosine of directions would move, in the '
        "same coordinates, with no regard to how well a direction is known.",
    ]
    header = ["data", "right", "R4", "R4c", "moved wrongly", "seconds", "of which placement"]
    header += ["right, down", "R4, down", "R4c, down"]
    header += [f"{word}, {cosine}" for cosine in cosines for word in ("right", "wrong")]
    return Section("By rows", text, header, rows)


def _decoded(results: Results) -> Section:
    """By what a decoder makes of codes."""
    others = ["directions", *(f"cosine {cosine:g}" for cosine in COSINES["effects"])]
    rows = []
    for method, decoder in (("generator", "the generator"), ("trained", "trained")):
        for title, found in _cases(results, method):
            cells = [title, decoder, _right(found), *_scores(found), _above(found), _seconds(found)]
            cells += [_scores(found, "r4, down")[0]]
            rows.append(cells + [cell for one in others for cell in (_right(found, one), _above(found, one))])
    text = [
        "Images and curved leaves, by the effects of a decoder. Trained ones are those of `disentree run` with "
        "nothing set, on the tree that MIMOSA finds. Where the generator of the data is the decoder, the true "
        "tree has what all branches share on each of them, with a sign and a scale of its own: this tells the "
        "criterion from what a training leaves unlearned.",
        "Beside it the mean directions of rows, as for flat leaves, and thresholds for the cosine of effects.",
    ]
    header = ["data", "decoder", "right", "R4", "R4c", "moved wrongly", "seconds of placement", "R4, down"]
    header += [f"{word}, {one}" for one in others for word in ("right", "wrong")]
    return Section("By decoded rows", text, header, rows)


def _real(results: Results) -> Section:
    rows = []
    for name in dict.fromkeys(row["dataset"] for row in results.rows if row["dataset"] in REAL):
        cells = [name]
        for method in ("mimosa", "mimosa-down"):
            found = results.where(dataset=name, method=method)
            cells += [spread([row[key] for row in found], 0) for key in ("variables", "lines")]
        rows.append(cells)
    text = ["Nobody knows where their variables belong; this is how long their trees are."]
    return Section("Real tables", text, ["data", "variables", "lines", "variables, down", "lines, down"], rows)


def _cases(results: Results, *methods: str) -> list[tuple[str, list[Row]]]:
    """The runs of random trees of each kind, and of each other data set, by what to call them."""
    cases: dict[str, list[Row]] = {f"random trees, {kind}": [] for kind in KINDS}
    for row in results.rows:
        if row["method"] in methods and row["dataset"] not in REAL:
            cases.setdefault(_title(row), []).append(row)
    return [(title, found) for title, found in cases.items() if found]


def _title(row: Row) -> str:
    if not row["dataset"].startswith("branches"):
        return row["dataset"] + (f", {row['options']}" if row["options"] != "as it is" else "")
    kind = "curved" if row["dataset"].endswith("-curved") else "noise .01" if "noise" in row["options"] else "flat"
    return f"random trees, {kind}"


def _right(rows: list[Row], criterion: str = "") -> str:
    key = f"placement_error, {criterion}" if criterion else "placement_error"
    errors = [row[key] for row in rows if key in row]
    return f"{sum(error == 0 for error in errors)} of {len(errors)}" if errors else ""


def _above(rows: list[Row], criterion: str = "") -> str:
    """Trees with too few variables."""
    key = f"variables, {criterion}" if criterion else "variables"
    known = [row for row in rows if row.get("h_error") == 0 and key in row]
    return f"{sum(row[key] < row['true_variables'] for row in known)} of {len(known)}" if known else ""


def _scores(rows: list[Row], *names: str) -> list[str]:
    return [spread([row[name] for row in rows if name in row], 3) for name in names or ("r4", "r4c")]


def _seconds(rows: list[Row]) -> str:
    return spread([row["placement_seconds"] for row in rows if "placement_seconds" in row], 2)


STUDY = Study(
    name="placement",
    title="Where variables stand",
    reproduces="no figure of the paper, which leaves the question to future work",
    datasets={
        "quick": (*trees(5), *OTHERS),
        "default": (*trees(10), *OTHERS, "minerals"),
        "paper": (*trees(30), *OTHERS, "minerals"),
    },
    seeds={"quick": 1, "default": 1, "paper": 1},
    scale_descriptions={
        "quick": "five random trees of each kind, Chopsticks, products, curved data and images, 2,000 rows; the "
        "decoder of images and curved trees is the generator",
        "default": "the same with ten random trees of each kind, 8,000 rows",
        "medium": "the same, and trained runs on images",
        "paper": "thirty random trees of each kind, 8,000 rows, and trained runs on images",
    },
    plan=plan,
    report=report,
)
