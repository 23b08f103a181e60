import json
import sys

import numpy as np
import pytest
import torch
from torch import nn

from disentree import AE, COFHAE, Hierarchy, export_onnx
from disentree.datasets import load_dataset
from disentree.errors import MissingExtra, UserError

onnx = pytest.importorskip("onnx", reason="needs onnx: the extra onnx of disentree")


def evaluate(path, **inputs):
    """What onnxruntime gives, or without it the slow evaluator of onnx."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(str(path)).run(None, inputs)[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def agrees(model, X, folder, tolerance=1e-4):
    """Both files do what the model does."""
    encoder, decoder = export_onnx(model, folder)
    Z = model.transform(X)
    ours = evaluate(encoder, X=np.asarray(X, np.float64))
    same = (np.isnan(ours) == np.isnan(Z)).all(axis=1)
    assert same.mean() > 0.98  # a row between two leaves may be on either
    scale = np.nanmax(np.abs(Z))
    np.testing.assert_allclose(ours[same], Z[same], atol=tolerance * scale, rtol=0)
    X2 = model.inverse_transform(Z)
    np.testing.assert_allclose(evaluate(decoder, codes=Z), X2, atol=tolerance * np.ptp(X2), rtol=0)


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-both", n_samples=600, seed=0)


def fit(data, **parameters):
    model = COFHAE(epochs=1, hidden=(8,), device="cpu", random_state=0, **parameters)
    return model.fit(data.X, hierarchy=data.hierarchy, paths=data.paths)


def test_linear_maps(sticks, tmp_path):
    model = COFHAE(device="cpu", random_state=0).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert model.maps_ == "linear"
    agrees(model, sticks.X, tmp_path)


@pytest.mark.parametrize("activation", ["relu", "silu", "softplus"])
def test_networks(sticks, tmp_path, activation):
    model = fit(sticks, activation=activation, encoder="mlp", decoder="mlp")
    agrees(model, sticks.X, tmp_path)


def test_large_offsets_keep_their_digits(sticks, tmp_path):
    model = COFHAE(device="cpu", random_state=0)
    X = sticks.X + 1e6
    agrees(model.fit(X, hierarchy=sticks.hierarchy, paths=sticks.paths), X, tmp_path, tolerance=1e-3)


def test_a_flat_code(sticks, tmp_path):
    agrees(AE(n_continuous=3, epochs=1, hidden=(8,), device="cpu").fit(sticks.X), sticks.X, tmp_path)


def test_convolutions(tmp_path):
    data = load_dataset("spaceshapes", n_samples=40, seed=0)
    model = COFHAE.paper(images=True, epochs=1, device="cpu", random_state=0)
    agrees(model.fit(data.X, hierarchy=data.hierarchy, paths=data.paths), data.X[:8], tmp_path, tolerance=1e-3)


def test_the_tree_is_in_the_file(sticks, tmp_path):
    model = fit(sticks)
    for path in export_onnx(model, tmp_path / "new"):
        about = {p.key: p.value for p in onnx.load(str(path)).metadata_props}
        assert Hierarchy.from_dict(json.loads(about["hierarchy"])) == model.hierarchy_
        assert about["model"] == "COFHAE"


def test_layers_without_a_form_are_named(sticks, tmp_path):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.sin(x)

    model = fit(sticks, encoder="mlp", decoder="mlp")
    model.autoencoder_.decoder = nn.Sequential(model.autoencoder_.decoder, Odd())
    with pytest.raises(UserError, match=r"cannot be written as ONNX.*layers of type Odd"):
        export_onnx(model, tmp_path)


def test_without_onnx_the_extra_is_named(sticks, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"export_onnx needs onnx: pip install 'disentree\[onnx\]'"):
        export_onnx(fit(sticks), tmp_path)
