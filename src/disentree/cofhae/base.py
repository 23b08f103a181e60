"""What COFHAE and the baselines share: parameters of training, codes and decoding, saving and loading."""

from __future__ import annotations

import copy
import inspect
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder
from disentree.cofhae.checks import tell_far_out
from disentree.cofhae.inputs import InputLayer, fit_input_layer
from disentree.cofhae.preprocessor import Preprocessor
from disentree.cofhae.saving import load_model, save_model
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.code_statistics import code_statistics
from disentree.rows.dask_parts import is_dask, lazily
from disentree.tables.frames import as_pandas
from disentree.training.batches import StreamedBatches, TensorBatches, batches_of
from disentree.training.data import ArraySource, BlockSource, Source, as_numeric, is_blocks, sample_rows
from disentree.training.networks import CONVOLUTIONAL, build_decoder, build_encoder, check_shape


def paper_training(images: bool) -> dict[str, Any]:
    """How the published program trains every model: 50 epochs of batches of 256, Adam at 1e-3 with two steps down,
    X as it is, perceptrons of two layers of 256 with softplus (for images Burgess networks, whose decoder has
    ReLU), and 100 times the squared error (the text's sigma = .1 would make it 50)."""
    network = "burgess" if images else "plain-mlp"
    activation = ("softplus", "relu") if images else "softplus"
    training = {"epochs": 50, "batch_size": 256, "learning_rate": 1e-3, "schedule": "steps"}
    networks = {"encoder": network, "decoder": network, "activation": activation, "input": "raw"}
    return {**training, **networks, "sigma": 0.5**0.5 / 10}


def own_network(given: Any, n_in: Any, n_out: Any) -> nn.Module:
    """A copy of a user's module, or what a user's function makes of the numbers of inputs and outputs, which of
    images are shapes."""
    if isinstance(given, nn.Module):
        return copy.deepcopy(given)
    return given(*(n[0] if isinstance(n, tuple) and len(n) == 1 else n for n in (n_in, n_out)))


class AutoencoderEstimator(TransformerMixin, BaseEstimator):
    """The part of an estimator that does not depend on its loss."""

    _arrays: ClassVar[tuple[str, ...]] = ()  # fitted attributes, without the underscore, that are saved
    _too_strong: ClassVar[str] = "learning_rate"  # what to lower if training diverges

    hierarchy_: Hierarchy
    history_: list[dict[str, Any]]
    autoencoder_: Any  # a HierarchicalAutoencoder
    input_: InputLayer
    interrupted_: bool
    diverged_: bool
    code_statistics_: dict[str, Any] | None
    preprocessor_: Preprocessor = Preprocessor()
    mimosa_: Any = None  # that found the tree and assigns rows to its paths
    maps_: str = "network"  # or "linear": what encoder and decoder are
    seed_: int
    device_: torch.device

    def __init__(
        self,
        *,
        epochs: int | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        schedule: str = "one-cycle",
        encoder: str | nn.Module | Callable[..., nn.Module] = "auto",
        decoder: str | nn.Module | Callable[..., nn.Module] = "auto",
        hidden: Sequence[int] = (256, 256),
        activation: str | Sequence[str] = "silu",
        input: str = "auto",
        likelihood: str = "auto",
        sigma: float | None = None,
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        events: str | os.PathLike[str] | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Any] = (),
        patience: int | None = None,
    ):
        self.epochs = epochs
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.encoder = encoder
        self.decoder = decoder
        self.hidden = hidden
        self.activation = activation
        self.input = input
        self.likelihood = likelihood
        self.sigma = sigma
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.events = events
        self.tensorboard = tensorboard
        self.callbacks = callbacks
        self.patience = patience

    def __init_subclass__(cls, **more: Any) -> None:
        """Let scikit-learn and help() see the parameters of the base classes beside the model's own."""
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):
            own = [p for p in inspect.signature(cls.__init__).parameters.values() if p.kind != p.VAR_KEYWORD]
            names = {p.name for p in own}
            shared = inspect.signature(super(cls, cls).__init__).parameters.values()
            merged = inspect.Signature([*own, *(p for p in shared if p.name not in names)])
            setattr(cls.__init__, "__signature__", merged)  # noqa: B010

    # ---------------------------------------------------------------- using

    def transform(self, X: Any) -> Any:
        """Codes of X for `hierarchy_`.

        Parameters
        ----------
        X : array-like, data frame, dask array or blocks of rows
            Rows of the same kind as in `fit`.

        Returns
        -------
        array of shape (n, n_variables)
            NaN where a variable is not active. A dask array if X is one. Rows that are too far out to be encoded
            have codes that are not finite, and a `FarOut` warning says how many.
        """
        check_is_fitted(self, "autoencoder_")
        if is_dask(X):
            return lazily(X, self.transform, self.hierarchy_.n_variables, np.float64)
        return self._codes(X, None)

    def _codes(self, X: Any, paths: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, "n v"]:
        """Codes on given paths, or on those that the encoder finds."""
        out, start = [], 0
        for block in self._read_again(X).blocks():
            out.append(self._encode(block, None if paths is None else paths[start : start + len(block)]))
            start += len(block)
        codes = np.concatenate(out)
        tell_far_out(self.hierarchy_, codes)
        return codes

    @torch.no_grad()
    def _encode(
        self, block: Shaped[np.ndarray, "n ..."], paths: Int[np.ndarray, " n"] | None = None
    ) -> Float[np.ndarray, "n v"]:
        self.autoencoder_.eval()
        codes = []
        for start in range(0, len(block), constants.ROWS_AT_A_TIME):
            some = slice(start, start + constants.ROWS_AT_A_TIME)
            x = self.input_.prepare(block[some])
            if paths is None:
                a, z = self._encode_hard(x)
            else:
                chosen = torch.from_numpy(paths[some]).to(x.device)
                a, z = self.autoencoder_.encode_on(self.input_.to_input(x), chosen)
            codes.append(self.autoencoder_.mask.to_codes(a, z))
        return np.concatenate(codes)

    def _encode_hard(self, x: Shaped[Tensor, "n ..."]) -> tuple[Float[Tensor, "n options"], Float[Tensor, "n z"]]:
        return self.autoencoder_.encode_hard(self.input_.to_input(x))

    def inverse_transform(self, Z: ArrayLike) -> Any:
        """Decode any valid codes.

        Parameters
        ----------
        Z : array-like of shape (n, n_variables)
            Codes for `hierarchy_`.

        Returns
        -------
        array of shape (n, ...)
            In the shape and units of X: float64 if X was, else float32. 8-bit images are floats from 0 to 255.
            For a data frame one with the same columns and types, with empty cells where a column is not active.
        """
        check_is_fitted(self, "autoencoder_")
        return self.preprocessor_.from_features(self._decode(Z), self.hierarchy_, Z)

    def _decode(self, Z: ArrayLike) -> Float[np.ndarray, "n ..."]:
        a, z = self.autoencoder_.mask.from_codes(Z)
        out = [np.empty((0, *self.input_.shape))]
        self.autoencoder_.eval()
        with torch.no_grad():
            for items in torch.cat([a, z], dim=1).split(constants.ROWS_AT_A_TIME):
                decoded = self.autoencoder_.decoder(self.autoencoder_.to_networks(items))
                out.append(self.input_.restore(decoded))
        return np.concatenate(out[1:] or out)

    def predict_path(self, X: Any) -> Int[np.ndarray, " n"]:
        """The path of every row of X.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of the same kind as in `fit`.

        Returns
        -------
        array of int of shape (n,)
            Indices into ``hierarchy_.paths``.
        """
        return self.hierarchy_.path_of(self.transform(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the variables of `hierarchy_`.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        array of str
        """
        check_is_fitted(self, "autoencoder_")
        return np.array([v.name for v in self.hierarchy_.variables], dtype=object)

    def in_features(self) -> Any:
        """The same model for the numbers that `preprocessor_` makes of rows: it takes those, and gives those. Its
        paths are those of its encoder, unless they are given.

        Returns
        -------
        A copy that shares the networks.
        """
        plain = copy.copy(self)
        plain.preprocessor_, plain.mimosa_ = Preprocessor(), None
        return plain

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `model.safetensors`, `model.json` and, for readers, `MODEL_CARD.md`.

        Parameters
        ----------
        folder : path
            Created if it does not exist.
        """
        check_is_fitted(self, "autoencoder_")
        save_model(self, Path(folder))

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        device: str = "auto",
        encoder: Any = None,
        decoder: Any = None,
    ) -> Any:
        """Read what `save` wrote.

        Parameters
        ----------
        folder : path
            That was given to `save`.
        device : {"auto", "cpu", "cuda", "mps"}, default="auto"
            Where to put the networks.
        encoder, decoder : Module or callable, default=None
            For a model with networks of your own: modules of the same architecture, whose weights are set.

        Returns
        -------
        The fitted model.
        """
        return load_model(cls, Path(folder), device, {"encoder": encoder, "decoder": decoder})

    def _check_parameters(self) -> None:
        """An error about the first parameter that is not allowed."""
        raise NotImplementedError

    def _build(self, seed: int | None) -> tuple[HierarchicalAutoencoder, nn.Module | None]:
        """Networks with initial weights from `seed`, on the device, and the adversary if there is one."""
        raise NotImplementedError

    # ---------------------------------------------------------------- input and networks

    def _fit_input(self, source: Source, rng: np.random.Generator, kind: str | None = None) -> InputLayer:
        """The fixed first layer, measured on X: that of the parameters, or another kind."""
        kind = kind or self.input
        kind = "image" if kind in ("auto", "raw") and self.encoder in CONVOLUTIONAL else kind
        likelihood = self.likelihood if self.preprocessor_.table is None else "gaussian"
        return fit_input_layer(source, kind, likelihood, rng, centered=self.input != "raw")

    def _networks(self, n_encoded: int, n_decoded: int) -> tuple[nn.Module, nn.Module]:
        """Encoder and decoder; the user's own modules are copied, or made by the user's functions."""
        layer, hidden = self.input_, tuple(self.hidden)
        by_default = ("conv", "sharp") if layer.kind == "image" else ("mlp", "mlp")
        first, second = (self.activation,) * 2 if isinstance(self.activation, str) else self.activation
        if isinstance(self.encoder, str):
            name = by_default[0] if self.encoder == "auto" else self.encoder
            encoder = build_encoder(name, layer.input_shape, n_encoded, hidden, first)
        else:
            encoder = own_network(self.encoder, layer.input_shape, n_encoded)
            check_shape("encoder", encoder, layer.input_shape, None)  # what it gives is checked where it is used
        if isinstance(self.decoder, str):
            name = by_default[1] if self.decoder == "auto" else self.decoder
            decoder = build_decoder(name, n_decoded, layer.output_shape, hidden, second)
        else:
            decoder = own_network(self.decoder, n_decoded, layer.output_shape)
            check_shape("decoder", decoder, (n_decoded,), layer.output_shape)
        return encoder, decoder

    def _read(self, X: Any, reset: bool = True) -> Source:
        """X checked, and set against what the model was fitted on."""
        X = as_pandas(X)
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

    def _read_again(self, X: Any) -> Source:
        """Rows of the same kind as in `fit`."""
        return self._read(self.preprocessor_.to_features(X), reset=False)

    # ---------------------------------------------------------------- training

    @property
    def pace(self) -> constants.Pace:
        """Rows of a minibatch, and the highest learning rate."""
        own = self._pace()
        return constants.Pace(self.batch_size or own.batch, self.learning_rate or own.rate)

    def _pace(self) -> constants.Pace:
        return constants.VECTORS

    def _n_steps(self, n_rows: int, longer: int = 1) -> int:
        """Minibatches in the whole training: whole epochs, with `longer` times `steps` unless `epochs` is set."""
        per_epoch = math.ceil(n_rows / self.pace.batch)
        return per_epoch * (self.epochs or math.ceil(longer * (self.steps or 1) / per_epoch))

    def _batches(self, source: Source, labels: Any = lambda rows: ()) -> TensorBatches | StreamedBatches:
        n_numbers = math.prod(self.input_.output_shape)
        return batches_of(source, self.input_.prepare, n_numbers, self.pace.batch, labels)

    def _describe_codes(self, source: Source) -> None:
        rows = sample_rows(source, constants.STATISTICS_ROWS, np.random.default_rng(self.seed_))
        self.code_statistics_ = code_statistics(self.hierarchy_, self._encode(rows))
