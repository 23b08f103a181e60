"""A trained encoder and decoder as ONNX files, for programs without Python or torch.

The files are made from the same list of operations as the page (`program`), which is checked against the model
before: every operation becomes a few nodes of ONNX.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from disentree._version import __version__
from disentree.errors import UserError
from disentree.explorer.interpreter import agreeing_program
from disentree.explorer.onnx_graph import Graph
from disentree.explorer.program import NotInBrowser, Op
from disentree.hierarchy import Hierarchy
from disentree.utils.extras import needing
from disentree.utils.files import atomic_path

OPSET, IR_VERSION = 17, 8  # of 2022: what runs them need not be new
ROWS_TO_CHECK = 64
ENCODER, DECODER = "encoder.onnx", "decoder.onnx"


def export_onnx(model: Any, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a trained encoder and decoder as ONNX.

    ``encoder.onnx`` takes ``X``, rows as float64, and gives ``codes``, NaN where a variable is not active;
    ``decoder.onnx`` takes ``codes`` and gives ``X``. In between they compute with 32 bits, as the model does. The
    tree is in the metadata of both, as JSON.

    Parameters
    ----------
    model : COFHAE or a baseline
        Fitted. If it was fitted to a data frame with columns of any kind, or is the model of a run, the files take
        and give its features: ``model.preprocessor_.to_features(rows)``.
    folder : str or path
        Created if it does not exist.

    Returns
    -------
    list of Path
        The files. A model whose encoder has no such form gets the decoder only.

    Raises
    ------
    UserError
        If the model has layers that have no such form.
    MissingExtra
        If onnx is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from disentree import COFHAE
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=500, seed=0)
    >>> model = COFHAE.quick(random_state=0).fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    >>> [path.name for path in export_onnx(model, tempfile.mkdtemp())]  # doctest: +SKIP
    ['encoder.onnx', 'decoder.onnx']
    """
    with needing("export_onnx"):
        onnx: Any = import_module("onnx")

    plain = model.in_features()
    hierarchy: Hierarchy = model.hierarchy_
    codes = hierarchy.sample(ROWS_TO_CHECK)
    try:
        found = agreeing_program(
            plain, codes, np.asarray(plain.inverse_transform(codes), np.float64), compact=False
        )
    except NotInBrowser as error:
        raise UserError(f"this model cannot be written as ONNX: {error}") from None
    if found is None:
        raise UserError(f"this {type(model).__name__} cannot be written as ONNX: it is more than its networks")
    program, tensors = found
    shape = tuple(model.input_.shape)
    graphs = {DECODER: _decoder(program["decode"], tensors.arrays, hierarchy, shape)}
    if program["encode"] is not None:
        graphs = {ENCODER: _encoder(program["encode"], tensors.arrays, hierarchy, shape), **graphs}
    about = {"hierarchy": hierarchy.to_json(indent=None), "model": type(model).__name__, "disentree": __version__}
    written = []
    for name, graph in graphs.items():
        made = onnx.helper.make_model(
            graph,
            producer_name="disentree",
            producer_version=__version__,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.helper.set_model_props(made, about)
        onnx.checker.check_model(made)
        with atomic_path(Path(folder) / name) as temporary:
            temporary.write_bytes(made.SerializeToString())
        written.append(Path(folder) / name)
    return written


def _encoder(ops: list[Op], weights: Sequence[np.ndarray], hierarchy: Hierarchy, shape: tuple[int, ...]) -> Any:
    graph = Graph("encoder", "X", shape, weights)
    if len(shape) > 1:
        graph.reshape(math.prod(shape))
    graph.run(ops)
    return graph.finished("codes", _codes(graph, hierarchy), (hierarchy.n_variables,))


def _decoder(ops: list[Op], weights: Sequence[np.ndarray], hierarchy: Hierarchy, shape: tuple[int, ...]) -> Any:
    graph = Graph("decoder", "codes", (hierarchy.n_variables,), weights)
    graph.to_float()
    _items(graph, hierarchy)
    graph.run(ops)
    graph.reshape(*shape)
    return graph.finished("X", graph.x, shape)


def _codes(graph: Graph, hierarchy: Hierarchy) -> str:
    """Codes from continuous variables and logits."""
    items = graph.to_float()
    continuous = [v for v in hierarchy.variables if v.kind == "continuous"]
    place = {v.index: i for i, v in enumerate(continuous)}
    at, columns = len(continuous), {}
    nothing = graph.constant(np.array(np.nan, np.float32))
    for v in hierarchy.variables:  # parents come before their children
        if v.kind == "continuous":
            column = graph.columns(items, place[v.index], place[v.index] + 1)
        else:
            best = graph.node("ArgMax", graph.columns(items, at, at + v.n_options), axis=1, keepdims=1)
            column = graph.node("Cast", best, to=graph.float32)
            at += v.n_options
        if v.parent is not None:
            chosen = graph.node("Equal", columns[v.parent], graph.constant(np.array(v.option, np.float32)))
            column = graph.node("Where", chosen, column, nothing)
        columns[v.index] = column
    return graph.node("Concat", *(columns[v.index] for v in hierarchy.variables), axis=1)


def _items(graph: Graph, hierarchy: Hierarchy) -> None:
    """What the decoder is given: 1 for every chosen option, then the continuous variables, 0 where inactive."""
    options, values = [], []
    zero = graph.constant(np.array(0, np.float32))
    for v in hierarchy.variables:
        column = graph.columns(graph.x, v.index, v.index + 1)
        for k in range(v.n_options):
            chosen = graph.node("Equal", column, graph.constant(np.array(k, np.float32)))
            options.append(graph.node("Cast", chosen, to=graph.float32))
        if v.kind == "continuous":
            values.append(graph.node("Where", graph.node("IsNaN", column), zero, column))
    graph.x = graph.node("Concat", *options, *values, axis=1)
    graph.shape = (len(options) + len(values),)
