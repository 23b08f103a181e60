"""COFHAE: the conditionally factorised hierarchical autoencoder."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from disentree.autoencoders.checks import check_parameters, check_structure
from disentree.autoencoders.data import ArraySource, BlockSource, Source, as_numeric, is_blocks
from disentree.autoencoders.fitting import find_structure, find_targets, run_training, settings_of
from disentree.autoencoders.hierarchical import HierarchicalAutoencoder, HierarchicalMask
from disentree.autoencoders.inputs import InputLayer, fit_input_layer
from disentree.autoencoders.losses import discriminator
from disentree.autoencoders.networks import CONVOLUTIONAL, build_networks
from disentree.autoencoders.saving import (
    SIMPLE_ATTRIBUTES,
    below,
    fingerprint,
    load_tensors,
    plain_parameters,
    read_model,
    restore_checkpoint,
    save_model,
)
from disentree.autoencoders.session import pick_device, pick_seed
from disentree.autoencoders.training import Batches, State
from disentree.hierarchy import Hierarchy

_ROWS_AT_A_TIME = 8192


class COFHAE(TransformerMixin, BaseEstimator):
    """Learn a code for X that follows a hierarchy, with independent variables in every leaf.

    Parameters
    ----------
    epochs, steps
        How long to train. None: as many epochs as it takes for `steps` minibatches.
    batch_size, learning_rate, schedule
        Training by Adam. `schedule` is "one-cycle", "steps" (a tenth at 50 % and at 75 %) or "constant".
    tau
        Temperature of the softmax over options while training; codes are always hard.
    lambda1, lambda2, lambda3
        Weights of the assignment loss, of the dependence penalty and of the targets.
    assignment
        "log" (the log probability of a row's path) or "squared" (the paper's).
    targets
        "ica": independent components of every leaf that is flat, see `disentree.autoencoders.targets`; "none".
    penalty
        Dependence between the variables of a leaf: "adversarial" (the paper's conditional total correlation),
        "hsic" (kernels, no adversary), "none", or "auto": adversarial if some leaf has no trusted targets.
        Leaves with trusted targets are not penalised.
    warm_up
        Fraction of training over which lambda2 grows from 0.
    discriminator, discriminator_betas
        Hidden widths and Adam's betas of the adversary.
    encoder, decoder
        "auto" or "mlp" (perceptron beside a linear map), "plain-mlp", "conv", "burgess" (the paper's for 64x64
        images), or modules of your own: see `HierarchicalAutoencoder`, and `input_` for what they are given.
    hidden, activation
        Of the perceptrons.
    input
        The fixed first layer: "whiten" (vectors), "pca" (images), "standardize", "raw" (only centred), "image"
        (pixels, for convolutions), or "auto".
    likelihood
        "gaussian", "bernoulli", or "auto": Bernoulli for 0/1 data and convolutional networks.
    sigma
        Standard deviation of the Gaussian likelihood in units of X, or None to measure reconstructions against
        the variance of the data.
    mimosa
        The estimator that finds the structure when `fit` is not given one. None: `MIMOSA()`.
    device
        "auto", "cpu", "cuda", "mps".
    random_state
        A whole number makes the result repeatable. The global generators are never used.
    verbose
        Show progress on stderr.
    checkpoint
        A folder in which the state is saved after every epoch. If it holds one of the same run already,
        training continues from there, bit for bit on a CPU.
    events
        A file that gets a line of JSON per epoch.
    tensorboard
        A folder for TensorBoard (needs the extra of that name).
    callbacks
        Functions called with (record, model) after every epoch, `record` being the new row of `history_`.

    Attributes
    ----------
    hierarchy_, paths_
        The structure, and the path of every row of X (-1 for none), as found or given.
    history_
        One dict per epoch: epoch, loss, reconstruction, assignment, dependence, target, seconds.
    mimosa_
        The fitted MIMOSA, or None if the structure was given.
    trust_
        How much the targets of each path were believed, from 0 to 1.
    autoencoder_, input_
        The trained networks and the fixed first layer.
    interrupted_, diverged_
        True if Ctrl-C or bad losses ended training early; the model is then that of the last good epoch.
    """

    hierarchy_: Hierarchy
    paths_: Int[np.ndarray, " n"]
    history_: list[dict[str, Any]]
    mimosa_: Any
    trust_: Float[np.ndarray, " paths"]
    autoencoder_: HierarchicalAutoencoder
    input_: InputLayer
    interrupted_: bool
    diverged_: bool

    def __init__(
        self,
        *,
        epochs: int | None = None,
        steps: int = 4000,
        batch_size: int = 256,
        learning_rate: float = 2e-3,
        schedule: str = "one-cycle",
        tau: float = 1.0,
        lambda1: float = 0.1,
        lambda2: float = 0.1,
        lambda3: float = 1.0,
        assignment: str = "log",
        targets: str = "ica",
        penalty: str = "auto",
        warm_up: float = 0.3,
        discriminator: Sequence[int] = (128, 128, 128),
        discriminator_betas: Sequence[float] = (0.5, 0.9),
        encoder: str | nn.Module = "auto",
        decoder: str | nn.Module = "auto",
        hidden: Sequence[int] = (256, 256),
        activation: str = "silu",
        input: str = "auto",
        likelihood: str = "auto",
        sigma: float | None = None,
        mimosa: Any = None,
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        events: str | os.PathLike[str] | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[[dict[str, Any], COFHAE], None]] = (),
    ):
        self.epochs = epochs
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.tau = tau
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lambda3 = lambda3
        self.assignment = assignment
        self.targets = targets
        self.penalty = penalty
        self.warm_up = warm_up
        self.discriminator = discriminator
        self.discriminator_betas = discriminator_betas
        self.encoder = encoder
        self.decoder = decoder
        self.hidden = hidden
        self.activation = activation
        self.input = input
        self.likelihood = likelihood
        self.sigma = sigma
        self.mimosa = mimosa
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.events = events
        self.tensorboard = tensorboard
        self.callbacks = callbacks

    @classmethod
    def quick(cls, **parameters: Any) -> COFHAE:
        """A short training, to see whether the data is worth a longer one."""
        return cls(**{"steps": 1000, "learning_rate": 4e-3, **parameters})

    @classmethod
    def paper(cls, *, images: bool = False, **parameters: Any) -> COFHAE:
        """The paper's algorithm and settings: 50 epochs of batches of 256, Adam at 1e-3 with two steps down,
        perceptrons of two layers of 256 (Burgess networks for `images`), squared assignment loss, conditional
        total correlation by a discriminator of three layers of 1000, no targets.

        The Gaussian loss is 100 times the squared error, as in the authors' code, on which their grid of
        lambdas (`COFHAESearch`) was tuned; the text's sigma = .1 would make it 50. Of the grid, tau = 2/3,
        lambda1 = 1000 and lambda2 = 10 are the default here. The text has "ReLU or Softplus": here it is ReLU,
        which sees the edges between nested leaves much sooner than softplus does (``activation="softplus"``).
        The encoder's input is whitened, which the paper's is not (``input="raw"``).
        """
        network = "burgess" if images else "plain-mlp"
        settings: dict[str, Any] = {
            "epochs": 50,
            "batch_size": 256,
            "learning_rate": 1e-3,
            "schedule": "steps",
            "tau": 2 / 3,
            "lambda1": 1000.0,
            "lambda2": 10.0,
            "lambda3": 0.0,
            "assignment": "squared",
            "targets": "none",
            "penalty": "adversarial",
            "warm_up": 0.0,
            "discriminator": (1000, 1000, 1000),
            "discriminator_betas": (0.9, 0.999),
            "encoder": network,
            "decoder": network,
            "activation": "relu",
            "sigma": 0.5**0.5 / 10,
        }
        return cls(**{**settings, **parameters})

    # ---------------------------------------------------------------- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        hierarchy: Hierarchy | Mapping[str, Any] | None = None,
        paths: ArrayLike | None = None,
    ) -> COFHAE:
        """Find the structure of X with MIMOSA, or take the one given, and train the autoencoder.

        Parameters
        ----------
        X
            Rows of numbers, or images ``(n, h, w)`` or ``(n, h, w, c)``: an array, also memory-mapped, a data
            frame, or an object that yields blocks of rows each time it is iterated over.
        y
            Ignored, for scikit-learn's sake.
        hierarchy, paths
            A structure, and the path of every row: an index into ``hierarchy.paths``, -1 for none.
        """
        check_parameters(self)
        if isinstance(y, Hierarchy):
            raise TypeError("give the hierarchy by name: fit(X, hierarchy=..., paths=...)")
        source = self._read(X)
        given = check_structure(hierarchy, paths, source.n_rows)
        device = pick_device(self.device)
        about = {
            "parameters": plain_parameters(self),
            "data": fingerprint(next(source.blocks()), source.n_rows),
            "structure": [given[0].to_dict(), fingerprint(given[1])] if given else None,
        }
        saved = self._find_checkpoint(about)
        seed = saved[1]["seed"] if saved else pick_seed(self.random_state)
        seeds = np.random.SeedSequence(seed).spawn(4)

        kind = "image" if self.input == "auto" and self.encoder in CONVOLUTIONAL else self.input
        layer = fit_input_layer(source, kind, self.likelihood, np.random.default_rng(seeds[1]))
        self.input_, self.seed_, self.device_ = layer.to(device), seed, device

        self.mimosa_ = None
        if saved:
            self.hierarchy_, self.paths_ = Hierarchy.from_dict(saved[1]["hierarchy"]), saved[0]["paths"].numpy()
        elif given:
            self.hierarchy_, self.paths_ = given
        else:
            found = find_structure(self, source, int(seeds[0].generate_state(1)[0]))
            self.hierarchy_, self.paths_, self.mimosa_ = found

        aims = find_targets(self, source, np.random.default_rng(seeds[2]))
        self.trust_ = aims.trust

        settings = settings_of(self, source.n_rows)
        self.autoencoder_, D = self._build(int(seeds[3].generate_state(1)[0]))
        generator = torch.Generator().manual_seed(int(seeds[3].generate_state(2)[1]))
        state = State.start(self.autoencoder_, D.to(device), settings, generator)
        if saved:
            restore_checkpoint(state, *saved)
        batches = Batches(source, layer, self.autoencoder_, self.paths_, aims.values, aims.trust, self.batch_size)
        about |= {"seed": seed, "hierarchy": self.hierarchy_.to_dict()}
        run_training(self, state, batches, settings, about)
        return self

    def _build(self, seed: int | None) -> tuple[HierarchicalAutoencoder, nn.Module]:
        """Networks with initial weights from `seed`, on the device; modules of the user's are copied."""
        mask = HierarchicalMask(self.hierarchy_)
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
            encoder, decoder = build_networks(
                copy.deepcopy(self.encoder),
                copy.deepcopy(self.decoder),
                self.input_,
                mask.n_items,
                tuple(self.hidden),
                self.activation,
            )
            D = discriminator(max(1, mask.n_continuous), tuple(self.discriminator))
        return HierarchicalAutoencoder(self.hierarchy_, encoder, decoder).to(self.device_), D

    # ---------------------------------------------------------------- using

    def transform(self, X: Any) -> Float[np.ndarray, "n v"]:
        """Codes of X for `hierarchy_`: NaN where a variable is not active."""
        check_is_fitted(self, "autoencoder_")
        return np.concatenate([self._encode(block) for block in self._read(X, reset=False).blocks()])

    @torch.no_grad()
    def _encode(self, block: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, "n v"]:
        self.autoencoder_.eval()
        codes = []
        for start in range(0, len(block), _ROWS_AT_A_TIME):
            x = self.input_.to_input(self.input_.prepare(block[start : start + _ROWS_AT_A_TIME]))
            codes.append(self.autoencoder_.mask.to_codes(*self.autoencoder_.encode_hard(x)))
        return np.concatenate(codes)

    def inverse_transform(self, Z: ArrayLike) -> Float[np.ndarray, "n ..."]:
        """Decode any valid codes, into the shape and units of X.

        The result is float64 if X was, else float32; 8-bit images come back as floats from 0 to 255.
        """
        check_is_fitted(self, "autoencoder_")
        a, z = self.autoencoder_.mask.from_codes(Z)
        out = [np.empty((0, *self.input_.shape))]
        self.autoencoder_.eval()
        with torch.no_grad():
            for some, values in zip(a.split(_ROWS_AT_A_TIME), z.split(_ROWS_AT_A_TIME), strict=True):
                out.append(self.input_.restore(self.autoencoder_.decode(some, values)))
        return np.concatenate(out[1:] or out)

    def predict_path(self, X: Any) -> Int[np.ndarray, " n"]:
        """The path of every row of X."""
        return self.hierarchy_.path_of(self.transform(X))

    def evaluate(self, X: Any, paths: ArrayLike | None = None) -> dict[str, float]:
        """What can be said without ground truth: the mean over rows of the squared error of the reconstruction,
        in units of X, and of the squared assignment error against `paths` (rows with -1 count as right). Both
        with hard codes, as the paper's rule for choosing among models has it (`COFHAESearch`)."""
        check_is_fitted(self, "autoencoder_")
        source = self._read(X, reset=False)
        structure = check_structure(self.hierarchy_, paths, source.n_rows) if paths is not None else None
        table, start = self.autoencoder_.mask.path_options().numpy(), 0
        squares, wrong = 0.0, 0.0
        for block in source.blocks():
            codes = self._encode(block)
            error = self.inverse_transform(codes) - block
            squares += float((error.astype(np.float64) ** 2).sum())
            if structure is not None:
                truth = structure[1][start : start + len(block)]
                known = truth >= 0
                got = table[self.hierarchy_.path_of(codes)[known]]
                wrong += float(((got - table[truth[known]]) ** 2).sum())
            start += len(block)
        out = {"reconstruction": squares / source.n_rows}
        return out if structure is None else {**out, "assignment": wrong / source.n_rows}

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the variables of `hierarchy_`."""
        check_is_fitted(self, "autoencoder_")
        return np.array([v.name for v in self.hierarchy_.variables], dtype=object)

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `model.safetensors` and `model.json` into a folder, which is made if need be."""
        check_is_fitted(self, "autoencoder_")
        save_model(self, Path(folder))

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        device: str = "auto",
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
    ) -> COFHAE:
        """Read what `save` wrote. A model with networks of your own needs modules of the same kind again."""
        about, tensors = read_model(Path(folder))
        parameters = dict(about["parameters"])
        for name, module in (("encoder", encoder), ("decoder", decoder)):
            if parameters[name] is None and module is None:
                raise ValueError(f"this model has its own {name}: give it again as load(..., {name}=module)")
            parameters[name] = module if module is not None else parameters[name]
        known = cls().get_params()
        model = cls(**{name: value for name, value in parameters.items() if name in known})
        model.device_, model.mimosa_ = pick_device(device), None
        model.hierarchy_ = Hierarchy.from_dict(about["hierarchy"])
        model.paths_, model.trust_ = tensors["paths"].numpy(), tensors["trust"].numpy()
        arrays = {key: value.numpy() for key, value in below(tensors, "input.").items()}
        model.input_ = InputLayer(about["input"], arrays).to(model.device_)
        model.autoencoder_, _ = model._build(None)
        model.autoencoder_.load_state_dict(below(tensors, "autoencoder."))
        model.autoencoder_.eval()
        model.n_features_in_ = about["n_features_in"]
        if about["feature_names_in"]:
            setattr(model, "feature_names_in_", np.array(about["feature_names_in"], dtype=object))  # noqa: B010
        for name in SIMPLE_ATTRIBUTES:
            setattr(model, f"{name}_", about[name])
        return model

    # ---------------------------------------------------------------- what comes in

    def _read(self, X: Any, reset: bool = True) -> Source:
        """X checked, and set against what the model was fitted on."""
        if is_blocks(X):
            source: Source = BlockSource(X)
            if reset:
                self.n_features_in_: int = source.shape[0]
        else:
            least = 2 if reset else 1
            checks = {"allow_nd": True, "ensure_min_samples": least, "dtype": "numeric"}
            X = validate_data(self, X, reset=reset, **checks)
            source = ArraySource(as_numeric(X))
        if not reset and source.shape != self.input_.shape:
            raise ValueError(f"X has rows of shape {source.shape}; this model was fitted on {self.input_.shape}")
        return source

    def _find_checkpoint(self, about: dict[str, Any]) -> Any:
        if self.checkpoint is None:
            return None
        file = Path(self.checkpoint) / "checkpoint.safetensors"
        if not file.exists():
            Path(self.checkpoint).mkdir(parents=True, exist_ok=True)
            return None
        tensors, saved = load_tensors(file)
        for what in ("parameters", "data", "structure"):
            if saved.get(what) != about[what]:
                raise ValueError(
                    f"{self.checkpoint} holds the checkpoint of a run with other {what}; "
                    f"choose another folder, or delete it to start again"
                )
        return tensors, saved
