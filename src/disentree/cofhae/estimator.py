"""COFHAE: the conditionally factorized hierarchical autoencoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import nn

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.base import paper_training
from disentree.cofhae.checks import check_codes, check_parameters, check_structure
from disentree.cofhae.explain import explain_variables
from disentree.cofhae.fitting.losses import build_discriminator
from disentree.cofhae.fitting.stages import Fitting
from disentree.cofhae.fitting.structure import Structure
from disentree.cofhae.inputs import InputLayer, takes_convolutions
from disentree.cofhae.paths import PathEstimator
from disentree.cofhae.preprocessor import Preprocessor
from disentree.cofhae.shared_docs import documented
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import renamed
from disentree.mimosa.explain.columns import read_columns
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.reasons import explain_tree
from disentree.mimosa.inputs import is_frame
from disentree.tables.frames import as_pandas
from disentree.training.data import Source
from disentree.training.networks import glorot


@documented
class COFHAE(PathEstimator):
    """Learn a code for X that follows a hierarchy, with independent variables in every leaf.

    Parameters
    ----------
    steps : int or None, default=None
        Length of the training in minibatches, rounded up to whole epochs; not used if `epochs` is set. None: a
        tenth of the rows is held out, and training ends some time after their loss has settled.
    max_steps : int, default=4000
        The most minibatches if neither `epochs` nor `steps` is set.
    maps : {"auto", "linear", "network"}, default="auto"
        What encoder and decoder are. "linear" fits an affine map to every leaf, in closed form. "auto" does so for
        tables if leaves are flat and told apart, or if rows are few; otherwise it trains networks, and keeps the
        maps if they explain more of the held-out rows. To set `epochs`, `steps` or a network asks for networks.
    {training_parameters}
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
        Targets for the continuous variables: independent components of every leaf that is flat and of the layout
        of those that are curved; the codes given to `fit` (supervision); or none. If leaves are curved, training
        is three times as long, unless `epochs` is set.
    penalty : {"auto", "adversarial", "marginal", "none"} or callable, default="auto"
        Penalty on dependence between the variables of a leaf: the paper's conditional total correlation, or
        FactorVAE's total correlation, which ignores where variables are active.
        "auto" is "adversarial" if some leaf has no trusted targets, else "none". Leaves with trusted targets are
        not penalized. A function ``penalty(z, on)`` of your own gives a tensor of one number from the codes of a
        minibatch, 0 where they are not active, and a mask of where they are.
    warm_up : float, default=0.2
        Fraction of training over which lambda2 grows from 0.
    guided : float, default=0.4
        Fraction of training, from its start, in which the codes of curved leaves are guided by their layout and
        dependence is not penalized yet.
    masks : {"given", "soft"}, default="given"
        How a row's code is masked in training: by its path, or as in the paper by the probabilities of the
        options, in which some of a value can hide.
    discriminator : sequence of int, Module or callable, default=(128, 128, 128)
        Hidden widths of the adversary; or a module, which is copied, or a function of the number of variables that
        makes one, from codes to a logit.
    discriminator_betas : sequence of float, default=(0.5, 0.9)
        Adam's betas for the adversary.
    sigma : float or None, default=None
        Standard deviation of the Gaussian likelihood in units of X. None measures reconstructions against the
        variance of the data.
    placement : {"auto", "down"}, default="auto"
        Where variables stand in a tree that MIMOSA has found, and that of curved leaves or images: one that does
        the same to decoded rows on all branches of a choice stands above them ("auto"), or on each as it was found
        ("down"). It has the values of the branch with most rows; those of the others follow their ranks.
    mimosa : MIMOSA or None, default=None
        The estimator that finds the structure when `fit` is not given one. None: `MIMOSA(placement=placement)`.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The structure, as found or given.
    paths_ : array of int of shape (n,)
        The path of every row of X, -1 for none, as found or given.
    mimosa_ : MIMOSA or None
        The fitted estimator that found the structure and assigns rows to paths; None if the structure was given.
    trust_ : array of shape (n_paths,)
        How much the targets of each path are trusted, from 0 to 1.
    history_ : list of dict
        One per epoch: epoch, loss, reconstruction, assignment, dependence, target, seconds, and held_out if rows
        were held out. Empty for linear maps.
    {model_attributes}

    See Also
    --------
    disentree.MIMOSA : Finds the structure.

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
    _rows: Any = None  # that it was fitted to, for `explain`; neither saved nor copied
    trust_: Float[np.ndarray, " paths"]

    def __init__(
        self,
        *,
        max_steps: int = 4000,
        maps: str = "auto",
        tau: float = 1.0,
        lambda1: float = 0.1,
        lambda2: float = 0.1,
        lambda3: float = 1.0,
        assignment: str = "log",
        targets: str = "ica",
        penalty: Any = "auto",
        warm_up: float = 0.2,
        guided: float = 0.4,
        masks: str = "given",
        discriminator: Any = (128, 128, 128),
        discriminator_betas: Sequence[float] = (0.5, 0.9),
        placement: str = "auto",
        mimosa: Any = None,
        **common: Any,
    ):
        super().__init__(**common)
        self.max_steps = max_steps
        self.maps = maps
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
        self.placement = placement
        self.mimosa = mimosa

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
        """A model with the algorithm and settings of the paper's published program.

        50 epochs of batches of 256, Adam at .001 with two drops, X as it is, perceptrons of two layers of 256 with
        softplus, squared assignment loss, conditional total correlation by a discriminator of three layers of
        1000, no targets.

        The Gaussian loss is 100 times the squared error, on which the paper's grid of lambdas was tuned;
        the text's sigma = .1 would make it 50. Of the grid, tau = 2/3, lambda1 = 1000 and lambda2 = 10 are the
        default here. The text allows "ReLU or Softplus"; ``activation="relu"`` and ``input="whiten"`` both
        separate nested leaves sooner, and were this preset up to version 0.2.

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
            "placement": "down",
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
        preprocessor: Preprocessor | None = None,
        mimosa: Any = None,
    ) -> COFHAE:
        """Find the structure of X with MIMOSA, or take the one given, and train the autoencoder.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of numbers, or images ``(n, h, w)`` or ``(n, h, w, c)``: an array, also memory-mapped, a data
            frame, a torch `Dataset` whose items are rows, or an object that yields the same blocks of rows
            each time it is iterated over.
        y : ignored
            For scikit-learn.
        hierarchy : Hierarchy or dict, default=None
            The structure, if it is known.
        paths : array-like of int of shape (n,), default=None
            The path of every row: an index into ``hierarchy.paths``, -1 for none.
        codes : array-like of shape (n, n_variables), default=None
            With ``targets="codes"``, the code that every row should get. `paths` may then be left out. With
            `mimosa`, its codes of the rows: this model's variables are then those that they name.
        preprocessor : Preprocessor, default=None
            What made X of the rows of a user, by `preprocessor.to_features(rows)`: the fitted model takes such
            rows, and decodes to such rows. None: X is as its user has it.
        mimosa : MIMOSA, default=None
            The fitted estimator that found a structure that is given: it says which paths new rows are on, and
            which variables are the same on different branches, and get the same zero, sign and unit.

        Returns
        -------
        COFHAE
            The fitted model itself.
        """
        self._check_parameters()
        if isinstance(y, Hierarchy):
            raise TypeError("give the hierarchy by name: fit(X, hierarchy=..., paths=...)")
        X = as_pandas(X)
        is_as_given = preprocessor is None and (is_frame(X) or isinstance(X, np.ndarray))
        self._rows = X if is_as_given else None
        prepared = preprocessor or Preprocessor.of(X)
        source = self._read(X if preprocessor else prepared.to_features(X))
        wanted, codes = (None, codes) if mimosa is None or self.targets == "codes" else (codes, None)
        codes, paths = check_codes(self.targets, hierarchy, paths, codes, source.n_rows)
        structure = check_structure(hierarchy, paths, source.n_rows)
        wanted = None if wanted is None or structure is None else structure[0].validate(wanted)
        given = Structure(*structure, prepared, mimosa, wanted) if structure else None
        if mimosa is not None and (given is None or len(mimosa.hierarchy_.paths) != len(given.hierarchy.paths)):
            raise ValueError("mimosa must be the estimator that found the hierarchy, which must be given too")

        fitting = Fitting.start(self, source, given, codes)
        fitting.find_structure(X, prepared, given)
        fitting.fit_input()
        if not fitting.fit_closed_form():
            fitting.train()
            fitting.compare()
            fitting.place()
        return self

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
            `print` shows it as sentences; `.variables` is a list of dicts: name, group, text, and moves,
            the columns that a variable moves from its 10th to its 90th percentile while the others are at their
            medians. Of images only the share of pixels is told.
        """
        check_is_fitted(self, "autoencoder_")
        X = self._rows if X is None else X
        if X is None:
            raise ValueError("a model that was loaded has no rows: give X, the rows to explain it by")
        read = partial(read_columns, codec=self.preprocessor_.frame_codec)
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

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _fit_input(self, source: Source, rng: np.random.Generator, kind: str | None = None) -> InputLayer:
        by_default = self.input == self.encoder == self.decoder == "auto" and self.maps != "linear"
        draws = by_default and takes_convolutions(source.shape)
        return super()._fit_input(source, rng, kind or ("image" if draws else None))

    def _pace(self) -> constants.Pace:
        return constants.IMAGES if self.input_.kind == "image" else constants.VECTORS

    def _build(
        self, seed: int | None, with_adversary: bool = False
    ) -> tuple[HierarchicalAutoencoder, nn.Module | None]:
        mask = HierarchicalMask(self.hierarchy_)
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
            encoder, decoder = self._networks(mask.n_items, mask.n_items)
            D = build_discriminator(self.discriminator, max(1, mask.n_continuous)) if with_adversary else None
            of_paper = self.encoder in ("plain-mlp", "burgess") and not callable(self.discriminator)
            if D is not None and of_paper:  # as its perceptrons
                glorot(D)
        hae = HierarchicalAutoencoder(self.hierarchy_, encoder, decoder)
        return hae.to(self.device_), None if D is None else D.to(self.device_)
