"""The stages of `COFHAE.fit`: structure, input, maps in closed form, training, sharp images, a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from disentree.cofhae import constants
from disentree.cofhae.fitting.aims import Labels
from disentree.cofhae.fitting.algorithm2 import make_measure, make_step
from disentree.cofhae.fitting.defaults import (
    adds_up,
    check_patience,
    has_length,
    held_out_rows,
    most_steps,
    settings_of,
    wants_closed_form,
    wants_embedding,
)
from disentree.cofhae.fitting.resumable import Checkpoint, find_checkpoint, identity_of, train_model
from disentree.cofhae.fitting.sharpening import can_be_sharp, fit_pixels, sharper
from disentree.cofhae.fitting.structure import Structure, ask_mimosa, find_representation, tells_more
from disentree.cofhae.fitting.targets import Targets, align_targets, fit_subspaces, given_targets, leaf_targets
from disentree.cofhae.fitting.unrolling import guides, product_guides
from disentree.cofhae.inputs import embedding_layer
from disentree.cofhae.linear import AdditiveForm, ClosedForm, are_enough, fit_additive_form, fit_closed_form
from disentree.cofhae.placing.placement import Placement, knots_of
from disentree.cofhae.preprocessor import Preprocessor
from disentree.geometry.maps.effects import same_effects
from disentree.geometry.maps.linear_maps import is_tree
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.choosing import in_same_unit
from disentree.mimosa.saving.model_card import MIMOSA_FOLDER
from disentree.mimosa.tree.placing import moved
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint
from disentree.training.data import Source, rows_of
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
    pixels: Seed
    placement: Seed


@dataclass
class Fitting:
    """A fit under way: what a stage leaves to later ones. The methods are the stages, in their order; what they
    find is set on the model."""

    model: Any  # the COFHAE
    source: Source
    codes: Float[np.ndarray, "n v"] | None  # that rows should get
    representation: Any  # MIMOSA's, if there is one
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
        representation: Any,
    ) -> Fitting:
        """Device, checkpoint and seeds."""
        device = pick_device(model.device)
        structure = [given.hierarchy.to_dict(), fingerprint([given.paths])] if given else None
        identity = identity_of(model, source, structure, None if codes is None else fingerprint([codes]))
        saved = find_checkpoint(model, identity)
        seed = saved[1]["seed"] if saved else pick_seed(model.random_state)
        model.seed_, model.device_, model.pixels_ = seed, device, None
        model.maps_ = "network"  # an earlier fit may have left others
        return cls(model, source, codes, representation, identity, saved, Seeds(*Seed(seed).spawn(8)))

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
                about["matches"],
                MIMOSA.load(home) if home is not None and home.is_dir() else None,
            )
        else:
            # The tree of a table is that of a MIMOSA with the seed of the model.
            seed = _first(self.seeds.structure) if preprocessor.frame_codec is None else model.seed_
            found = ask_mimosa(model, X, self.source, preprocessor, seed)
            if home is not None and isinstance(found.mimosa, MIMOSA):
                found.mimosa.save(home)
        model.hierarchy_, model.paths_, model.matches_ = found.hierarchy, found.paths, found.matches
        model.preprocessor_, model.mimosa_ = found.preprocessor, found.mimosa
        self.representation = self.representation or found.representation
        self.wanted = found.codes

    def fit_input(self) -> None:
        """The fixed first layer."""
        model, source, representation = self.model, self.source, self.representation
        if self._takes_embedding():
            if not _has_decoder(representation):
                representation = find_representation(model, source, _first(self.seeds.structure))
            layer = embedding_layer(source, representation)
        else:
            layer = model._fit_input(source, np.random.default_rng(self.seeds.input))
        model.input_ = layer.to(model.device_)

    def _takes_embedding(self) -> bool:
        """Whether the first layer is that of an autoencoder. A checkpoint says which its networks were built for:
        when it is continued there is no representation of MIMOSA by which it was decided."""
        model, source, representation = self.model, self.source, self.representation
        if self.saved and "input" in self.saved[1]:
            return self.saved[1]["input"] == "embedding"
        if not wants_embedding(model, source, representation):
            return False
        if _has_decoder(representation) or model.input != "auto":
            return True
        return tells_more(model, source, representation, _first(self.seeds.structure))

    # ---------------------------------------------------------------- maps in closed form

    def fit_closed_form(self) -> bool:
        """Maps without networks, where they can be had. Whether the model has them now and needs no training."""
        model, source, rng = self.model, self.source, np.random.default_rng(self.seeds.closed_form)
        if adds_up(model, source):
            self._take(fit_additive_form(model.input_, source, model.hierarchy_, model.paths_, rng, self.wanted))
            return True
        self.held = held_out_rows(model, source.n_rows, np.random.default_rng(self.seeds.held_out))
        if not wants_closed_form(model):
            return False
        held = self.held if len(self.held) else None
        tree = model.hierarchy_, model.paths_
        self.closed = fit_closed_form(model.input_, source, *tree, rng, held, model.matches_, self.wanted)
        if self.closed is None:
            return False
        # Of images there may be few rows, and still more than a plane can tell.
        enough = not model.input_.is_image and are_enough(self.closed.held_out, source.n_rows)
        if model.maps == "linear" or enough:
            self._take(self.closed)
        return model.maps == "linear" or enough

    def _take(self, closed: ClosedForm | AdditiveForm) -> None:
        model = self.model
        none = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0, 0), dtype=np.float32)
        model.input_.subspace_centers, model.input_.subspace_bases = map(torch.from_numpy, none)
        model.input_.to(model.device_)
        model.autoencoder_ = closed.autoencoder().to(model.device_).eval()
        model.maps_, model.history_, model.pixels_ = "linear", [], None
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
        targets = find_targets(model, source, np.random.default_rng(self.seeds.targets), self.codes)
        if self.wanted is not None:
            targets = targets.with_codes(self.wanted, model.hierarchy_)
        model.trust_ = targets.trust
        settings = settings_of(model, guided=targets.has_guides)
        first, second = (int(number) for number in self.seeds.networks.generate_state(2))
        model.autoencoder_, D = model._build(first, with_adversary=settings.penalty in ("adversarial", "marginal"))
        longer = constants.CURVED_STEPS if targets.has_guides else 1
        batches = model._batches(source, Labels(model.autoencoder_, model.paths_, targets, model.device_))
        plan, measure = None, None
        check_patience(model, batches)
        if isinstance(batches, TensorBatches) and len(self.held):
            left_out = torch.from_numpy(self.held).to(model.device_)
            measure = make_measure(settings, layer, (batches.data[left_out], *batches.labels(left_out)))
            batches = batches.without(left_out)
            steps = most_steps(model, batches.n_batches, longer)
            if has_length(model):
                steps = model._n_steps(source.n_rows - len(self.held), longer)
            elif source.n_rows < constants.MANY_ROWS and model.patience is None:
                plan = Plan(steps, batches.n_batches, settings.guided + settings.warm_up)
        elif has_length(model):
            steps = model._n_steps(source.n_rows, longer)
        else:
            steps = most_steps(model, batches.n_batches, longer)
        found = {
            "hierarchy": model.hierarchy_.to_dict(),
            "matches": model.matches_,
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
            measure=measure or (lambda state: {}),
            plan=plan,
            stacklevel=4,
        )

    # ---------------------------------------------------------------- sharp images

    def sharpen(self) -> None:
        """Train the decoder of images to pixels, and with it the encoder, and keep both if they are better."""
        model, n_rows = self.model, self.source.n_rows
        is_wanted = model.sharp and not model.interrupted_ and model.decoder in ("auto", "mlp")
        if not is_wanted or not can_be_sharp(model.input_):
            return
        if has_length(model):
            n_drawn = model._n_steps(n_rows) * model.batch_size
        else:
            n_drawn = min(constants.SHARP_ROWS * model.max_steps, constants.SHARP_EPOCHS * n_rows)

        @torch.no_grad()
        def usual(x: Float[Tensor, "n ..."]) -> Float[np.ndarray, "n ..."]:
            return model._images(torch.cat(model.autoencoder_.encode_hard(model.input_.from_components(x)), dim=1))

        given = model.input_, self.source, model.autoencoder_, self.held, n_drawn, _first(self.seeds.pixels), usual
        more = {"checkpoint": model.checkpoint, "identity": self.identity, "verbose": model.verbose}
        sharp, model.interrupted_ = sharper(partial(fit_pixels, *given, **more), usual)
        if sharp is not None:
            model.pixels_, model.autoencoder_.encoder = sharp.decoder, sharp.encoder
            model.input_.network = sharp.embedding
            model._describe_codes(self.source)

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
        to = closed.coordinates.to
        Y, again = (model.input_.prepare(rows).cpu().numpy() @ to for rows in (X, model._decode(codes)))
        explained = 1 - np.square(Y - again).sum() / max(float(np.square(Y - Y.mean(axis=0)).sum()), 1e-300)
        known = model.paths_[held] >= 0
        agreement = (model.hierarchy_.path_of(codes) == model.paths_[held])[known].mean() if known.any() else 1.0
        as_sure = agreement >= closed.held_out.agreement - constants.LESS_APART
        return bool(explained > closed.held_out.explained and as_sure)

    # ---------------------------------------------------------------- where variables stand

    def place(self) -> None:
        """Variables that do the same to decoded rows on all branches of a choice once above them."""
        model, rng = self.model, np.random.default_rng(self.seeds.placement)
        is_down = model.placement == "down" or getattr(model.mimosa_, "placement", "down") == "down"
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


def _has_decoder(representation: Any) -> bool:
    """Whether it is of an autoencoder."""
    return hasattr(getattr(representation, "network", None), "decode")


def find_targets(
    model: Any, source: Source, rng: np.random.Generator, codes: Float[np.ndarray, "n v"] | None = None
) -> Targets:
    """Targets for the continuous variables. The subspaces of flat leaves are added to the encoder's input."""
    layer, hierarchy, paths = model.input_, model.hierarchy_, model.paths_
    if codes is not None and layer.kind == "image":
        return given_targets(codes, hierarchy)
    if model.targets == "none" or layer.kind == "image":
        none = np.full((source.n_rows, hierarchy.n_variables), np.nan)
        return Targets.trusted(none, np.zeros(len(hierarchy.paths)))
    Z = np.concatenate([layer.geometry(block) for block in source.blocks()])
    subspaces = fit_subspaces(Z, hierarchy, paths)
    if model.encoder in ("auto", "mlp") and layer.network is None:
        trusted = [leaf.subspace for leaf in subspaces if leaf.trust > 0]
        layer.add_subspaces([(subspace.center, subspace.basis.T) for subspace in trusted])
    if codes is not None:
        return given_targets(codes, hierarchy)
    targets = leaf_targets(Z, hierarchy, paths, rng, subspaces)
    curved = np.flatnonzero(targets.trust == 0)
    if not len(curved) or not model.guided:
        return align_targets(targets, Z, paths, hierarchy, model.matches_)
    if layer.network is None and not is_tree(hierarchy.root):
        found = product_guides(Z, hierarchy, paths, curved, rng, targets)
        return align_targets(found, Z, paths, hierarchy, model.matches_) if found.trust.any() else found
    smooth = Z
    if layer.network is not None:
        smooth = np.concatenate([layer.prepare(block).cpu().numpy() for block in source.blocks()])
    targets = guides(Z, smooth.astype(np.float64), hierarchy, paths, curved, rng, targets)
    return align_targets(targets, Z, paths, hierarchy, model.matches_)
