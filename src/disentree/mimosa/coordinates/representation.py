"""A fitted initial representation: what takes rows of data to the coordinates that components are found in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Shaped
from scipy.sparse import issparse

from disentree.geometry.pca import BLOCK
from disentree.mimosa.coordinates.counts import Stabilizer
from disentree.utils.files import atomic_path

BuildNetwork = Callable[[Mapping[str, np.ndarray], Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Representation:
    """A fitted initial representation."""

    kind: Literal["linear", "autoencoder"]
    mean: Float[np.ndarray, " p"]
    weights: Float[np.ndarray, "p q"]  # rows minus the mean, times these, are principal components
    spectrum: Float[np.ndarray, " s"]  # singular values of the data, largest first
    network: Any = None  # takes principal components to the latent (`encode`) and back (`decode`)
    history: list[dict[str, float]] = field(default_factory=list)  # losses while the network was trained
    pixel_scale: float = 1.0  # rows are divided by it first: 255 for images of bytes, else 1
    stabilizer: Stabilizer = field(default_factory=Stabilizer)  # what is done with counts first

    def transform(self, X: Any) -> Float[np.ndarray, "n D"]:
        """The representation of rows."""
        flat = as_rows(X)
        first = self._block(flat[:BLOCK])
        out = np.empty((flat.shape[0], first.shape[1]))
        out[: len(first)] = first
        for start in range(BLOCK, flat.shape[0], BLOCK):
            out[start : start + BLOCK] = self._block(flat[start : start + BLOCK])
        return out

    def _block(self, rows: Any) -> np.ndarray:
        if issparse(rows) or self.stabilizer.scale:
            return np.asarray(self.stabilizer(rows) @ self.weights) - self.mean @ self.weights
        components = (as_float(rows, self.pixel_scale) - self.mean) @ self.weights
        return components if self.network is None else _through(self.network.encode, components)

    def rows(self, X: Any) -> Float[np.ndarray, "n p"]:
        """Rows of data, sparse ones too, as `inverse_transform` gives them."""
        own = self.stabilizer(as_rows(X))
        return as_float(own.toarray() if issparse(own) else own, self.pixel_scale).astype(np.float64)

    def inverse_transform(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n p"]:
        """Rows from their representation, divided by `pixel_scale`, counts on their scale."""
        components = Z if self.network is None else _through(self.network.decode, Z)
        # the least-norm inverse: directions that the components do not cover keep their mean
        return components @ np.linalg.pinv(self.weights) + self.mean

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one safetensors file."""
        from safetensors.numpy import save

        arrays = {name: np.asarray(getattr(self, name)) for name in ("mean", "weights", "spectrum")}
        if self.network is not None:
            arrays |= {f"network.{key}": value.numpy() for key, value in self.network.state_dict().items()}
        with atomic_path(path) as temporary:
            whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            temporary.write_bytes(save(whole, metadata={"about": json.dumps(self._about())}))

    def _about(self) -> dict[str, Any]:
        # Products are the same to the last bit only if the weights are in the same order in memory.
        order = "F" if np.isfortran(self.weights) else "C"
        return {"kind": self.kind, "history": self.history, "order": order, "pixel_scale": self.pixel_scale} | (
            {"counts": asdict(self.stabilizer)} if self.stabilizer.scale else {}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], build_network: BuildNetwork | None = None) -> Any:
        """Read what `save` wrote. `build_network` makes a network from its weights and what was saved about it."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(os.fspath(path), framework="numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                about = json.loads((file.metadata() or {})["about"])
        except (SafetensorError, json.JSONDecodeError, KeyError) as error:
            raise ValueError(f"{os.fspath(path)} is cut short or damaged ({error})") from None
        arrays["weights"] = np.asarray(arrays["weights"], order=about.get("order"))  # not in the first files
        weights = {name[8:]: array for name, array in arrays.items() if name.startswith("network.")}
        if weights and build_network is None:
            raise ValueError(f"{os.fspath(path)} holds a network: load it with `load_representation`")
        network = build_network(weights, about) if weights and build_network is not None else None
        return cls(
            kind=about["kind"],
            mean=arrays["mean"],
            weights=arrays["weights"],
            spectrum=arrays["spectrum"],
            network=network,
            history=about["history"],
            pixel_scale=about.get("pixel_scale", 1.0),
            stabilizer=Stabilizer(**about.get("counts", {})),
            **cls._extra_fields(about),
        )

    @classmethod
    def _extra_fields(cls, about: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a subclass, from what was saved."""
        return {}


def _through(network: Any, rows: np.ndarray) -> np.ndarray:
    import torch

    with torch.no_grad():
        return network(torch.from_numpy(rows.astype(np.float32))).double().numpy()


def as_rows(X: Any) -> Any:
    """Rows as vectors; sparse ones as they are."""
    return X if issparse(X) else X.reshape(len(X), -1)


def pixel_scale_of(X: Shaped[np.ndarray, "n ..."]) -> float:
    """255 for images of bytes, else 1: a table of bytes holds numbers, not pixels."""
    return 255.0 if X.ndim > 2 and X.dtype == np.uint8 else 1.0


def as_float(X: np.ndarray, pixel_scale: float = 1.0) -> np.ndarray:
    """Numbers as floats: in the data's own units, or pixels as fractions of `pixel_scale`."""
    return X.astype(np.float64, copy=False) if pixel_scale == 1 else X.astype(np.float32) / np.float32(pixel_scale)
