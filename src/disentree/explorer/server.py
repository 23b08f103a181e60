"""The explorer over HTTP: the page from the package, and a model that decodes and encodes for it.

The page's files and what it shows are in memory before the first request; no request names a file.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
import webbrowser
from typing import Any

import numpy as np

from disentree.errors import UserError
from disentree.explorer.api import Api
from disentree.explorer.connections import limited_connections
from disentree.explorer.content import Explored
from disentree.explorer.export import MODULES, asset
from disentree.explorer.guard import BadRequest, Guard, is_loopback

log = logging.getLogger(__name__)

SMALL_BODY = 1 << 16  # bytes; larger ones are parsed in a thread

# ------------------------------------------------------------------ HTTP


def make_app(explored: Explored, host: str = "127.0.0.1", token: str | None = None) -> Guard:
    """The ASGI application.

    Parameters
    ----------
    explored : Explored
        What to show.
    host : str, default="127.0.0.1"
        The name or address that is served.
    token : str, default=None
        If given, the first part of every path must be this.

    Returns
    -------
    Guard
    """
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
        X = await api.decode(await _json_of(request))
        kind = "<f8" if X.dtype == np.float64 else "<f4"
        headers = {"x-dtype": "float64" if kind == "<f8" else "float32"}
        return Response(X.astype(kind).tobytes(), media_type="application/octet-stream", headers=headers)

    async def encode(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(api.encode, await _json_of(request)))

    async def _json_of(request: Request) -> Any:
        body = await request.body()
        return parsed(body) if len(body) <= SMALL_BODY else await run_in_threadpool(parsed, body)

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
    return Guard(Starlette(routes=routes, exception_handlers=handlers), host, api.most_bytes, token)


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
            sock.listen(64)
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


def serve(explored: Explored, host: str = "127.0.0.1", port: int = 8765, *, browser: bool = True) -> None:
    """Serve the page until Ctrl-C.

    Beyond this machine's loopback the address carries a token, without which nothing is answered.

    Parameters
    ----------
    explored : Explored
        What to show.
    host : str, default="127.0.0.1"
        The name or address to listen on.
    port : int, default=8765
        The port; a free one is used if it is taken.
    browser : bool, default=True
        Whether to open the page in a browser.
    """
    try:
        import uvicorn  # noqa: F401
    except ImportError:
        raise UserError("the explorer's server needs uvicorn: pip install 'disentree[explorer]'") from None

    token = None if is_loopback(host) else secrets.token_urlsafe(16)
    app = make_app(explored, host, token)
    sock = listen(host, port)
    if sock.getsockname()[1] != port and port:
        log.warning("port %d is taken: another one is used", port)
    address = address_of(sock, token)
    print(f"{address}  (Ctrl-C stops)", flush=True)
    if token:
        print(f"other machines can connect to {host}; only addresses with the token are answered", flush=True)
    if browser:
        webbrowser.open(address)  # its first request waits until the server is there
    try:
        make_server(app).run(sockets=[sock])
    except KeyboardInterrupt:
        pass
    finally:
        sock.close()
