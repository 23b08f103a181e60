"""COFHAE: the conditionally factorized hierarchical autoencoder."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from disentree.cofhae import constants
from disentree.cofhae.additive import AdditiveForm, fit_additive_form
from disentree.cofhae.algorithm2 import Labels, make_measure, make_step
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.base import AutoencoderEstimator, paper_training
from disentree.cofhae.checks import check_codes, check_matches, check_parameters, check_structure
from disentree.cofhae.explain import explain_variables
from disentree.cofhae.fitting import find_representation, find_structure, find_targets, make_mimosa, settings_of
from disentree.cofhae.inputs import embedding_layer
from disentree.cofhae.linear import ClosedForm, are_enough, fit_closed_form
from disentree.cofhae.losses import discriminator
from disentree.cofhae.pixels import can_be_sharp, fit_pixels, sharper
from disentree.cofhae.shared_docs import documented
from disentree.geometry.additive_maps import has_too_many_paths
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates import IMAGES
from disentree.mimosa.explain import Explanation, explain_tree
from disentree.mimosa.explain_columns import read_columns
from disentree.mimosa.inputs import is_frame
from disentree.mimosa.naming import renamed
from disentree.mimosa.table_model import TableModel, table_without_branches
from disentree.tables import Codec
from disentree.tables.frames import as_pandas
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint, restore_checkpoint
from disentree.training.data import Source, rows_of
from disentree.training.session import pick_device, pick_seed
from disentree.training.settling import Plan


@documented
class COFHAE(AutoencoderEstimator):
    """Learn a code for X that follows a hierarchy, with independent variables in every leaf.

    Parameters
    ----------
    {cofhae_parameters}
    tau : float, default=1.0
        Temperature of the softmax over options in training; codes are always hard.
    lambda1 : float, default=0.1
        Weight of the assignment loss.
    lambda2 : float, default=0.1
        Weight of the dependence penalty.
    lambda3 : float, default=1.0
        Weight of the distance to the targets.
    assignment : {"log", "squared"}, default="log"
        Assignment loss: minus the log probability of a row's path, or the paper's squared error.
    targets : {"ica", "codes", "none"}, default="ica"
        Targets for the continuous variables: independent components of every leaf that is flat
        (`disentree.cofhae.targets`) and of the layout of those that are curved (`disentree.cofhae.unrolling`);
        the codes given to `fit` (supervision); or none. If leaves are curved, training is three times as long,
        unless `epochs` is set.
    penalty : {"auto", "adversarial", "marginal", "hsic", "none"}, default="auto"
        Penalty on dependence between the variables of a leaf: the paper's conditional total correlation,
        FactorVAE's total correlation, which ignores where variables are active, or kernels without an adversary.
        "auto" is "adversarial" if some leaf has no trusted targets, else "none". Leaves with trusted targets are
        not penalized.
    warm_up : float, default=0.2
        Fraction of training over which lambda2 grows from 0.
    guided : float, default=0.4
        Fraction of training, from its start, in which the codes of curved leaves are guided by their layout and
        dependence is not penalized yet.
    masks : {"given", "soft"}, default="given"
        How a row's code is masked in training: by its path, or as in the paper by the probabilities of the
        options, in which some of a value can hide.
    discriminator : sequence of int, default=(128, 128, 128)
        Hidden widths of the adversary.
    discriminator_betas : sequence of float, default=(0.5, 0.9)
        Adam's betas for the adversary.
    sharp : bool, default=True
        Whether images are decoded by a convolutional network from codes to pixels. It is trained when the codes
        are learned, which the encoder then refines, and kept if held-out images are closer to their originals than
        without it (`disentree.cofhae.pixels`). Convolutional decoders are sharp without it.
    sigma : float or None, default=None
        Standard deviation of the Gaussian likelihood in units of X. None measures reconstructions against the
        variance of the data.
    mimosa : MIMOSA or None, default=None
        The estimator that finds the structure when `fit` is not given one. None: `MIMOSA()`.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The structure, as found or given.
    paths_ : array of int of shape (n,)
        The path of every row of X, -1 for none, as found or given.
    mimosa_ : MIMOSA or None
        The fitted estimator, or None if the structure was given.
    trust_ : array of shape (n_paths,)
        How much the targets of each path are trusted, from 0 to 1.
    history_ : list of dict
        One per epoch: epoch, loss, reconstruction, assignment, dependence, target, seconds, and held_out if rows
        were held out. Empty for linear maps.
    {model_attributes}

    See Also
    --------
    disentree.MIMOSA : Finds the structure.
    COFHAESearch : Chooses tau, lambda1 and lambda2 without ground truth.

    Examples
    --------
    >>> from disentree import COFHAE
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=500, seed=0)
    >>> model = COFHAE(device="cpu")
    >>> Z = model.fit_transform(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    >>> Z.shape
    (500, 3)
    >>> model.maps_, model.inverse_transform(Z).shape == ds.X.shape
    ('linear', True)
    """

    _arrays: ClassVar[tuple[str, ...]] = ("paths", "trust")
    _too_strong: ClassVar[str] = "learning_rate or lambda2"

    paths_: Int[np.ndarray, " n"]
    mimosa_: Any = None
    _rows: Any = None  # that it was fitted to, for `explain`; neither saved nor copied
    trust_: Float[np.ndarray, " paths"]

    def __init__(
        self,
        *,
        epochs: int | None = None,
        steps: int | None = None,
        max_steps: int = 4000,
        maps: str = "auto",
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
        warm_up: float = 0.2,
        guided: float = 0.4,
        masks: str = "given",
        discriminator: Sequence[int] = (128, 128, 128),
        discriminator_betas: Sequence[float] = (0.5, 0.9),
        encoder: str | nn.Module = "auto",
        decoder: str | nn.Module = "auto",
        hidden: Sequence[int] = (256, 256),
        activation: str = "silu",
        input: str = "auto",
        likelihood: str = "auto",
        sharp: bool = True,
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
        self.max_steps = max_steps
        self.maps = maps
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
        self.guided = guided
        self.masks = masks
        self.discriminator = discriminator
        self.discriminator_betas = discriminator_betas
        self.encoder = encoder
        self.decoder = decoder
        self.hidden = hidden
        self.activation = activation
        self.input = input
        self.likelihood = likelihood
        self.sharp = sharp
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
        """A model with a short training, for a first look at the data.

        Parameters
        ----------
        **parameters
            Those of the class, where they differ from a quick training's: at most 1000 steps, a learning rate of
            .004.

        Returns
        -------
        COFHAE
        """
        return cls(**{"max_steps": 1000, "learning_rate": 4e-3, **parameters})

    @classmethod
    def paper(cls, *, images: bool = False, **parameters: Any) -> COFHAE:
        """A model with the paper's algorithm and settings.

        50 epochs of batches of 256, Adam at .001 with two drops, perceptrons of two layers of 256, squared
        assignment loss, conditional total correlation by a discriminator of three layers of 1000, no targets.

        The Gaussian loss is 100 times the squared error, as in the authors' code, on which their grid of
        lambdas (`COFHAESearch`) was tuned; the text's sigma = .1 would make it 50. Of the grid, tau = 2/3,
        lambda1 = 1000 and lambda2 = 10 are the default here. Of the text's "ReLU or Softplus" it is ReLU, which
        separates nested leaves much sooner. The encoder's input is whitened, which the paper's is not: see
        ``input="raw"``.

        Parameters
        ----------
        images : bool, default=False
            Use the convolutional networks of the paper, for images of 64x64.
        **parameters
            Those of the class, where they differ from the paper's.

        Returns
        -------
        COFHAE
        """
        settings: dict[str, Any] = {
            **paper_training(images),
            "maps": "network",
            "tau": 2 / 3,
            "lambda1": 1000.0,
            "lambda2": 10.0,
            "lambda3": 0.0,
            "assignment": "squared",
            "targets": "none",
            "penalty": "adversarial",
            "warm_up": 0.0,
            "masks": "soft",
            "sharp": False,
            "discriminator": (1000, 1000, 1000),
            "discriminator_betas": (0.9, 0.999),
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
        codes: ArrayLike | None = None,
        representation: Any = None,
        table: TableModel | None = None,
        matches: Sequence[Sequence[int]] | None = None,
    ) -> COFHAE:
        """Find the structure of X with MIMOSA, or take the one given, and train the autoencoder.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of numbers, or images ``(n, h, w)`` or ``(n, h, w, c)``: an array, also memory-mapped, a data
            frame, or an object that yields blocks of rows each time it is iterated over.
        y : ignored
            For scikit-learn.
        hierarchy : Hierarchy or dict, default=None
            The structure, if it is known.
        paths : array-like of int of shape (n,), default=None
            The path of every row: an index into ``hierarchy.paths``, -1 for none.
        codes : array-like of shape (n, n_variables), default=None
            With ``targets="codes"``, the code that every row should get. `paths` may then be left out.
        representation : Representation, default=None
            A fitted MIMOSA's `representation_`. With ``input="embedding"`` it saves the time of training one; that
            MIMOSA took the principal components of many images says that the latter should be the input.
        table : TableModel, default=None
            With a data frame and its structure, the `table_` of the MIMOSA that found it.
        matches : list of list of int, default=None
            With a structure, the `matches_` of the MIMOSA that found it: variables that are the same on different
            branches, and get the same zero, sign and unit.

        Returns
        -------
        COFHAE
            The fitted model itself.
        """
        check_parameters(self)
        if isinstance(y, Hierarchy):
            raise TypeError("give the hierarchy by name: fit(X, hierarchy=..., paths=...)")
        X = as_pandas(X)
        self._rows = X if is_frame(X) or isinstance(X, np.ndarray) else None
        X, hierarchy, paths = self._read_frame(X, hierarchy, paths, table)
        source = self._read(X)
        codes, paths = check_codes(self.targets, hierarchy, paths, codes, source.n_rows)
        given = check_structure(hierarchy, paths, source.n_rows)
        self.matches_ = check_matches(matches, given[0] if given else None)
        if matches is None and self.mimosa_ is not None:  # it was fitted to a data frame
            self.matches_ = list(getattr(self.mimosa_, "matches_", []))
        device = pick_device(self.device)
        structure = [given[0].to_dict(), fingerprint([given[1]])] if given else None
        identity = self._identity(source, structure, None if codes is None else fingerprint([codes]))
        saved = self._find_checkpoint(identity)
        seed = saved[1]["seed"] if saved else pick_seed(self.random_state)
        seeds = np.random.SeedSequence(seed).spawn(7)

        self.seed_, self.device_, self.pixels_ = seed, device, None
        mimosa_seed = int(seeds[0].generate_state(1)[0])
        if saved:
            self.hierarchy_, self.paths_ = Hierarchy.from_dict(saved[1]["hierarchy"]), saved[0]["paths"].numpy()
            self.matches_ = saved[1].get("matches", [])
        elif given:
            self.hierarchy_, self.paths_ = given
        else:
            found = find_structure(self, source, mimosa_seed)
            self.hierarchy_, self.paths_, self.mimosa_ = found
            self.matches_ = list(getattr(self.mimosa_, "matches_", []))
            representation = representation or getattr(self.mimosa_, "representation_", None)

        if self._wants_embedding(source, representation):
            if not hasattr(getattr(representation, "network", None), "decode"):
                representation = find_representation(self, source, mimosa_seed)
            layer = embedding_layer(source, representation)
        else:
            layer = self._fit_input(source, np.random.default_rng(seeds[1]))
        self.input_ = layer.to(device)

        if self._adds_up(source):
            form = fit_additive_form(layer, source, self.hierarchy_, self.paths_, np.random.default_rng(seeds[5]))
            self._take_closed_form(form, source)
            return self
        held = self._held_out(source, np.random.default_rng(seeds[4]))
        closed = self._closed_form(source, np.random.default_rng(seeds[5]), held)
        if closed is not None and (self.maps == "linear" or are_enough(closed.held_out, source.n_rows)):
            self._take_closed_form(closed, source)
            return self

        if closed is not None:  # they are compared by the errors of columns, in which noise weighs what it is
            layer.weigh(closed.coordinates.squares)

        targets = find_targets(self, source, np.random.default_rng(seeds[2]), codes)
        self.trust_ = targets.trust
        settings = settings_of(self, guided=targets.has_guides)
        build = partial(self._build, with_adversary=settings.penalty in ("adversarial", "marginal"))
        self.autoencoder_, D = build(int(seeds[3].generate_state(1)[0]))
        generator = torch.Generator().manual_seed(int(seeds[3].generate_state(2)[1]))
        longer = constants.CURVED_STEPS if targets.has_guides else 1
        batches = self._batches(source, Labels(self.autoencoder_, self.paths_, targets, device))
        plan, measure = None, None
        if isinstance(batches, TensorBatches) and len(held):
            left_out = torch.from_numpy(held).to(device)
            measure = make_measure(settings, layer, (batches.data[left_out], *batches.labels(left_out)))
            batches = batches.without(left_out)
            steps = self._most_steps(batches.n_batches, longer)
            if source.n_rows < constants.MANY_ROWS:
                plan = Plan(steps, batches.n_batches, settings.guided + settings.warm_up)
        elif self._has_length:
            steps = self._n_steps(source.n_rows, longer)
        else:
            steps = self._most_steps(batches.n_batches, longer)
        state = self._start(D, steps, generator, self.discriminator_betas, plan)
        if saved:
            restore_checkpoint(state, *saved)
        about = {**identity, "seed": seed, "hierarchy": self.hierarchy_.to_dict(), "matches": self.matches_}
        step = make_step(settings, layer)
        tensors = {"paths": torch.from_numpy(self.paths_)}
        self._train(state, source, batches, step, steps, about, tensors, measure or (lambda state: {}), plan)
        if closed is not None and not self.interrupted_ and not self._network_is_better(closed, source, held):
            self._take_closed_form(closed, source)
        if self.sharp and not self.interrupted_ and self.decoder in ("auto", "mlp") and can_be_sharp(layer):
            self._sharpen(source, held, int(seeds[6].generate_state(1)[0]), identity)
        return self

    def _sharpen(
        self, source: Source, held: Int[np.ndarray, " m"], seed: int, identity: Mapping[str, Any]
    ) -> None:
        """Train the decoder to pixels, and with it the encoder, and keep both if they are better. `identity` is
        that of the model's own training."""
        if self._has_length:
            n_rows = self._n_steps(source.n_rows) * self.batch_size
        else:
            n_rows = min(constants.SHARP_ROWS * self.max_steps, constants.SHARP_EPOCHS * source.n_rows)

        @torch.no_grad()
        def usual(x: Float[Tensor, "n ..."]) -> Float[np.ndarray, "n ..."]:
            return self._images(torch.cat(self.autoencoder_.encode_hard(x), dim=1))

        more = {"checkpoint": self.checkpoint, "identity": identity, "verbose": self.verbose}
        fit = partial(fit_pixels, self.input_, source, self.autoencoder_, held, n_rows, seed, usual, **more)
        sharp, self.interrupted_ = sharper(fit, usual)
        if sharp is not None:
            self.pixels_, self.autoencoder_.encoder = sharp.decoder, sharp.encoder
            self._describe_codes(source)

    def _read_frame(self, X: Any, hierarchy: Any, paths: Any, table: TableModel | None) -> tuple[Any, Any, Any]:
        """Features for a data frame with columns of any kind, and its structure; anything else as it is."""
        self.table_ = self.codec_ = self.units_ = self.mimosa_ = None
        if not is_frame(X):
            return X, hierarchy, paths
        codec = Codec.fit(X)
        if codec.schema.is_plain:
            self.codec_ = codec
            return X, hierarchy, paths
        if hierarchy is None:
            self.mimosa_ = make_mimosa(self, pick_seed(self.random_state)).fit(X)
            hierarchy, paths, self.table_ = self.mimosa_.hierarchy_, self.mimosa_.labels_, self.mimosa_.table_
            codec = self.table_.codec
        else:
            self.table_ = table_without_branches(X, codec) if table is None else table
            codec = self.table_.codec
        return codec.features(codec.read(X)), hierarchy, paths

    def explain(self, X: Any = None) -> Explanation:
        """The reasons for the tree, and what each variable does to the columns of X, in their units.

        Parameters
        ----------
        X : as for `fit`, default=None
            Rows to explain the model by; None takes those that it was fitted to. A model that was saved and loaded
            has none.

        Returns
        -------
        Explanation
            `print` shows it as sentences; `.variables` is a list of dicts: name, label, group, text, and moves,
            the columns that a variable moves from its 10th to its 90th percentile while the others are at their
            medians. Of images only the share of pixels is told.
        """
        check_is_fitted(self, "autoencoder_")
        X = self._rows if X is None else X
        if X is None:
            raise ValueError("a model that was loaded has no rows: give X, the rows to explain it by")
        codec = self.codec_ if self.table_ is None else self.table_.codec
        read = partial(read_columns, codec=codec)
        columns = None if not is_frame(X) and np.ndim(X) > 2 else read(X)
        codes = self.transform(X)
        found = explain_tree(columns, self.hierarchy_, self.hierarchy_.path_of(codes))
        variables = explain_variables(self.hierarchy_, codes, self.inverse_transform, columns, read)
        return replace(found, variables=variables)

    def rename(self, names: Mapping[str, str]) -> COFHAE:
        """Give other names to variables or options of `hierarchy_`.

        Parameters
        ----------
        names : dict of str to str
            New by old name: of a variable, of an option, or ``"variable=option"`` where several variables have
            such an option.

        Returns
        -------
        COFHAE
            The model itself.
        """
        check_is_fitted(self, "autoencoder_")
        self.hierarchy_ = renamed(self.hierarchy_, names)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_rows"}

    @torch.no_grad()
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n paths"]:
        """The probability that the encoder gives to each path.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of the same kind as in `fit`.

        Returns
        -------
        array of shape (n, n_paths)
            Rows sum to 1.
        """
        check_is_fitted(self, "autoencoder_")
        self.autoencoder_.eval()
        choices = self.autoencoder_.mask.path_options().T
        out = []
        for block in self._read(self._features(X), reset=False).blocks():
            code = self.autoencoder_.encode(self.input_.to_input(self.input_.prepare(block)))
            joint = (code.log_p.cpu().double() @ choices.double()).exp()
            out.append((joint / joint.sum(dim=1, keepdim=True)).numpy())
        return np.concatenate(out)

    # ---------------------------------------------------------------- maps in closed form

    @property
    def _has_length(self) -> bool:
        """Whether the length of the training is given."""
        return self.steps is not None or self.epochs is not None

    def _most_steps(self, per_epoch: int, longer: int) -> int:
        return per_epoch * min(math.ceil(longer * self.max_steps / per_epoch), constants.MOST_EPOCHS)

    def _closed_form(
        self, source: Source, rng: np.random.Generator, held: Int[np.ndarray, " m"]
    ) -> ClosedForm | None:
        """The maps, if they are wanted and can be had: for vectors and the default losses."""
        layer = self.input_
        if layer.network is not None or layer.in_pixels or layer.is_image:
            if self.maps == "linear":
                raise ValueError(
                    "maps='linear' is for vectors with a Gaussian likelihood, not for images or 0/1 data"
                )
            return None
        if self.maps == "network" or (self.maps == "auto" and not self._may_be_linear):
            return None
        left_out = held if len(held) else None
        return fit_closed_form(layer, source, self.hierarchy_, self.paths_, rng, left_out, self.matches_)

    def _adds_up(self, source: Source) -> bool:
        """Whether the paths are too many for a map each, or cells tell the options, and nothing asks for
        networks."""
        linear = self.maps == "linear" or (self.maps == "auto" and self._may_be_linear)
        branches = self.table_ is not None and bool(self.table_.branches)
        many = branches or has_too_many_paths(self.hierarchy_, self.input_.n_features)
        return linear and many and len(source.shape) == 1

    @property
    def _may_be_linear(self) -> bool:
        """Whether no setting asks for networks of some kind."""
        named = self.encoder in ("auto", "mlp") and self.decoder in ("auto", "mlp")
        own = self.targets == "ica" and self.penalty == "auto" and self.masks == "given"
        return named and own and not self._has_length

    def _held_out(self, source: Source, rng: np.random.Generator) -> Int[np.ndarray, " m"]:
        """Rows that are left out of a training whose length is not given: a tenth, within limits."""
        if self._has_length or self.maps == "linear":
            return np.zeros(0, dtype=np.int64)
        most = constants.MOST_HELD_OUT
        n = min(most, max(source.n_rows // 10, min(constants.FEWEST_HELD_OUT, source.n_rows // 5)))
        return np.sort(rng.choice(source.n_rows, n, replace=False))

    def _take_closed_form(self, closed: ClosedForm | AdditiveForm, source: Source) -> None:
        none = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0, 0), dtype=np.float32)
        self.input_.subspace_centers, self.input_.subspace_bases = map(torch.from_numpy, none)
        self.input_.to(self.device_)
        self.autoencoder_ = closed.autoencoder().to(self.device_).eval()
        self.maps_, self.history_ = "linear", []
        self.trust_ = np.ones(len(self.hierarchy_.paths))
        self.interrupted_ = self.diverged_ = False
        self._describe_codes(source)

    def _network_is_better(self, closed: ClosedForm, source: Source, held: Int[np.ndarray, " m"]) -> bool:
        """Whether the network explains more of the held-out rows, and tells their paths apart as well."""
        if not len(held):
            return True
        X = rows_of(source, held)
        codes = self._encode(X)
        to = closed.coordinates.to
        Y, again = (self.input_.prepare(rows).cpu().numpy() @ to for rows in (X, self._decode(codes)))
        explained = 1 - np.square(Y - again).sum() / max(float(np.square(Y - Y.mean(axis=0)).sum()), 1e-300)
        known = self.paths_[held] >= 0
        agreement = (self.hierarchy_.path_of(codes) == self.paths_[held])[known].mean() if known.any() else 1.0
        as_sure = agreement >= closed.held_out.agreement - constants.LESS_APART
        return bool(explained > closed.held_out.explained and as_sure)

    def _wants_embedding(self, source: Source, representation: Any) -> bool:
        """Whether MIMOSA's autoencoder encodes X first: by default images, for networks that are perceptrons,
        unless there were enough of them for MIMOSA to try it and it took their principal components."""
        if self.input == "auto":
            refused = getattr(representation, "kind", None) == "linear" and source.n_rows >= IMAGES
            by_default = self.encoder in ("auto", "mlp") and self.targets == "ica" and not refused
            return by_default and len(source.shape) > 1 and self.likelihood in ("auto", "gaussian")
        return self.input == "embedding"

    def _build(
        self, seed: int | None, with_adversary: bool = False
    ) -> tuple[HierarchicalAutoencoder, nn.Module | None]:
        mask = HierarchicalMask(self.hierarchy_)
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
            encoder, decoder = self._networks(mask.n_items, mask.n_items)
            D = discriminator(max(1, mask.n_continuous), tuple(self.discriminator)) if with_adversary else None
        hae = HierarchicalAutoencoder(self.hierarchy_, encoder, decoder)
        return hae.to(self.device_), None if D is None else D.to(self.device_)
