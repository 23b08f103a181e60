"""The explorer over HTTP: the page from the package, and a model that decodes and encodes for it.

The page's files and what it shows are in memory before the first request; no request names a file.
"""

from __future__ import annotations

import gc
import json
import logging
import secrets
import socket
import webbrowser
from typing import Any

import numpy as np

from disentree.errors import UserError
from disentree.explorer.api import Api, Worker
from disentree.explorer.connections import limited_connections
from disentree.explorer.content import Explored
from disentree.explorer.export import MODULES, asset
from disentree.explorer.guard import BadRequest, Guard, is_loopback
from disentree.explorer.loading import from_run
from disentree.explorer.steering import Steerer
from disentree.utils.extras import needing

log = logging.getLogger(__name__)

SMALL_BODY = 1 << 16  # bytes; larger ones are parsed in a thread


class App:
    """The ASGI application: a few addresses, each with its method.

    A framework would take as long for a request as all the rest does (`benchmarks/explorer_load.py`).
    """

    def __init__(self, explored: Explored, steerer: Steerer | None = None) -> None:
        self._parser, self._worker = Worker(), Worker()
        self._files = {"/": (asset("index.html").encode(), "text/html; charset=utf-8")}
        self._steerer = steerer
        self.show(explored)
        for name in (*MODULES, "style.css"):
            kind = "text/css" if name.endswith(".css") else "text/javascript"
            self._files[f"/assets/{name}"] = asset(name).encode(), f"{kind}; charset=utf-8"
        self._calls = {"/api/decode": self._decode, "/api/encode": self._encode}
        if steerer is not None:
            self._calls |= {"/api/steer": self._steer, "/api/steered": self._steered}

    def show(self, explored: Explored) -> None:
        """Answer for these models from now on."""
        self.api = Api(explored, self._worker)
        about = {**explored.to_json(), "served": self._steerer is not None}
        content = json.dumps(about, ensure_ascii=False, allow_nan=False).encode()
        self._files["/content.json"] = content, "application/json"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body, headers = await self._answer(scope["method"], scope["path"], receive)
            status = 200
        except BadRequest as error:
            status, body, headers = error.status, *_json({"error": str(error)})
        except Exception as error:
            log.error("a request failed", exc_info=error)
            status, body, headers = 500, *_json({"error": f"unexpected {type(error).__name__}: {error}"})
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        named.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": named})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, method: str, path: str, receive: Any) -> tuple[bytes, dict[str, str]]:
        call, file = self._calls.get(path), self._files.get(path)
        if call is None and file is None:
            raise BadRequest("not found", 404)
        if (method == "POST") is not (call is not None):
            raise BadRequest("method not allowed", 405)
        if file is not None:
            return file[0], {"content-type": file[1]}
        assert call is not None
        body = (await receive())["body"]
        return await call(parsed(body) if len(body) <= SMALL_BODY else await self._parser.call(parsed, body))

    async def _decode(self, request: Any) -> tuple[bytes, dict[str, str]]:
        X = await self.api.decode(request)
        kind = "float64" if X.dtype == np.float64 else "float32"
        dtype = "<f8" if kind == "float64" else "<f4"
        return X.astype(dtype).tobytes(), {"content-type": "application/octet-stream", "x-dtype": kind}

    async def _encode(self, request: Any) -> tuple[bytes, dict[str, str]]:
        return _json(await self.api.encode(request))

    async def _steer(self, request: Any) -> tuple[bytes, dict[str, str]]:
        """Begin to change the tree of the run; the page then asks `_steered` whether that is done."""
        steerer = self._steerer
        assert steerer is not None
        steerer.begin(request, lambda run: self.show(from_run(run, device=steerer.device)))
        return _json({})

    async def _steered(self, request: Any) -> tuple[bytes, dict[str, str]]:
        assert self._steerer is not None
        return _json({"busy": self._steerer.is_busy, "problem": self._steerer.problem})


def _json(value: Any) -> tuple[bytes, dict[str, str]]:
    return json.dumps(value).encode(), {"content-type": "application/json"}


def make_app(
    explored: Explored, host: str = "127.0.0.1", token: str | None = None, steerer: Steerer | None = None
) -> Guard:
    """The application and the guard in front of it; with a token, the first part of every path must be this."""
    app = App(explored, steerer)
    return Guard(app, host, lambda: app.api.most_bytes, token)


def parsed(body: bytes) -> Any:
    """The JSON of a request, or a `BadRequest`."""

    def refuse(word: str) -> Any:
        raise BadRequest(f"{word} is not a number that can be decoded")

    try:
        text = body.decode("utf-8")
        value = json.loads(text, parse_constant=refuse)
        if "\\u" in text:  # half of a surrogate pair is no character, and no answer could repeat it
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
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
            sock.listen(1024)
            return sock
        except OSError as error:
            sock.close()
            if wanted == 0 or isinstance(error, socket.gaierror):
                raise UserError(f"cannot listen on {host}: {error.strerror or error}") from None
    raise AssertionError


def address_of(sock: socket.socket, token: str | None = None) -> str:
    """The URL of a listening socket, for a browser on this machine."""
    host, port = sock.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/" + (f"{token}/" if token else "")


def make_server(app: Guard) -> Any:
    """A uvicorn server that limits slow connections and stops at once."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for connection in list(self.server_state.connections):
                connection.transport.abort()  # nobody waits for what a client has still to send
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=limited_connections(),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,  # for what is being decoded
    )
    return Server(config)


def serve(
    explored: Explored,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    browser: bool = True,
    steerer: Steerer | None = None,
) -> None:
    """Serve the page until Ctrl-C, on a free port if this one is taken.

    Beyond this machine's loopback the address carries a token, without which nothing is answered.
    """
    with needing("the explorer's server"):
        import uvicorn  # noqa: F401

    token = None if is_loopback(host) else secrets.token_urlsafe(16)
    app = make_app(explored, host, token, steerer)
    sock = listen(host, port)
    if sock.getsockname()[1] != port and port:
        log.warning("port %d is taken: another one is used", port)
    address = address_of(sock, token)
    print(f"{address}  (Ctrl-C stops)", flush=True)
    if token:
        print(f"other machines can connect to {host}; only addresses with the token are answered", flush=True)
    if browser:
        webbrowser.open(address)  # its first request waits until the server is there
    gc.collect()
    gc.freeze()  # what is loaded stays: looking through it again and again would take a third of a request's time
    try:
        make_server(app).run(sockets=[sock])
    except KeyboardInterrupt:
        pass
    finally:
        sock.close()
