"""Scores and times as people read them."""

from __future__ import annotations

from typing import Any

SCORES = {  # name in metrics.json: (title, what it is, number of decimals)
    "r4c": ("R4c", "correspondence of learned to true variables, 1 is best", 3),
    "r4": ("R4", "the same, without regard to where variables are active", 3),
    "h_error": ("H-error", "edits from the learned to the true tree, 0 is best", 0),
    "placement_error": ("placement error", "the same where variables may not be moved up or down", 0),
    "class_agreement": ("agreement with the classes", "adjusted mutual information, training rows", 3),
    "class_nmi": ("NMI", "normalized mutual information of leaves and classes, training rows", 3),
    "class_accuracy": ("accuracy", "training rows on the leaf of their class, one leaf for each class", 3),
    "dendrogram_purity": ("dendrogram purity", "of the smallest subtree with two rows of a class", 3),
    "purity": ("purity", "of the leaves' cores, training rows", 4),
    "coverage": ("coverage", "training rows in the core of a leaf", 4),
    "purity_all_rows": ("purity, all rows", "every training row assigned to a leaf", 4),
    "purity_held_out": ("purity, held out", "of the model's leaves", 4),
    "reconstruction_r2": ("reconstruction R²", "variance of the held-out rows that is explained", 5),
    "reconstruction_overlap": ("overlap", "of bright pixels of held-out images: in both over in either", 4),
    "mean_dimension": ("dimensions of the codes", "active continuous variables, on average over rows", 2),
    "pca_r2": ("R² of principal components", "with as many dimensions, held-out rows", 5),
    "autoencoder_r2": ("R² of a flat autoencoder", "with as many dimensions, held-out rows", 5),
    "reconstruction_mse": ("squared error per value", "held-out rows; {units}", 8),
    "reconstruction_error_per_row": ("squared error per row", "the sum over a row's values", 6),
    "assignment_agreement": ("assignment agreement", "training rows that the model puts on their leaf", 4),
    "assignment_agreement_held_out": ("assignment agreement, held out", "model against structure on new rows", 4),
    "description_length": ("description length", "bits per row for active codes, 32 for a number", 1),
    "mimosa_description_length": ("description length of the structure", "bits per row, as MIMOSA counts", 1),
    "dependence": ("dependence left", "distance correlation of codes within a leaf, 0 is best", 3),
}
UNITS = {  # what one value of a row is measured in
    "images": "pixels from 0 to 1",
    "series": "in the units of the model's input",
    "table": "in standard deviations of the columns",
}


def score_rows(metrics: dict[str, Any], kind: str) -> list[tuple[str, str, str]]:
    """Title, value and meaning of every score of data of a kind."""
    rows = []
    for name, value in {**metrics["scores"], **metrics["scores_without_truth"]}.items():
        title, what, places = SCORES.get(name, (name, "", 4))
        rows.append((title, score_text(value, places), what.format(units=UNITS[kind])))
    return rows


def score_text(value: float | None, places: int) -> str:
    """A score with so many decimals; a dash for one that is not a finite number."""
    if value is None:
        return "–"
    if value and abs(value) < 10.0**-places:
        return f"{value:.2e}"
    return f"{value:.{places}f}"


def duration(seconds: float) -> str:
    """A time in words; whole seconds from a minute on.

    >>> duration(59.94), duration(59.96), duration(719.7), duration(3725)
    ('59.9 s', '1 min 0 s', '12 min 0 s', '1 h 2 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
