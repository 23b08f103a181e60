"""The networks in the page compute what the model computes; covers `export.py`,
`program.py` and `interpreter.py`."""

import json
import re
import shutil

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import shell
from disentree import COFHAE, Hierarchy
from disentree.baselines import VAE
from disentree.datasets import load_dataset
from disentree.errors import UserError
from disentree.explorer import Page, explore, from_model, from_run
from disentree.explorer.program import NotInBrowser, Tensors
from shell import invoke

from .conftest import make_run, quick_model, settled


def is_one_sentence(result):
    return result.exit_code == 2 and shell.is_one_sentence(result)


# ------------------------------------------------------------------ networks of every kind


def ships(n=24, **settings):
    ds = load_dataset("spaceshapes", n_samples=n, seed=0, **settings)
    return ds.X, ds.hierarchy, ds.paths


def colored(n=24):
    """Pictures of a size that the networks must pad, in floats."""
    rng = np.random.default_rng(0)
    return rng.random((n, 20, 36, 3)).astype(np.float32), Hierarchy.flat(2, (2,)), np.arange(n) % 2


def table(n=200):
    """Columns in units of their own, far from 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) * [1, 10, 1e-3, 5, 1] + [0, 1e4, 1, -300, 2]
    return X, Hierarchy.flat(3, (2, 3)), np.arange(n) % 6


def near(n=200):
    """The same near 0 and of one size: single precision keeps less of how a column varies that is far from 0."""
    X, hierarchy, paths = table(n)
    return (X - X.mean(axis=0)) / X.std(axis=0), hierarchy, paths


ACTIVATIONS = {name: (table, {"activation": name}) for name in ("softplus", "relu", "tanh", "gelu", "silu")}
MODELS = {
    **ACTIVATIONS,
    "plain": (table, {"encoder": "plain-mlp", "decoder": "plain-mlp", "input": "standardize"}),
    "raw": (near, {"input": "raw"}),
    "principal components": (ships, {"input": "pca"}),
    "pixels": (lambda: ships(binarize=True), {"likelihood": "bernoulli"}),
    "convolutions": (ships, {"encoder": "conv", "decoder": "conv"}),
    "the paper's": (ships, {"encoder": "burgess", "decoder": "burgess", "likelihood": "gaussian"}),
    "color": (colored, {"encoder": "conv", "decoder": "conv"}),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_page_computes_what_the_model_does(name, browse, exported):
    data, settings = MODELS[name]
    X, hierarchy, paths = data()
    check_page(quick_model(**settings).fit(X, hierarchy=hierarchy, paths=paths), X, browse, exported)


@pytest.mark.parametrize("form", ["additive", "free"])
def test_maps_in_closed_form(form, browse, exported):
    """One map for all paths of a product, and a map for each leaf of a tree."""
    X, hierarchy, paths = table()
    X = X + np.outer(paths, [5, 50, 0.01, 20, 3])
    if form == "free":
        own = {"variables": [{"kind": "continuous"}] * 2}
        hierarchy = Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": [own, own]}]})
        paths = paths // 3
    model = COFHAE(device="cpu").fit(X, hierarchy=hierarchy, paths=paths)
    assert model.maps_ == "linear"
    assert hasattr(model.autoencoder_.decoder, "directions") == (form == "free")
    check_page(model, X, browse, exported)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_images_need_fewer_bits(likelihood, browse, exported):
    X, hierarchy, paths = colored()
    model = quick_model(likelihood=likelihood).fit(X, hierarchy=hierarchy, paths=paths)
    page = explore(model, X)
    assert set(re.findall(r'"type":"(..)"', page.html)) == {"f4", "f2", "i1"}
    check_page(model, X, browse, exported, tolerance=4e-3, code_tolerance=0.02 * np.nanmax(model.transform(X)))


@pytest.mark.parametrize(("bits", "kind", "error"), [(32, "f4", 0), (16, "f2", 1e-3), (8, "i1", 4e-3)])
def test_large_weights_in_fewer_bits(bits, kind, error):
    rng = np.random.default_rng(0)
    large, small = rng.uniform(-1, 1, (200, 150)) * np.arange(200)[:, None], rng.normal(size=(5, 3))
    tensors = Tensors()
    tensors.bits = bits
    numbers = [tensors.add(large), tensors.add(small), tensors.add(large)]
    assert numbers[0] == numbers[2]
    table, buffer = tensors.table(), tensors.buffer()
    for values, number, largest in ((large, numbers[0], error), (small, numbers[1], 0)):
        about = table[number]
        read = np.frombuffer(buffer, "<" + about["type"], values.size, about["offset"]).reshape(about["shape"])
        if about["scales"] is not None:
            read = read * tensors.arrays[about["scales"]]
        assert read == pytest.approx(tensors.arrays[number], rel=1e-6)
        off = np.abs(read - values).max(axis=1)
        assert (off <= largest * np.abs(values).max(axis=1) + 1e-5).all()
    assert [table[number]["type"] for number in numbers[:2]] == [kind, "f4"]
    assert len(buffer) < {32: 120_100, 16: 60_100, 8: 31_000}[bits]


def check_page(model, X, browse, exported, with_encoder=True, tolerance=1e-5, code_tolerance=1e-3):
    page = browse(exported(explore(model, X)), offline=True)
    Z = model.transform(X)[:8]
    codes = [[None if np.isnan(v) else v for v in row] for row in Z.tolist()]
    decode = "(codes) => explorer.panels[0].model.decode(codes).then((all) => all.map((x) => Array.from(x)))"
    expected = model.inverse_transform(Z).reshape(len(Z), -1)
    drawn = np.array(page.evaluate(decode, codes))
    assert np.abs(drawn - expected).max() <= tolerance * np.ptp(X)
    if X.ndim == 2:  # of every column, however small it is beside the others; float32 itself has 1e-7
        assert (np.abs(drawn - expected).max(axis=0) <= 1e-5 * np.maximum(X.std(axis=0), 0.02)).all()
    assert page.evaluate("explorer.panels[0].model.canEncode") == with_encoder
    if not with_encoder:
        return
    encode = "(rows) => Promise.all(rows.map((x) => explorer.panels[0].model.encode(x)))"
    got = np.array(page.evaluate(encode, X[:8].reshape(8, -1).tolist()), dtype=float)
    assert got == pytest.approx(Z, abs=code_tolerance, nan_ok=True)


def test_flat_baselines(browse, exported):
    X, _, _ = table()
    model = VAE(n_continuous=4, epochs=1, hidden=(16,), device="cpu").fit(X)
    check_page(model, X, browse, exported)


def test_networks_of_the_users_own(browse, exported):
    X, hierarchy, paths = table()

    class Odd(nn.Module):
        def __init__(self, n_in, n_out):
            super().__init__()
            self.linear = nn.Linear(n_in, n_out)

        def forward(self, x):
            return torch.sin(self.linear(x))

    known = {
        "encoder": nn.Sequential(nn.Linear(5, 9), nn.LeakyReLU(0.2), nn.Linear(9, 8)),
        "decoder": nn.Linear(8, 5),
    }
    model = quick_model(**known).fit(X, hierarchy=hierarchy, paths=paths)
    check_page(model, X, browse, exported)
    model = quick_model(**known | {"encoder": Odd(5, 8)}).fit(X, hierarchy=hierarchy, paths=paths)
    check_page(model, X, browse, exported, with_encoder=False)  # rows came with their codes
    page = browse(exported(explore(model, X), "again.html"))
    page.click("#random")
    page.click("#mine")
    page.fill("textarea", "1 2 3 4 5")
    page.click("text=Show it")
    page.wait_for_selector(".problem:not(:empty)")
    assert "came without the encoder" in page.locator(".problem").inner_text()
    model = quick_model(**known | {"decoder": Odd(8, 5)}).fit(X, hierarchy=hierarchy, paths=paths)
    with pytest.raises(NotInBrowser, match="no arithmetic for layers of type Odd"):
        explore(model, X)


def test_a_decoder_that_is_more_than_its_networks_is_not_exported():
    X, hierarchy, paths = table()
    model = quick_model().fit(X, hierarchy=hierarchy, paths=paths)
    model.inverse_transform = lambda Z: type(model).inverse_transform(model, Z) * 1.01
    with pytest.raises(NotInBrowser, match="would draw something else"):
        explore(model, X)


def test_only_fitted_models_with_something_to_show():
    X, hierarchy, paths = table()
    with pytest.raises(NotFittedError, match="call fit first"):
        explore(quick_model(), X)
    model = quick_model().fit(X, hierarchy=hierarchy, paths=paths)
    with pytest.raises(ValueError, match="feature_names must name every column"):
        explore(model, X, feature_names=["a"])
    model.code_statistics_ = None  # as in models of earlier versions
    with pytest.raises(ValueError, match=r"explore\(model, X\)"):
        explore(model)


# ------------------------------------------------------------------ images and tables on the page


def test_images_side_by_side_and_of_my_own(browse, exported, tmp_path):
    from PIL import Image

    X, hierarchy, paths = ships()
    model = quick_model(input="pca").fit(X, hierarchy=hierarchy, paths=paths)
    page = browse(exported(explore(model, X)))
    page.click("#random")
    settled(page)
    assert page.locator(".stage canvas:visible").count() == 2
    row = page.evaluate("explorer.panels[0].row")
    context = "document.querySelector('.original canvas').getContext('2d')"
    pixels = np.array(page.evaluate(f"Array.from({context}.getImageData(0, 0, 64, 64).data)")).reshape(64, 64, 4)
    number = page.evaluate("explorer.content.rows.numbers")[row]
    assert np.array_equal(pixels[..., 0], X[number])
    Image.fromarray(X[7]).save(tmp_path / "mine.png")
    page.click("#mine")
    page.set_input_files("dialog input[type=file]", tmp_path / "mine.png")
    page.wait_for_selector("dialog", state="hidden")
    settled(page)
    assert np.array_equal(page.evaluate("Array.from(explorer.panels[0].original.x)"), X[7].ravel())
    assert page.locator(".status b").inner_text() == "mine.png"
    (tmp_path / "bad.png").write_text("no image")
    page.click("#mine")
    page.set_input_files("dialog input[type=file]", tmp_path / "bad.png")
    page.wait_for_selector(".problem:not(:empty)")
    assert "bad.png cannot be read as an image" in page.locator(".problem").inner_text()


def test_a_table_in_its_own_units(browse, exported, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},x,{1000 + 50 * c:.3f},{b:.3f}" for a, b, c in rng.normal(size=(300, 3))]
    (tmp_path / "my.csv").write_text("\n".join(["age,name,income,height", *rows]))
    (tmp_path / "h.json").write_text(Hierarchy.flat(2).to_json())
    np.savez(tmp_path / "l.npz", labels=np.zeros(300, dtype=int))
    files = {"hierarchy_file": str(tmp_path / "h.json"), "labels_file": str(tmp_path / "l.npz")}
    run = make_run(tmp_path / "run", str(tmp_path / "my.csv"), None, structure="given", **files)
    explored = from_run(run, device="cpu")
    page = browse(exported(Page(explored)))
    assert page.locator(".bar-list th[scope=row]").all_text_contents() == ["age", "income", "height"]
    page.click("#random")
    settled(page)
    row = page.evaluate("explorer.panels[0].row")
    shown = [float(t.replace("−", "-")) for t in page.locator(".bar-list td.was").all_text_contents()]
    own = explored.X[row] * np.array(explored.scale) + np.array(explored.center)
    assert shown == pytest.approx(own, rel=1e-3, abs=1e-3)
    page.click("#mine")  # by name, in the units of the file, whatever else is there
    page.fill("textarea", "height,name,age,income\n0.5,somebody,1.25,1062.5\n")
    page.click("text=Show it")
    page.wait_for_selector("dialog", state="hidden")
    settled(page)
    shown = [float(t.replace("−", "-")) for t in page.locator(".bar-list td.was").all_text_contents()]
    assert shown == pytest.approx([1.25, 1062, 0.5], rel=1e-3)
    X = (np.array([[1.25, 1062.5, 0.5]]) - explored.center) / explored.scale
    code = np.array(page.evaluate("explorer.panels[0].original.code"), dtype=float)
    assert code == pytest.approx(explored.models[0].transform(X)[0], abs=1e-4)
    page.click("#mine")
    page.fill("textarea", "1, 2")
    page.click("text=Show it")
    page.wait_for_selector(".problem:not(:empty)")
    assert "the columns are age, income, height" in page.locator(".problem").inner_text()


# ------------------------------------------------------------------ the command


def test_the_command_writes_a_page(runs, tmp_path):
    result = invoke("explore", runs[0].folder, "--export", tmp_path / "page.html")
    assert result.exit_code == 0, result.stderr
    assert "page.html" in result.stdout
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert str(runs[0].folder.parent) not in text  # nobody's folders go along


def test_the_same_page_every_time(explored):
    assert Page(explored).html == Page(explored).html


def test_what_is_not_a_run(runs, tmp_path):
    for folder in (tmp_path, tmp_path / "nothing"):
        assert is_one_sentence(invoke("explore", folder, "--no-browser"))
    copy = shutil.copytree(runs[0].folder, tmp_path / "copy")
    about = json.loads((copy / "model.json").read_text())
    (copy / "model.json").write_text(json.dumps({**about, "format": 99, "version": "9.0"}))
    result = invoke("explore", copy, "--no-browser")
    assert is_one_sentence(result)
    assert "model.json is damaged: its checksum differs" in result.stderr
    (copy / "model.json").unlink()
    result = invoke("explore", copy, "--no-browser")
    assert is_one_sentence(result)
    assert "model.json is missing" in result.stderr
    config = json.loads((copy / "config.json").read_text())
    del config["sha256"]
    (copy / "config.json").write_text(json.dumps({**config, "format": 99}))
    assert "newer" in invoke("explore", copy).stderr
    assert is_one_sentence(invoke("explore", runs[0].folder, "--export", tmp_path / "page.txt"))
    assert is_one_sentence(invoke("explore", runs[0].folder, "--no-browser", "--host", "256.1.1.1"))


def test_only_runs_of_the_same_data_are_compared(runs, tmp_path):
    other = make_run(tmp_path / "other", "chopsticks-depth2-inter")
    with pytest.raises(UserError, match="not runs of the same data: their name differs"):
        from_run(runs[0], other, device="cpu")


def test_large_rows_are_thinned_out():
    X, hierarchy, paths = table()
    model = quick_model().fit(X, hierarchy=hierarchy, paths=paths)
    wide = from_model(model, np.repeat(X, 10, axis=0))
    assert len(wide.X) <= 400
    assert len(wide.rows) == len(wide.X)
