"""Variables that were moved up, on the page (`page/runtime.js`) and in ONNX (`onnx_graph.py`)."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import disentree.explorer
from disentree import Hierarchy
from disentree.cofhae.algorithm8 import HierarchicalMask
from disentree.cofhae.placement import Placement, knots_of
from disentree.explorer.interpreter import run
from disentree.explorer.program import Tensors, ops_of

RUNTIME = Path(disentree.explorer.__file__).parent / "page" / "runtime.js"
SCRIPT = """
import fs from "fs";
const { Runtime } = await import(process.argv[2]);
const about = JSON.parse(fs.readFileSync(process.argv[3]));
const bytes = fs.readFileSync(process.argv[4]);
const runtime = new Runtime(about, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const out = Object.entries(about.rows).map(([way, rows]) => rows.map((row) =>
  [...runtime.run([about[way]], { data: Float64Array.from(row), shape: [row.length] }).data]));
console.log(JSON.stringify(out));
"""


@pytest.fixture(scope="module")
def moves():
    """The two operations, and rows before and after each: one branch has the variable the other way round."""
    below = [[("z2", 2), ("z3", 3)], [("z4", 4)]]
    options = [{"variables": [{"kind": "continuous", "name": name} for name, _ in own]} for own in below]
    choice = {"kind": "categorical", "name": "c", "options": options}
    h = Hierarchy.from_dict({"variables": [{"kind": "continuous", "name": "z1"}, choice]})
    codes = h.sample(500, np.random.default_rng(0))
    codes[:, 4] = 5 - 3 * np.sqrt(codes[:, 4])
    move = h.move_up([[2, 4]])
    placement = Placement.of(move, knots_of(codes, [[2, 4]], {2: 1, 4: -1}))
    tensors = Tensors()
    op = ops_of(placement, tensors)[0]
    a, z = HierarchicalMask(move.after).from_codes(move.after.sample(40, np.random.default_rng(1)))
    items = torch.cat([a, 3 * z - 1], dim=1)  # also beyond the knots
    below = placement.down(items)
    logits = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    encoded = torch.cat([below[:, 2:], logits], dim=1)
    rows = {"down": (items, below), "up": (encoded, placement.up(encoded))}
    return {way: {**op, "op": way} for way in rows}, tensors, rows


@pytest.mark.parametrize("way", ["down", "up"])
def test_in_python_and_onnx(moves, way):
    ops, tensors, rows = moves
    start, wanted = rows[way]
    weights = [torch.from_numpy(array) for array in tensors.arrays]
    torch.testing.assert_close(run([ops[way]], start, weights), wanted)
    onnx = pytest.importorskip("onnx", reason="needs onnx: the extra onnx of disentree")
    from onnx.reference import ReferenceEvaluator

    from disentree.explorer.onnx_graph import Graph

    graph = Graph(way, "x", (start.shape[1],), tensors.arrays)
    graph.to_float()
    graph.run([ops[way]])
    made = graph.finished("y", graph.x, (wanted.shape[1],))
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (found,) = ReferenceEvaluator(model).run(None, {"x": start.double().numpy()})
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which runs the scripts of the page")
def test_on_the_page(moves, tmp_path):
    ops, tensors, rows = moves
    about = {**ops, "tensors": tensors.table(), "rows": {way: start.tolist() for way, (start, _) in rows.items()}}
    (tmp_path / "about.json").write_text(json.dumps(about))
    (tmp_path / "weights.bin").write_bytes(tensors.buffer())
    (tmp_path / "script.mjs").write_text(SCRIPT)
    shutil.copy(RUNTIME, tmp_path / "runtime.mjs")
    files = [str(tmp_path / name) for name in ("script.mjs", "runtime.mjs", "about.json", "weights.bin")]
    out = subprocess.run(["node", *files], capture_output=True, text=True, check=True).stdout
    for found, (_, wanted) in zip(json.loads(out), rows.values(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
