"""A graph of ONNX: every operation of a program becomes a few nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from disentree.cofhae.inputs import channels_first
from disentree.errors import UserError
from disentree.explorer.program import Op

NEVER = -1e30  # the logit of an option that a path has not


class Graph:
    """A chain of operations on one value, which has a shape and is of 64 bits until networks begin."""

    def __init__(self, name: str, start: str, shape: tuple[int, ...], weights: Sequence[np.ndarray]):
        onnx: Any = import_module("onnx")
        self._helper, self._to_onnx = onnx.helper, onnx.numpy_helper.from_array
        self.float32, self.float64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
        self.name, self.start, self.weights = name, start, weights
        self.x, self.start_shape = start, shape
        self.shape: tuple[int, ...] = shape
        self.is_double = True
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    # -------------------------------------------------------------- building

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        out = f"v{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        return name

    def columns(self, x: str, first: int, last: int, axis: int = 1) -> str:
        ends = (self.constant(np.array([n], np.int64)) for n in (first, last, axis))
        return self.node("Slice", x, *ends)

    def to_float(self) -> str:
        if self.is_double:
            self.x, self.is_double = self.node("Cast", self.x, to=self.float32), False
        return self.x

    def to_double(self) -> str:
        if not self.is_double:
            self.x, self.is_double = self.node("Cast", self.x, to=self.float64), True
        return self.x

    def number(self, array: Any) -> str:
        """A constant in the precision of the value."""
        return self.constant(np.asarray(array, np.float64 if self.is_double else np.float32))

    def reshape(self, *shape: int) -> None:
        self.x = self.node("Reshape", self.x, self.constant(np.array([0, *shape], np.int64)))
        self.shape = shape

    def finished(self, name: str, x: str, shape: tuple[int, ...]) -> Any:
        """The graph, which gives `x` under a name, with 64 bits."""
        self.nodes.append(self._helper.make_node("Cast", [x], [name], to=self.float64))
        given = self._helper.make_tensor_value_info(self.start, self.float64, ["n", *self.start_shape])
        out = self._helper.make_tensor_value_info(name, self.float64, ["n", *shape])
        constants = [self._to_onnx(array, key) for key, array in self.constants.items()]
        return self._helper.make_graph(self.nodes, self.name, [given], [out], constants)

    # -------------------------------------------------------------- operations

    def run(self, ops: list[Op]) -> None:
        for op in ops:
            self._step(op)

    def _weight(self, op: Op, key: str) -> np.ndarray:
        return self.weights[op[key]]

    def _step(self, op: Op) -> None:
        match op["op"]:
            case "times":
                self.x = self.node("Mul", self.x, self.number(op["by"]))
            case "plus" | "minus" as kind:
                self._shift(op, "Add" if kind == "plus" else "Sub")
            case "clip":
                self.x = self.node("Clip", self.x, self.number(op["low"]), self.number(op["high"]))
            case "channels_first":
                image, back = channels_first(tuple(op["shape"]))
                if back == (1, 2, 3):
                    self.reshape(*image)
                else:
                    self.reshape(*op["shape"])
                    self._transpose(0, 3, 1, 2)
            case "channels_last":
                self._transpose(0, 2, 3, 1)
            case _:
                self.to_float()
                self._network_step(op)

    def _shift(self, op: Op, kind: str) -> None:
        """A large offset is added or taken away with 64 bits."""
        shift = self._weight(op, "t").astype(np.float64)
        if op["rest"] is not None:
            shift = shift + self._weight(op, "rest")
            self.to_double()
        self.x = self.node(kind, self.x, self.number(shift))

    def _transpose(self, *axes: int) -> None:
        self.x = self.node("Transpose", self.x, perm=list(axes))
        self.shape = tuple(self.shape[axis - 1] for axis in axes[1:])

    def _network_step(self, op: Op) -> None:
        match op["op"]:
            case "linear":
                w = self._weight(op, "w")
                w = w if op.get("transposed") else w.T
                self.x, self.shape = self.node("MatMul", self.x, self.constant(w)), (w.shape[1],)
                if op["b"] is not None:
                    self.x = self.node("Add", self.x, self.constant(self._weight(op, "b")))
            case "sum":
                self._sum(op["parts"])
            case "conv" | "convt":
                self._convolve(op)
            case "shuffle":
                r, (c, h, w) = op["r"], self.shape
                self.x = self.node("DepthToSpace", self.x, blocksize=r, mode="CRD")
                self.shape = (c // r**2, h * r, w * r)
            case "unshuffle":  # SpaceToDepth has another order of channels
                r, (c, h, w) = op["r"], self.shape
                self.reshape(c, h // r, r, w // r, r)
                self._transpose(0, 1, 3, 5, 2, 4)
                self.reshape(c * r * r, h // r, w // r)
            case "reshape":
                self.reshape(*([math.prod(self.shape)] if op["shape"] is None else op["shape"]))
            case "pad":
                c, h, w = self.shape
                ends = np.array([0, 0, 0, 0, 0, 0, op["bottom"], op["right"]], np.int64)
                self.x = self.node("Pad", self.x, self.constant(ends))
                self.shape = (c, h + op["bottom"], w + op["right"])
            case "crop":
                self.x = self.columns(self.columns(self.x, 0, op["height"], axis=2), 0, op["width"], axis=3)
                self.shape = (self.shape[0], op["height"], op["width"])
            case "scale":
                self.x = self.node("Mul", self.x, self.constant(self._weight(op, "t")))
            case "ends":
                first, last, n = op["first"], op["last"], self.shape[0]
                parts = self.columns(self.x, 0, first), self.columns(self.x, n - last, n)
                self.x, self.shape = self.node("Concat", *parts, axis=1), (first + last,)
            case "nearness":
                self._nearness(op)
            case "path":
                self._path(op)
            case "leaf":
                self._leaf(op)
            case "up":
                self._up(op)
            case "down":
                self._down(op)
            case _:
                self._activation(op)

    def _activation(self, op: Op) -> None:
        x, number = self.x, self.number
        match op["op"]:
            case "relu" | "sigmoid" | "tanh" as name:
                self.x = self.node(name.capitalize(), x)
            case "silu":
                self.x = self.node("Mul", x, self.node("Sigmoid", x))
            case "leaky":
                self.x = self.node("LeakyRelu", x, alpha=op["slope"])
            case "softplus":  # beyond its threshold, 20, the two forms differ by 1e-9
                inner = self.node("Softplus", self.node("Mul", x, number(op["beta"])))
                self.x = self.node("Div", inner, number(op["beta"]))
            case "gelu":
                if op["tanh"]:
                    cube = self.node("Mul", self.node("Mul", x, x), x)
                    inner = self.node("Add", x, self.node("Mul", cube, number(0.044715)))
                    bend = self.node("Tanh", self.node("Mul", inner, number(math.sqrt(2 / math.pi))))
                else:
                    bend = self.node("Erf", self.node("Div", x, number(math.sqrt(2))))
                half = self.node("Mul", x, number(0.5))
                self.x = self.node("Mul", half, self.node("Add", bend, number(1.0)))
            case name:
                raise UserError(f"this model cannot be written as ONNX: there is no form for {name!r}")

    def _sum(self, parts: list[list[Op]]) -> None:
        start, shape, results = self.x, self.shape, []
        for part in parts:
            self.x, self.shape = start, shape
            self.run(part)
            results.append(self.x)
        self.x = self.node("Sum", *results)

    def _convolve(self, op: Op) -> None:
        w, s, p = self._weight(op, "w"), op["stride"], op["padding"]
        kind = "Conv" if op["op"] == "conv" else "ConvTranspose"
        inputs = [self.constant(w)] + ([] if op["b"] is None else [self.constant(self._weight(op, "b"))])
        self.x = self.node(kind, self.x, *inputs, strides=[s, s], pads=[p] * 4)
        kernel, places = w.shape[2:], self.shape[1:]
        if op["op"] == "conv":
            self.shape = (w.shape[0], *((n + 2 * p - k) // s + 1 for n, k in zip(places, kernel, strict=True)))
        else:
            self.shape = (w.shape[1], *((n - 1) * s - 2 * p + k for n, k in zip(places, kernel, strict=True)))

    def _nearness(self, op: Op) -> None:
        """How near a row is to each of some subspaces, beside its features."""
        centers, bases = self._weight(op, "centers"), self._weight(op, "bases")
        off = self._from_each(centers)
        along = self.node("MatMul", off, self.constant(bases))
        on = self.node("MatMul", along, self.constant(bases.transpose(0, 2, 1)))
        rest = self.node("Sub", off, on)
        square = self.node("ReduceMean", self.node("Mul", rest, rest), axes=[2], keepdims=0)
        log = self.node("Log", self.node("Add", square, self.number(op["nearest"] ** 2)))
        near = self.node("Mul", log, self.number(4 / math.log(op["nearest"] ** 2)))
        near = self.node("Transpose", self.node("Sub", near, self.number(2.0)), perm=[1, 0])
        self.x = self.node("Concat", self.x, near, axis=1)
        self.shape = (self.shape[0] + len(centers),)

    def _from_each(self, centers: np.ndarray) -> str:
        """Rows minus each center: (centers, rows, features)."""
        rows = self.node("Unsqueeze", self.x, self.constant(np.array([0], np.int64)))
        return self.node("Sub", rows, self.constant(centers[:, None, :]))

    def _path(self, op: Op) -> None:
        """The variables of the likeliest path, and for every option the log probability of the likeliest path that
        has it."""
        roots = self._weight(op, "roots")[np.asarray(op["root_of"], dtype=np.int64)]
        white = self.node("MatMul", self._from_each(self._weight(op, "means")), self.constant(roots))
        square = self.node("ReduceSumSquare", white, axes=[2], keepdims=0)
        bits = self.node("Mul", square, self.number(-0.5))
        joint = self.node("Add", bits, self.constant(self._weight(op, "log_weights")[:, None]))
        joint = self.node("Transpose", joint, perm=[1, 0])
        path = self.node("ArgMax", joint, axis=1, keepdims=0)
        z = self._by_row(self.x, self._weight(op, "inverses"), self._weight(op, "offsets"), path)
        options = self._weight(op, "options").T  # (options, paths)
        self.shape = (self._weight(op, "offsets").shape[1] + len(options),)
        if not len(options):
            self.x = z
            return
        below = self.node("Sub", joint, self.node("ReduceMax", joint, axes=[1], keepdims=1))
        below = self.node("Unsqueeze", below, self.constant(np.array([1], np.int64)))
        has = self.constant(np.where(options == 1, 0, NEVER).astype(np.float32)[None])
        logits = self.node("ReduceMax", self.node("Add", below, has), axes=[2], keepdims=0)
        self.x = self.node("Concat", z, logits, axis=1)

    def _leaf(self, op: Op) -> None:
        """The affine map of the path that the options are of."""
        options = self._weight(op, "options")
        if not options.shape[1]:  # one path
            self.x = self.node("MatMul", self.x, self.constant(self._weight(op, "directions")[0]))
            self.x = self.node("Add", self.x, self.constant(self._weight(op, "means")[0]))
            self.shape = (self._weight(op, "means").shape[1],)
            return
        chosen, values = self.columns(self.x, 0, options.shape[1]), self.columns(self.x, options.shape[1], 2**31)
        missing = self.node("MatMul", chosen, self.constant(options.T))
        missing = self.node("Sub", missing, self.constant(options.sum(axis=1)))
        path = self.node("ArgMax", missing, axis=1, keepdims=0)
        means = self._weight(op, "means")
        self.x = self._by_row(values, self._weight(op, "directions"), means, path)
        self.shape = (means.shape[1],)

    def _up(self, op: Op) -> None:
        """Variables of the networks as the tree has them, then logits."""
        n_own, at, chosen = len(op["target"]), len(op["target"]), []
        logits = self.columns(self.x, n_own, 2**31)
        for count in op["counts"]:
            best = self.node("ArgMax", self.columns(self.x, at, at + count), axis=1, keepdims=1)
            is_best = self.node("Equal", best, self.constant(np.arange(count)[None]))
            chosen.append(self.node("Cast", is_best, to=self.float32))
            at += count
        moved = self._bent(self.columns(self.x, 0, n_own), self._weight(op, "own"), self._weight(op, "shared"))
        if chosen:
            moved = self.node("Mul", moved, self._on(self.node("Concat", *chosen, axis=1), op))
        spread = np.eye(1 + max(op["target"]), dtype=np.float32)[op["target"]]
        placed = self.node("MatMul", moved, self.constant(spread))
        self.x, self.shape = self.node("Concat", placed, logits, axis=1), (spread.shape[1] + sum(op["counts"]),)

    def _down(self, op: Op) -> None:
        """And back: options, then the variables that the networks have."""
        n_options, target = sum(op["counts"]), np.asarray(op["target"], np.int64)
        chosen, values = self.columns(self.x, 0, n_options), self.columns(self.x, n_options, 2**31)
        values = self.node("Gather", values, self.constant(target), axis=1)
        own = self._bent(values, self._weight(op, "shared"), self._weight(op, "own"))
        own = self.node("Mul", own, self._on(chosen, op))
        self.x, self.shape = self.node("Concat", chosen, own, axis=1), (n_options + len(target),)

    def _on(self, chosen: str, op: Op) -> str:
        """1 for every variable of the networks of which all options above are chosen."""
        above = self._weight(op, "above")
        n = self.node("MatMul", chosen, self.constant(above))
        return self.node("Cast", self.node("Equal", n, self.constant(above.sum(axis=0))), to=self.float32)

    def _bent(self, x: str, start: np.ndarray, end: np.ndarray) -> str:
        """Along straight lines between knots: the first line, and what each knot adds to its slope."""
        falls = start[:, :1] > start[:, -1:]
        start, end = (np.where(falls, knots[:, ::-1], knots).astype(np.float64) for knots in (start, end))
        slopes = np.diff(end, axis=1) / np.diff(start, axis=1)
        first = end[:, 0] - slopes[:, 0] * start[:, 0]
        line = self.node("Add", self.node("Mul", x, self.number(slopes[:, 0])), self.number(first))
        two = self.constant(np.array([2], np.int64))
        beyond = self.node("Relu", self.node("Sub", self.node("Unsqueeze", x, two), self.number(start[:, 1:-1])))
        more = self.node("Mul", beyond, self.number(np.diff(slopes, axis=1)))
        return self.node("Add", line, self.node("ReduceSum", more, two, keepdims=0))

    def _by_row(self, x: str, matrices: np.ndarray, offsets: np.ndarray, path: str) -> str:
        """Each row times the matrix of its path, plus the offset of its path."""
        one = self.constant(np.array([1], np.int64))
        chosen = self.node("Gather", self.constant(matrices), path, axis=0)
        product = self.node("MatMul", self.node("Unsqueeze", x, one), chosen)
        return self.node(
            "Add", self.node("Squeeze", product, one), self.node("Gather", self.constant(offsets), path)
        )
