"""The explorer over HTTP: the page from the package, and a model that decodes and encodes for it.

The page's files and what it shows are in memory before the first request; no request names a file.
"""

from __future__ import annotations

import json
import logging
import math
import socket
import threading
import webbrowser
from typing import Any

import numpy as np

from disentree.errors import UserError
from disentree.explorer.content import Explored, variables
from disentree.explorer.export import MODULES, asset
from disentree.explorer.guard import BadRequest, Guard

log = logging.getLogger(__name__)

MOST_CODES = 256  # in one request
_BYTES_PER_NUMBER = 32  # in JSON, generously


class Api:
    """What the page asks for, as functions of parsed JSON."""

    def __init__(self, explored: Explored):
        self.explored = explored
        self.variables = [variables(model.hierarchy_) for model in explored.models]
        self.columns = [{v["id"]: i for i, v in enumerate(own)} for own in self.variables]
        self.lock = threading.Lock()
        longest = max((len(v["id"]) for own in self.variables for v in own), default=0)
        most_variables = max(len(own) for own in self.variables)
        numbers = max(math.prod(explored.shape), MOST_CODES * most_variables)
        self.most_bytes = (1 << 16) + numbers * (_BYTES_PER_NUMBER + 6 * longest)

    def decode(self, request: Any) -> np.ndarray:
        """Observations for codes that name their active variables."""
        number = self._model(request)
        codes = request.get("codes")
        if not isinstance(codes, list) or not codes:
            raise BadRequest("codes must be a list of at least one code")
        if len(codes) > MOST_CODES:
            raise BadRequest(f"at most {MOST_CODES} codes are decoded at once, got {len(codes)}")
        Z = np.stack([self._code(number, code) for code in codes])
        model = self.explored.models[number]
        try:
            model.hierarchy_.validate(Z)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        with self.lock:
            return np.asarray(model.inverse_transform(Z))

    def encode(self, request: Any) -> dict[str, Any]:
        """The code of a row, in the units of the model."""
        number = self._model(request)
        row, shape = request.get("row"), self.explored.shape
        if not isinstance(row, list) or len(row) != math.prod(shape):
            got = f"{len(row)} of them" if isinstance(row, list) else type(row).__name__
            raise BadRequest(f"row must be a list of {math.prod(shape)} numbers, got {got}")
        if not all(_is_number(value) for value in row):
            raise BadRequest("row must hold finite numbers only")
        layer = getattr(self.explored.models[number], "input_", None)
        kind = np.float64 if getattr(layer, "config", {}).get("dtype") == "float64" else np.float32
        with self.lock:
            code = self.explored.models[number].transform(np.array(row, dtype=kind).reshape(1, *shape))[0]
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


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e30  # beyond that float32 overflows; NaN compares to nothing


# ------------------------------------------------------------------ HTTP


def make_app(explored: Explored, host: str = "127.0.0.1") -> Guard:
    """The ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise UserError("the explorer's server needs starlette: pip install 'disentree[explorer]'") from None

    api = Api(explored)
    content = json.dumps(explored.to_json(), ensure_ascii=False, allow_nan=False).encode()
    files = {name: asset(name).encode() for name in (*MODULES, "style.css")}

    async def page(request: Request) -> Response:
        return Response(asset("index.html"), media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise BadRequest(f"there is no file {name[:80]!r}", 404)
        return Response(files[name], media_type="text/css" if name.endswith(".css") else "text/javascript")

    async def what_is_shown(request: Request) -> Response:
        return Response(content, media_type="application/json")

    async def decode(request: Request) -> Response:
        X = await run_in_threadpool(api.decode, _parsed(await request.body()))
        kind = "<f8" if X.dtype == np.float64 else "<f4"
        headers = {"x-dtype": "float64" if kind == "<f8" else "float32"}
        return Response(X.astype(kind).tobytes(), media_type="application/octet-stream", headers=headers)

    async def encode(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(api.encode, _parsed(await request.body())))

    async def refused(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status_code=getattr(error, "status", 400))

    async def not_found(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        reason = "not found" if status == 404 else "method not allowed"
        return JSONResponse({"error": reason}, status_code=status)

    async def broken(request: Request, error: Exception) -> Response:
        log.error("a request failed", exc_info=error)
        return JSONResponse({"error": f"unexpected {type(error).__name__}: {error}"}, status_code=500)

    routes = [
        Route("/", page),
        Route("/assets/{name}", file),
        Route("/content.json", what_is_shown),
        Route("/api/decode", decode, methods=["POST"]),
        Route("/api/encode", encode, methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {BadRequest: refused, 404: not_found, 405: not_found, Exception: broken}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), host, api.most_bytes)


def _parsed(body: bytes) -> Any:
    def refuse(word: str) -> Any:
        raise BadRequest(f"{word} is not a number that can be decoded")

    try:
        return json.loads(body, parse_constant=refuse)
    except BadRequest:
        raise
    except (ValueError, RecursionError):
        raise BadRequest("the request is not JSON") from None


def listen(host: str, port: int) -> socket.socket:
    """A socket on the asked port, or on a free one if it is taken."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        # the protocol by its name: only then does asyncio switch off Nagle's delay, which costs 40 ms a request
        sock = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, wanted))
            sock.listen(64)
            return sock
        except OSError as error:
            sock.close()
            if wanted == 0 or isinstance(error, socket.gaierror):
                raise UserError(f"cannot listen on {host}: {error.strerror or error}") from None
    raise AssertionError


def address_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/"


def serve(explored: Explored, host: str = "127.0.0.1", port: int = 8765, *, browser: bool = True) -> None:
    """Serve the page until Ctrl-C."""
    try:
        import uvicorn
    except ImportError:
        raise UserError("the explorer's server needs uvicorn: pip install 'disentree[explorer]'") from None

    app = make_app(explored, host)
    sock = listen(host, port)
    if sock.getsockname()[1] != port and port:
        log.warning("port %d is taken: another one is used", port)
    address = address_of(sock)
    print(f"{address}  (Ctrl-C stops)", flush=True)
    if browser:
        webbrowser.open(address)  # what it asks waits until the server is there
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False)
    try:
        uvicorn.Server(config).run(sockets=[sock])
    except KeyboardInterrupt:
        pass
    finally:
        sock.close()
