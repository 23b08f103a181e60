"""The stages of `COFHAE.fit`: structure, input, maps in closed form, training, a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from disentree.cofhae import constants
from disentree.cofhae.fitting.algorithm2 import make_measure, make_step
from disentree.cofhae.fitting.defaults import (
    adds_up,
    check_patience,
    has_length,
    held_out_rows,
    most_steps,
    settings_of,
    wants_closed_form,
)
from disentree.cofhae.fitting.resumable import Checkpoint, find_checkpoint, identity_of, train_model
from disentree.cofhae.fitting.structure import Structure, ask_mimosa
from disentree.cofhae.fitting.targets import (
    Labels,
    Targets,
    align_targets,
    fit_subspaces,
    given_targets,
    leaf_targets,
)
from disentree.cofhae.fitting.unrolling import guides, product_guides
from disentree.cofhae.inputs import has_bytes
from disentree.cofhae.linear import AdditiveForm, ClosedForm, are_enough, fit_additive_form, fit_closed_form
from disentree.cofhae.placement import Placement, knots_of
from disentree.cofhae.preprocessor import Preprocessor
from disentree.geometry.maps.effects import same_effects
from disentree.geometry.maps.linear_maps import is_tree
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.autoencoder import principal_components
from disentree.mimosa.coordinates.choosing import in_same_unit
from disentree.mimosa.coordinates.representation import as_float
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER
from disentree.mimosa.tree.placing import moved
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint
from disentree.training.data import Source, rows_of, sample_rows
from disentree.training.session import pick_device, pick_seed
from disentree.training.settling import Plan

Seed = np.random.SeedSequence


class Seeds(NamedTuple):
    """One for each stage, so that none depends on how many numbers another draws."""

    structure: Seed
    input: Seed
    targets: Seed
    networks: Seed
    held_out: Seed
    closed_form: Seed
    placement: Seed


@dataclass
class Fitting:
    """A fit under way: what a stage leaves to later ones. The methods are the stages, in their order; what they
    find is set on the model."""

    model: Any  # the COFHAE
    source: Source
    codes: Float[np.ndarray, "n v"] | None  # that rows should get
    identity: dict[str, Any]  # what must be the same for a checkpoint to be continued
    saved: Checkpoint | None
    seeds: Seeds
    held: Int[np.ndarray, " m"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    closed: ClosedForm | None = None  # maps that networks are compared with
    wanted: Float[np.ndarray, "n v"] | None = None  # codes of MIMOSA, whose variables those of the model are

    @classmethod
    def start(
        cls,
        model: Any,
        source: Source,
        given: Structure | None,
        codes: Float[np.ndarray, "n v"] | None,
    ) -> Fitting:
        """Device, checkpoint and seeds."""
        device = pick_device(model.device)
        structure = [given.hierarchy.to_dict(), fingerprint([given.paths])] if given else None
        identity = identity_of(model, source, structure, None if codes is None else fingerprint([codes]))
        saved = find_checkpoint(model, identity)
        seed = saved[1]["seed"] if saved else pick_seed(model.random_state)
        model.seed_, model.device_ = seed, device
        model.maps_ = "network"  # an earlier fit may have left others
        return cls(model, source, codes, identity, saved, Seeds(*Seed(seed).spawn(7)))

    # ---------------------------------------------------------------- structure and input

    def find_structure(self, X: Any, preprocessor: Preprocessor, given: Structure | None) -> None:
        """The structure that is given, that of the checkpoint, or MIMOSA's."""
        model = self.model
        home = None if model.checkpoint is None else Path(model.checkpoint) / MIMOSA_FOLDER
        if given is not None:
            found = given
        elif self.saved is not None:
            tensors, about = self.saved
            found = Structure(
                Hierarchy.from_dict(about["hierarchy"]),
                tensors["paths"].numpy(),
                Preprocessor.from_dict(about["preprocessor"]),
                MIMOSA.load(home) if home is not None and home.is_dir() else None,
            )
        else:
            # The tree of a table is that of a MIMOSA with the seed of the model.
            seed = _first(self.seeds.structure) if preprocessor.frame_codec is None else model.seed_
            found = ask_mimosa(model, X, self.source, preprocessor, seed)
            if home is not None and isinstance(found.mimosa, MIMOSA):
                found.mimosa.save(home)
        model.hierarchy_, model.paths_ = found.hierarchy, found.paths
        model.preprocessor_, model.mimosa_ = found.preprocessor, found.mimosa
        # columns that are the same variable on different branches
        model.matches_ = list(getattr(found.mimosa, "matches_", []))
        self.wanted = found.codes

    def fit_input(self) -> None:
        """The fixed first layer."""
        model = self.model
        model.input_ = model._fit_input(self.source, np.random.default_rng(self.seeds.input)).to(model.device_)

    # ---------------------------------------------------------------- maps in closed form

    def fit_closed_form(self) -> bool:
        """Maps without networks, where they can be had. Whether the model has them now and needs no training."""
        model, source, rng = self.model, self.source, np.random.default_rng(self.seeds.closed_form)
        layer = model.input_
        if adds_up(model, source):
            self._take(fit_additive_form(layer, source, model.hierarchy_, model.paths_, rng, self.wanted))
            return True
        self.held = held_out_rows(model, source.n_rows, np.random.default_rng(self.seeds.held_out))
        by_default = model.maps == model.encoder == "auto"
        if layer.kind == "image" and by_default and source.n_rows < constants.MANY_IMAGES:
            layer = model._fit_input(source, np.random.default_rng(self.seeds.input), "pca").to(model.device_)
        if not wants_closed_form(model, layer):
            return False
        held = self.held if len(self.held) else None
        tree = model.hierarchy_, model.paths_
        self.closed = fit_closed_form(layer, source, *tree, rng, held, model.matches_, self.wanted)
        if self.closed is None:
            return False
        # Of images there may be few rows, and still more than a plane can tell.
        enough = not layer.is_image and are_enough(self.closed.held_out, source.n_rows)
        if model.maps == "linear" or enough:
            self._take(self.closed)
        return model.maps == "linear" or enough

    def _take(self, closed: ClosedForm | AdditiveForm) -> None:
        model = self.model
        model.input_ = closed.layer
        none = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0, 0), dtype=np.float32)
        model.input_.subspace_centers, model.input_.subspace_bases = map(torch.from_numpy, none)
        model.input_.to(model.device_)
        model.autoencoder_ = closed.autoencoder().to(model.device_).eval()
        model.maps_, model.history_ = "linear", []
        model.trust_ = np.ones(len(model.hierarchy_.paths))
        model.interrupted_ = model.diverged_ = False
        model._describe_codes(self.source)

    # ---------------------------------------------------------------- training

    def train(self) -> None:
        """Algorithm 2, until the loss of the rows that are held out has settled or for as long as is asked."""
        model, source, layer = self.model, self.source, self.model.input_
        if self.closed is not None and not layer.is_image:
            # Compared by the errors of columns, in which noise weighs what it is.
            layer.weigh(self.closed.coordinates.squares)
        rng = np.random.default_rng(self.seeds.targets)
        targets = find_targets(model, source, rng, self.codes)
        if self.wanted is not None:
            targets = targets.with_codes(self.wanted, model.hierarchy_)
        model.trust_ = targets.trust
        settings = settings_of(model, guided=targets.has_guides)
        first, second = (int(number) for number in self.seeds.networks.generate_state(2))
        model.autoencoder_, D = model._build(first, with_adversary=settings.penalty in ("adversarial", "marginal"))
        longer = constants.CURVED_STEPS if targets.has_guides else 1
        batches = model._batches(source, Labels(model.autoencoder_, model.paths_, targets, model.device_))
        plan, measure, n_rows = None, lambda state: {}, source.n_rows
        check_patience(model, batches)
        if isinstance(batches, TensorBatches) and len(self.held):
            left_out = torch.from_numpy(self.held).to(model.device_)
            measure = make_measure(settings, layer, (batches.data[left_out], *batches.labels(left_out)))
            batches, n_rows = batches.without(left_out), n_rows - len(self.held)
        if has_length(model):
            steps = model._n_steps(n_rows, longer)
        else:
            steps = most_steps(model, batches.n_batches, longer)
            if n_rows < source.n_rows < constants.MANY_ROWS and model.patience is None:
                plan = Plan(steps, batches.n_batches, settings.guided + settings.warm_up)
        found = {
            "hierarchy": model.hierarchy_.to_dict(),
            "preprocessor": model.preprocessor_.to_dict(),
            "input": layer.kind,
        }
        train_model(
            model,
            source,
            batches,
            make_step(settings, layer),
            steps,
            seed=second,
            adversary=D,
            saved=self.saved,
            about={**self.identity, "seed": model.seed_, **found},
            tensors={"paths": torch.from_numpy(model.paths_)},
            measure=measure,
            plan=plan,
            stacklevel=4,
        )

    # ---------------------------------------------------------------- what is kept

    def compare(self) -> None:
        """Take the maps in closed form after all, if the networks are no better."""
        closed = self.closed
        if closed is not None and not self.model.interrupted_ and not self._network_is_better(closed):
            self._take(closed)

    def _network_is_better(self, closed: ClosedForm) -> bool:
        """Whether the network explains more of the held-out rows, and tells their paths apart as well."""
        model, held = self.model, self.held
        if not len(held):
            return True
        X = rows_of(self.source, held)
        codes = model._encode(X)
        layer, to = closed.layer, closed.coordinates.to
        Y, again = (layer.prepare(rows).cpu().numpy() @ to for rows in (X, model._decode(codes)))
        explained = 1 - np.square(Y - again).sum() / max(float(np.square(Y - Y.mean(axis=0)).sum()), 1e-300)
        known = model.paths_[held] >= 0
        agreement = (model.hierarchy_.path_of(codes) == model.paths_[held])[known].mean() if known.any() else 1.0
        as_sure = agreement >= closed.held_out.agreement - constants.LESS_APART
        return bool(explained > closed.held_out.explained and as_sure)

    # ---------------------------------------------------------------- where variables stand

    def place(self) -> None:
        """Variables that do the same to decoded rows on all branches of a choice once above them."""
        model, rng = self.model, np.random.default_rng(self.seeds.placement)
        is_down = model.placement == "down" or getattr(model._judge, "placement", "down") == "down"
        if is_down or model.maps_ == "linear" or model.interrupted_:
            return
        n = self.source.n_rows
        some = np.sort(rng.choice(n, min(n, constants.EFFECT_CODES), replace=False))
        X = rows_of(self.source, some)
        codes = model._encode(X, model.paths_[some])
        unit = np.ones(1) if model.input_.is_image else _units_of(X)
        same, partly, signs = same_effects(
            model.hierarchy_, codes, lambda codes: model._decode(codes).reshape(len(codes), -1) / unit, rng
        )
        known = {column for columns in model.matches_ for column in columns}
        partly = [columns for columns in partly if not known.intersection(columns)]
        if not same and not partly:
            return
        move = moved(model.hierarchy_, same)
        placement = Placement.of(move, knots_of(codes, [*same, *partly], signs))
        matches = [move.columns(columns) for columns in [*model.matches_, *partly]]
        model.hierarchy_, model.matches_ = move.after, [columns for columns in matches if len(columns) > 1]
        model.autoencoder_.place(placement.to(model.device_))
        model._describe_codes(self.source)


def _units_of(X: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """What the columns of rows are measured in: a deviation of each, unless they are in the same unit."""
    deviations = X.std(axis=0)
    varies = deviations > 0
    if not varies.any() or in_same_unit(np.ptp(X[:, varies], axis=0)):
        return np.ones(X.shape[1])
    return np.where(varies, deviations, 1.0)


def _first(seed: Seed) -> int:
    return int(seed.generate_state(1)[0])


def find_targets(
    model: Any,
    source: Source,
    rng: np.random.Generator,
    codes: Float[np.ndarray, "n v"] | None = None,
) -> Targets:
    """Targets for the continuous variables. The subspaces of flat leaves are added to the encoder's input."""
    layer, hierarchy, paths = model.input_, model.hierarchy_, model.paths_
    if codes is not None and layer.kind == "image":
        return given_targets(codes, hierarchy)
    if model.targets == "none":
        none = np.full((source.n_rows, hierarchy.n_variables), np.nan)
        return Targets.trusted(none, np.zeros(len(hierarchy.paths)))
    if layer.kind == "image":
        Z = image_geometry(source, rng, getattr(model.mimosa_, "representation_", None))
    else:
        Z = np.concatenate([layer.geometry(block) for block in source.blocks()])
    subspaces = fit_subspaces(Z, hierarchy, paths)
    if layer.kind != "image" and model.encoder in ("auto", "mlp"):
        trusted = [leaf.subspace for leaf in subspaces if leaf.trust > 0]
        layer.add_subspaces([(subspace.center, subspace.basis.T) for subspace in trusted])
    if codes is not None:
        return given_targets(codes, hierarchy)
    targets = leaf_targets(Z, hierarchy, paths, rng, subspaces)
    curved = np.flatnonzero(targets.trust == 0)
    if len(curved) and model.guided:
        if layer.kind == "image" or is_tree(hierarchy.root):
            targets = guides(Z, hierarchy, paths, curved, rng, targets)
        else:
            targets = product_guides(Z, hierarchy, paths, curved, rng, targets)
            if not targets.trust.any():
                return targets
    return align_targets(targets, Z, paths, hierarchy, model.matches_)


def image_geometry(
    source: Source, rng: np.random.Generator, representation: Any = None
) -> Float[np.ndarray, "n r"]:
    """Images in coordinates with meaningful distances: principal components of their pixels, those of a
    representation if it has some."""
    scale = 255.0 if has_bytes(source) else 1.0
    mean = getattr(representation, "mean", None)
    if mean is None or len(mean) != math.prod(source.shape):
        some = sample_rows(source, constants.PCA_ROWS, rng)
        mean, axes, _ = principal_components(some, constants.MAX_COMPONENTS, rng)
    else:
        axes = representation.weights[:, : constants.MAX_COMPONENTS]
    blocks = (as_float(block.reshape(len(block), -1), scale) for block in source.blocks())
    return np.concatenate([((block - mean) @ axes).astype(np.float64) for block in blocks])
