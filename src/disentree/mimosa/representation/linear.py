"""The initial representation: the first line of the paper's Algorithm 1.

Data that is linear, up to rounding or noise, needs no network: its whitened principal components are an exact
representation, found in a fraction of a second and the same for every rotation, scaling and shift of the
input. All other data goes through a smooth autoencoder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Shaped

from disentree.geometry.pca import principal_axes
from disentree.utils.files import atomic_path

MAX_LINEAR = 20  # principal components that neighbours and flats can still be found in
ROUNDING = 1e-7  # singular values below this part of the largest are rounding
FEWEST_SPARED = 4  # directions of a table of few columns that may be noise
FACTOR_ROUNDS = 60  # of the factor analysis that measures the noise of columns
BLOCK = 8192


@dataclass(frozen=True)
class Representation:
    """A fitted reduction: `transform` takes new rows where the training rows went."""

    kind: Literal["linear", "autoencoder"]
    mean: Float[np.ndarray, " p"]
    weights: Float[np.ndarray, "p q"]  # centred rows times these are principal components
    spectrum: Float[np.ndarray, " s"]  # singular values of the data, largest first
    network: Any = None  # an `Autoencoder` between principal components and the latent
    history: list[dict[str, float]] = field(default_factory=list)
    noise: Float[np.ndarray, " D"] | None = None  # deviation of white noise along each coordinate, where it shows

    def transform(self, X: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, "n D"]:
        flat = as_rows(X)
        out = [self._block(flat[start : start + BLOCK]) for start in range(0, len(flat), BLOCK)]
        return np.concatenate(out)

    def _block(self, rows: np.ndarray) -> np.ndarray:
        components = (as_float(rows) - self.mean) @ self.weights
        return components if self.network is None else _through(self.network.encode, components)

    def inverse_transform(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n p"]:
        """Rows from their representation; images as rows of fractions."""
        components = Z if self.network is None else _through(self.network.decode, Z)
        # the least-norm inverse: what the components do not hold is as in the mean row
        return components @ np.linalg.pinv(self.weights) + self.mean

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one safetensors file."""
        from safetensors.numpy import save_file

        arrays = {name: np.asarray(getattr(self, name)) for name in ("mean", "weights", "spectrum")}
        if self.noise is not None:
            arrays["noise"] = self.noise
        if self.network is not None:
            arrays |= {f"network.{key}": value.numpy() for key, value in self.network.state_dict().items()}
        with atomic_path(path) as temporary:
            whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            save_file(whole, temporary, metadata={"about": json.dumps(self._about())})

    def _about(self) -> dict[str, Any]:
        # Products are the same to the last bit only if the weights are in the same order in memory.
        order = "F" if np.isfortran(self.weights) else "C"
        return {"kind": self.kind, "history": self.history, "order": order}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Representation:
        """Read what `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(os.fspath(path), framework="numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                about = json.loads((file.metadata() or {})["about"])
        except (SafetensorError, json.JSONDecodeError, KeyError) as error:
            raise ValueError(f"{os.fspath(path)} is cut short or damaged ({error})") from None
        network = {name[8:]: array for name, array in arrays.items() if name.startswith("network.")}
        weights = np.asarray(arrays["weights"], order=about.get("order"))  # the first files do not tell
        parts = arrays["mean"], weights, arrays["spectrum"], None, about["history"], arrays.get("noise")
        found = cls(about["kind"], *parts)
        return found._with_network(network, about) if network else found

    def _with_network(self, weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Representation:
        from disentree.mimosa.representation.autoencoder import Autoencoder

        return replace(self, network=Autoencoder.from_weights(weights))


def _through(network: Any, rows: np.ndarray) -> np.ndarray:
    import torch

    with torch.no_grad():
        return network(torch.from_numpy(rows.astype(np.float32))).double().numpy()


def as_rows(X: Shaped[np.ndarray, "n ..."]) -> Shaped[np.ndarray, "n p"]:
    return X.reshape(len(X), -1)


def as_float(X: np.ndarray) -> np.ndarray:
    """Floats in the data's own units, but bytes as fractions of 255."""
    return X.astype(np.float32) / 255 if X.dtype == np.uint8 else X.astype(np.float64, copy=False)


def linear_representation(X: Shaped[np.ndarray, "n ..."]) -> Representation | None:
    """Whitened principal components, if few of them hold all of the data but rounding or white noise."""
    rows = as_rows(X)
    if rows.shape[1] > 1024 and not _looks_low_rank(rows):
        return None
    A = as_float(rows).astype(np.float64)
    mean = A.mean(axis=0)
    A = A - mean
    scale = np.sqrt((A**2).mean(axis=0))
    varies = scale > ROUNDING * max(scale.max(initial=0.0), np.abs(mean).max(initial=0.0) * 1e-6)
    if not varies.any():
        return Representation("linear", mean, np.zeros((A.shape[1], 0)), np.zeros(0))
    scale = np.where(varies, scale, 1.0)
    A[:, ~varies] = 0.0
    # Rounding is seen best with columns of equal size.
    found = principal_axes(A / scale, solver="qr")
    s = found.singular_values
    rank = int((s > ROUNDING * s[0]).sum())
    if rank < varies.sum() and rank <= MAX_LINEAR:
        return Representation("linear", mean, found.whitening(rank) / scale[:, None], s)
    # White noise is seen in the units it came in, or in units in which it has been measured.
    for units in (scale, np.ones_like(scale), _noise_of_columns(A, scale, varies)):
        if units is None:
            continue
        in_units = found if units is scale else principal_axes(A / units, solver="qr")
        t = in_units.singular_values
        above = _signal_rank(t[:rank], len(A))
        if above > MAX_LINEAR or above == rank:
            continue
        if rank <= MAX_LINEAR:  # with so few columns, directions of equal size may be there by chance
            spared = rank - above
            if not above or spared < FEWEST_SPARED or not _is_gaussian(A / units @ in_units.axes[:, above:rank]):
                continue
        noise = np.sqrt(np.mean(t[above:rank] ** 2)) / t[:above] if above else None
        return Representation("linear", mean, in_units.whitening(above) / units[:, None], t, noise=noise)
    if rank <= MAX_LINEAR:
        return Representation("linear", mean, found.whitening(rank) / scale[:, None], s)
    return None


def _noise_of_columns(
    A: Float[np.ndarray, "n p"], scale: Float[np.ndarray, " p"], varies: Bool[np.ndarray, " p"]
) -> Float[np.ndarray, " p"] | None:
    """The deviation of independent noise in every column: factor analysis with the fewest factors after which a
    plateau of noise is left, or None."""
    n, p = len(A), int(varies.sum())
    if not 5 <= p <= 512 or n < 10 * p:
        return None
    S = np.cov((A / scale)[:, varies].T, bias=True)
    first = 1 / np.diag(np.linalg.pinv(S, hermitian=True))  # what the other columns do not tell of each
    for k in range(1, min(MAX_LINEAR, p // 2) + 1):
        if (p - k) ** 2 <= p + k:
            break
        variances = first.clip(min=1e-9)
        values = np.zeros(p)
        for _ in range(FACTOR_ROUNDS):
            root = np.sqrt(variances)
            values, vectors = np.linalg.eigh(S / root / root[:, None])
            values, vectors = values[::-1], vectors[:, ::-1]
            common = ((vectors[:, :k] * root[:, None]) ** 2 * (values[:k] - 1).clip(min=0)).sum(axis=1)
            before, variances = variances, (np.diag(S) - common).clip(min=1e-9)
            if np.abs(variances - before).max() < 1e-4 * before.min():
                break
        if _signal_rank(np.sqrt(values.clip(min=0) * n), n) == k:
            units = scale.copy()
            units[varies] *= np.sqrt(variances)
            return units
    return None


def _is_gaussian(noise: Float[np.ndarray, "n k"]) -> bool:
    """Whether squared distances from the centre vary as much as those of Gaussian noise; those of a box or of a
    few clusters do not."""
    squares = (noise**2 / (noise**2).mean(axis=0)).sum(axis=1)
    return bool(abs(squares.var() / (2 * noise.shape[1]) - 1) < 0.15 + 6 / np.sqrt(len(noise)))


def _signal_rank(s: Float[np.ndarray, " r"], n: int) -> int:
    """The number of singular values above a plateau of white noise; all of them if there is no plateau.

    Singular values of noise alone differ by no more than (1 + b) / (1 - b) with b the root of columns over
    rows (Marchenko and Pastur). A plateau is at least half of the spectrum.
    """
    b = np.sqrt(min(len(s) / n, 0.5))
    spread = 1.1 * (1 + b) / (1 - b)
    above = int((s > spread * s[-1]).sum()) if len(s) else 0
    return above if 2 * above <= len(s) else len(s)


def _looks_low_rank(rows: Shaped[np.ndarray, "n p"]) -> bool:
    """A glance at a few hundred rows of wide data: do MAX_LINEAR components hold nearly all of them?"""
    some = as_float(rows[np.linspace(0, len(rows) - 1, min(len(rows), 256)).astype(int)]).astype(np.float64)
    s = np.linalg.svd(some - some.mean(axis=0), compute_uv=False)
    return len(s) <= MAX_LINEAR or bool((s[MAX_LINEAR:] ** 2).sum() <= 0.05 * (s**2).sum())


def represent(
    X: Shaped[np.ndarray, "n ..."],
    choice: str,
    seed: np.random.SeedSequence,
    verbose: bool = False,
) -> Representation:
    """The initial representation of `X`: "linear", "autoencoder", or "auto" to let the spectrum decide."""
    if choice not in ("auto", "linear", "autoencoder"):
        raise ValueError(f"representation must be 'auto', 'linear' or 'autoencoder', got {choice!r}")
    linear = linear_representation(X) if choice != "autoencoder" else None
    if linear is not None:
        return linear
    if choice == "linear":
        raise ValueError(
            f"X is not linear: more than {MAX_LINEAR} principal components stand out; "
            "use representation='auto' or 'autoencoder'"
        )
    from disentree.mimosa.representation.autoencoder import autoencoder_representation

    return autoencoder_representation(X, seed, verbose)
