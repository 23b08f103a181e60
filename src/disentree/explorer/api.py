"""What the page asks the model: decoding and encoding, as functions of parsed JSON.

Decode requests that arrive while the model is busy are decoded together in the next call: a network takes hardly
longer for a hundred codes than for one.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from disentree.errors import FarOut
from disentree.explorer.content import Explored, variables
from disentree.explorer.guard import BadRequest
from disentree.hierarchy import Hierarchy

T = TypeVar("T")

MAX_BATCH = 1024  # codes in one call of the model
MOST_CODES = 256  # in one request
_BYTES_PER_NUMBER = 32  # in JSON, generously


class Api:
    """What the page asks for, as functions of parsed JSON."""

    def __init__(self, explored: Explored, worker: Worker | None = None):
        self.explored = explored
        self.variables = [variables(model.hierarchy_) for model in explored.models]
        self.columns = [{v["id"]: i for i, v in enumerate(own)} for own in self.variables]
        self.worker = worker or Worker()  # for all models: they share the processor
        self.batches = [Batches(model, self.worker) for model in explored.models]
        longest = max((len(v["id"]) for own in self.variables for v in own), default=0)
        most_variables = max(len(own) for own in self.variables)
        numbers = max(math.prod(explored.shape), MOST_CODES * most_variables)
        self.most_bytes = (1 << 16) + numbers * (_BYTES_PER_NUMBER + 6 * longest)

    async def decode(self, request: Any) -> np.ndarray:
        """Observations for codes that name their active variables."""
        number, Z = self.named_codes(request)
        return await self.batches[number].decode(Z)

    def named_codes(self, request: Any) -> tuple[int, Float[np.ndarray, "n v"]]:
        """The number of the model and the codes of a request; not yet checked against its hierarchy."""
        number = self._model(request)
        codes = request.get("codes")
        if not isinstance(codes, list) or not codes:
            raise BadRequest("codes must be a list of at least one code")
        if len(codes) > MOST_CODES:
            raise BadRequest(f"at most {MOST_CODES} codes are decoded at once, got {len(codes)}")
        return number, np.stack([self._code(number, code) for code in codes])

    async def encode(self, request: Any) -> dict[str, Any]:
        """The code of a row, in the units of the model."""
        return await self.worker.call(self._encode, request)

    def _encode(self, request: Any) -> dict[str, Any]:
        number = self._model(request)
        row, shape = request.get("row"), self.explored.shape
        if not isinstance(row, list) or len(row) != math.prod(shape):
            got = f"{len(row)} of them" if isinstance(row, list) else type(row).__name__
            raise BadRequest(f"row must be a list of {math.prod(shape)} numbers, got {got}")
        if not all(_is_number(value) for value in row):
            raise BadRequest("row must hold finite numbers only")
        layer = getattr(self.explored.models[number], "input_", None)
        kind = np.float64 if getattr(layer, "config", {}).get("dtype") == "float64" else np.float32
        model = self.explored.models[number]
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("ignore", FarOut)
            code = model.transform(np.array(row, dtype=kind).reshape(1, *shape))[0]
        if not (np.isfinite(code) | ~model.hierarchy_.active(code[None])[0]).all():
            raise BadRequest("the row is too far out to be encoded")
        named = zip(self.variables[number], code, strict=True)
        return {"code": {v["id"]: float(value) for v, value in named if not np.isnan(value)}}

    def _model(self, request: Any) -> int:
        number = request.get("model", 0) if isinstance(request, dict) else None
        if not isinstance(number, int) or not 0 <= number < len(self.variables):
            raise BadRequest(f"model must be a whole number below {len(self.variables)}")
        return number

    def _code(self, number: int, code: Any) -> np.ndarray:
        if not isinstance(code, dict):
            raise BadRequest("a code must be an object of variables and their values")
        out = np.full(len(self.variables[number]), np.nan)
        for name, value in code.items():
            if name not in self.columns[number]:
                raise BadRequest(f"there is no variable {name[:80]!r}")
            if not _is_number(value):
                raise BadRequest(f"the value of {name!r} must be a finite number, got {str(value)[:80]}")
            out[self.columns[number][name]] = value
        return out


class Batches:
    """Decode requests of one model, joined while it is busy."""

    def __init__(self, model: Any, worker: Worker):
        self.model, self.worker = model, worker
        self._waiting: list[tuple[Float[np.ndarray, "n v"], asyncio.Future[np.ndarray]]] = []
        self._task: asyncio.Task[None] | None = None

    async def decode(self, Z: Float[np.ndarray, "n v"]) -> np.ndarray:
        """What `inverse_transform` gives, in one call for all requests that are waiting."""
        future: asyncio.Future[np.ndarray] = asyncio.get_running_loop().create_future()
        self._waiting.append((Z, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        await asyncio.sleep(0)  # requests that came in the same moment
        while self._waiting:
            batch = self._take()
            try:
                answers = await self.worker.call(self._decode, [Z for Z, _ in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # the client has left
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _take(self) -> list[tuple[Float[np.ndarray, "n v"], asyncio.Future[np.ndarray]]]:
        n_codes, count = 0, 0
        while count < len(self._waiting) and (count == 0 or n_codes + len(self._waiting[count][0]) <= MAX_BATCH):
            n_codes += len(self._waiting[count][0])
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _decode(self, requests: list[Float[np.ndarray, "_ v"]]) -> list[np.ndarray | Exception]:
        """An answer to each request: what it decodes to, or what is wrong with its codes."""
        answers: list[Any] = [_misfit(self.model.hierarchy_, requests)] * len(requests)
        if answers[0] is not None:  # at least one does not fit
            answers = [_misfit(self.model.hierarchy_, [Z]) for Z in requests]
        good = [i for i, problem in enumerate(answers) if problem is None]
        if good:
            X = np.asarray(self.model.inverse_transform(np.concatenate([requests[i] for i in good])))
            start = 0
            for i in good:
                answers[i] = X[start : start + len(requests[i])]
                start += len(requests[i])
        return answers


def _misfit(hierarchy: Hierarchy, codes: list[Float[np.ndarray, "_ v"]]) -> BadRequest | None:
    try:
        hierarchy.validate(np.concatenate(codes))
    except ValueError as error:
        return BadRequest(str(error))
    return None


class Worker:
    """A thread that makes calls one after the other, and does not keep the process from ending.

    It is one thread for good: torch sets up its own threads for every new one that calls it, which takes longer
    than to decode a code.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """What a function returns."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(set_value: Callable[[Any], None], value: Any) -> None:
            if not future.done():
                set_value(value)

        def run() -> None:
            try:
                outcome: tuple[Callable[[Any], None], Any] = future.set_result, function(*args)
            except Exception as error:
                outcome = future.set_exception, error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, *outcome)

        self._calls.put(run)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return await future

    def _run(self) -> None:
        while True:
            self._calls.get()()


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e30  # beyond that float32 overflows; NaN compares to nothing
