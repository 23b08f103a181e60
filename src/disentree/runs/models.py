"""The models that a run can train: their names, classes and titles, in one place."""

from __future__ import annotations

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
    ``fit(X, hierarchy=, paths=)``, ``transform``, ``inverse_transform``, ``save`` and ``load``, and once fitted
    the attributes ``hierarchy_`` and ``history_``.

    Attributes
    ----------
    title : str
        What tables and figures call it.
    module, class_name : str
        Where its class is; imported when it is needed, because it imports torch.
    kind : {"cofhae", "baseline", "ablation"}
        Ablations are those of COFHAE in the paper.
    needs_codes : bool, default=False
        Whether it is trained on the true codes.
    """

    title: str
    module: str
    class_name: str
    kind: Literal["cofhae", "baseline", "ablation"]
    needs_codes: bool = False

    def load_class(self) -> Any:
        """The class itself."""
        with needing(self.title):
            return getattr(import_module(self.module), self.class_name)


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
    """A model by its name.

    Raises
    ------
    UserError
        If there is no model of this name; it lists those that there are.
    """
    if name not in MODELS:
        raise UserError(f"there is no model {name!r}; known: {', '.join(MODELS)}")
    return MODELS[name]


def load_model(name: str, folder: Path, device: str = "auto") -> Any:
    """Load the model that a run has saved in its folder."""
    for file in ("model.safetensors", "model.json"):
        if not (folder / file).is_file():
            raise UserError(f"{folder / file} is missing; `disentree run` with the same settings makes it again")
    cls = find_model(name).load_class()
    from disentree.training.session import pick_device

    pick_device(device)  # an error if there is none
    try:
        return cls.load(folder, device=device).in_features()  # as a run's own files are
    except (UserError, OSError, MemoryError):
        raise
    except Exception as error:  # the files are not what a model of this class has saved
        problem = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        again = "`disentree run` with the same settings makes it again"
        raise UserError(f"the model in {folder} cannot be loaded ({problem.splitlines()[0]}): {again}") from None
