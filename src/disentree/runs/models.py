"""The models that a run can train: their names, classes and titles, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from disentree.errors import UserError
from disentree.utils.extras import needing
from disentree.utils.plugins import check_new_name, import_object, installed, is_spec, load_installed

Kind = Literal["cofhae", "baseline", "other", "ablation", "own"]


@dataclass(frozen=True)
class Model:
    """A model by its name on the command line.

    The class has the constructors ``quick()`` and ``paper()`` beside its own, the methods
    ``fit(X, hierarchy=, paths=)``, ``transform``, ``inverse_transform``, ``in_features``, ``save`` and ``load``,
    and once fitted the attributes ``hierarchy_`` and ``history_``.
    """

    title: str  # in tables and figures
    module: str  # where its class is: imported when it is needed, because it imports torch
    class_name: str
    kind: Kind  # baselines and ablations are those of the paper
    needs_codes: bool = False  # whether it is trained on the true codes
    cls: Any = None  # the class itself, if it was registered

    def load_class(self) -> Any:
        """The class itself."""
        if self.cls is not None:
            return self.cls
        with needing(self.title):
            return getattr(import_module(self.module), self.class_name)


AGAIN = "`disentree run` with the same settings makes it again"
_BASELINES, _ABLATIONS = "disentree.baselines", "disentree.baselines.ablations"

GROUP = "disentree.models"  # of entry points
# To add a model to this package, write its class and name it here.
MODELS: dict[str, Model] = {
    "cofhae": Model("COFHAE", "disentree.cofhae", "COFHAE", "cofhae"),
    "ae": Model("AE", _BASELINES, "AE", "baseline"),
    "vae": Model("VAE", _BASELINES, "VAE", "baseline"),
    "tcvae": Model("β-TCVAE", _BASELINES, "BetaTCVAE", "baseline"),
    "factorvae": Model("FactorVAE", _BASELINES, "FactorVAE", "baseline"),
    "jointvae": Model("JointVAE", _BASELINES, "JointVAE", "baseline"),
    "cascadevae": Model("CascadeVAE", _BASELINES, "CascadeVAE", "baseline"),
    "dipvae": Model("DIP-VAE", _BASELINES, "DIPVAE", "other"),
    "hfs": Model("HFS", _BASELINES, "HFS", "other"),
    "flat": Model("Flat", _BASELINES, "AE", "ablation"),
    "hier": Model("H", _ABLATIONS, "HIER", "ablation"),
    "hier-a": Model("H+A", _ABLATIONS, "HIER_A", "ablation"),
    "hier-a-tc": Model("H+A+TC(Z)", _ABLATIONS, "HIER_A_TC", "ablation"),
    "hier-a-tcon": Model("H+A+TC(Z|on)", _ABLATIONS, "HIER_A_TCON", "ablation"),
    "hier-tcon": Model("H+TC(Z|on)", _ABLATIONS, "HIER_TCON", "ablation"),
    "hier-a-z": Model("H+A+Z", _ABLATIONS, "HIER_A_Z", "ablation", needs_codes=True),
}


def names_of(*kinds: Kind) -> tuple[str, ...]:
    """Names of the models of these kinds, in the order of the paper."""
    return tuple(name for name, model in MODELS.items() if model.kind in kinds)


def register_model(name: str, cls: Any, *, title: str | None = None) -> None:
    """Give a model of your own a name, which runs and studies then know.

    A package can do so by an entry point of the group ``disentree.models``; ``package.module:Class`` is a name
    without further ado. Studies tell their worker processes.

    Parameters
    ----------
    name : str
        A word.
    cls : type
        A subclass of `FlatEstimator` or `COFHAE` is as good as a model of this package. Studies also score any
        other class with ``fit(X)`` and ``transform(X)``, which gives codes: of `hierarchy_` if it has that
        attribute, else of continuous variables.
    title : str, default=None
        What tables and figures call it; None for its name.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from disentree.runs import register_model
    >>> register_model("pca", PCA, title="PCA")
    """
    if not all(callable(getattr(cls, method, None)) for method in ("fit", "transform")):
        raise TypeError(f"cls must have the methods fit and transform, got {cls!r}")
    is_again = name in MODELS and MODELS[name].cls is cls
    check_new_name("model", name, taken=not is_again and (name in MODELS or name in installed(GROUP)))
    MODELS[name] = Model(title or name, cls.__module__, cls.__qualname__, "own", cls=cls)


def find_model(name: str) -> Model:
    """A model by its name, or an error that lists those that there are."""
    if name not in MODELS and is_spec(name):
        MODELS[name] = _of_others(import_object(name), name.rpartition(":")[2])
    elif name not in MODELS and name in installed(GROUP):
        MODELS[name] = _of_others(load_installed(GROUP, name), name)
    if name not in MODELS:
        known = ", ".join(dict.fromkeys([*MODELS, *installed(GROUP)]))
        raise UserError(f"there is no model {name!r}; known: {known}, and package.module:Class")
    return MODELS[name]


def _of_others(cls: Any, title: str) -> Model:
    if not all(callable(getattr(cls, method, None)) for method in ("fit", "transform")):
        raise UserError(f"{title} is no model: it needs the methods fit and transform")
    return Model(title, cls.__module__, cls.__qualname__, "own", cls=cls)


def makes_runs(cls: Any) -> bool:
    """Whether a class can do all that a run asks: train with checkpoints, decode, save and load."""
    return all(
        hasattr(cls, name) for name in ("inverse_transform", "in_features", "save", "load", "quick", "paper")
    )


def load_model(name: str, folder: Path, device: str = "auto") -> Any:
    """Load the model that a run has saved in its folder. It takes rows as they are in the run's file."""
    for file in ("model.safetensors", "model.json"):
        if not (folder / file).is_file():
            raise UserError(f"{folder / file} is missing; {AGAIN}")
    cls = find_model(name).load_class()
    from disentree.training.session import pick_device

    pick_device(device)  # an error if there is none
    with _in_a_sentence(f"the model in {folder}"):
        return cls.load(folder, device=device)


def load_mimosa(folder: Path) -> Any:
    """Load the MIMOSA that a run has saved."""
    from disentree.mimosa import MIMOSA

    with _in_a_sentence(f"the MIMOSA in {folder}"):
        return MIMOSA.load(folder)


@contextmanager
def _in_a_sentence(what: str) -> Iterator[None]:
    """Within the block, files that are not what such a model has saved end in one sentence."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise
        problem = str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"
        raise UserError(f"{what} cannot be loaded ({problem.splitlines()[0]}): {AGAIN}") from None
