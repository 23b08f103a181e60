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
    kind: Literal["cofhae", "baseline", "ablation"]  # ablations are those of COFHAE in the paper
    needs_codes: bool = False  # whether it is trained on the true codes

    def load_class(self) -> Any:
        """The class itself."""
        with needing(self.title):
            return getattr(import_module(self.module), self.class_name)


AGAIN = "`disentree run` with the same settings makes it again"
_BASELINES, _ABLATIONS = "disentree.baselines", "disentree.baselines.ablations"

# To add a model, write its class and name it here.
MODELS: dict[str, Model] = {
    "cofhae": Model("COFHAE", "disentree.cofhae", "COFHAE", "cofhae"),
    "ae": Model("AE", _BASELINES, "AE", "baseline"),
    "vae": Model("VAE", _BASELINES, "VAE", "baseline"),
    "tcvae": Model("β-TCVAE", _BASELINES, "BetaTCVAE", "baseline"),
    "factorvae": Model("FactorVAE", _BASELINES, "FactorVAE", "baseline"),
    "jointvae": Model("JointVAE", _BASELINES, "JointVAE", "baseline"),
    "cascadevae": Model("CascadeVAE", _BASELINES, "CascadeVAE", "baseline"),
    "flat": Model("Flat", _BASELINES, "AE", "ablation"),
    "hier": Model("H", _ABLATIONS, "HIER", "ablation"),
    "hier-a": Model("H+A", _ABLATIONS, "HIER_A", "ablation"),
    "hier-a-tc": Model("H+A+TC(Z)", _ABLATIONS, "HIER_A_TC", "ablation"),
    "hier-a-tcon": Model("H+A+TC(Z|on)", _ABLATIONS, "HIER_A_TCON", "ablation"),
    "hier-tcon": Model("H+TC(Z|on)", _ABLATIONS, "HIER_TCON", "ablation"),
    "hier-a-z": Model("H+A+Z", _ABLATIONS, "HIER_A_Z", "ablation", needs_codes=True),
}


def names_of(kind: Literal["cofhae", "baseline", "ablation"]) -> tuple[str, ...]:
    """Names of the models of a kind, in the order of the paper."""
    return tuple(name for name, model in MODELS.items() if model.kind == kind)


def find_model(name: str) -> Model:
    """A model by its name, or an error that lists those that there are."""
    if name not in MODELS:
        raise UserError(f"there is no model {name!r}; known: {', '.join(MODELS)}")
    return MODELS[name]


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
