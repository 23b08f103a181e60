"""Access to the explorer: only its own page may call it.

A page of another site can make a browser send requests here, and with a name of its own that resolves to this
machine (DNS rebinding) it could read the answers. So the name in the Host header must be one of ours, a request
that comes from a page must come from our own, and what is sent must be JSON, small, and not too slow. Where other
machines can connect, every path must also start with a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::", "")
BODY_SECONDS = 10.0  # for the body of a request, and a second more for every MIN_PACE bytes
MIN_PACE = 50_000
MAX_SLOW_BODIES = 64  # bodies that are waited for at the same time
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class BadRequest(ValueError):
    """A request that cannot be answered, with the reason in one sentence."""

    def __init__(self, sentence: str, status: int = 400):
        super().__init__(sentence)
        self.status = status


class Guard:
    """An ASGI application in front of another that turns away what is not the page's own."""

    def __init__(
        self,
        app: App,
        host: str = "127.0.0.1",
        most_bytes: Callable[[], int] = lambda: 1 << 20,
        token: str | None = None,
    ) -> None:
        self.app, self.host, self.most_bytes, self.token = app, host, most_bytes, token
        self.body_seconds = BODY_SECONDS
        self._slow_bodies = 0

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise BadRequest("only HTTP is spoken here")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        try:
            scope = self._without_token(scope)
            self._check(scope)
            body = await self._body(scope, receive)
        except BadRequest as error:
            await _answer(send_with_headers, error)
            return

        async def receive_again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            await self.app(scope, receive_again, send_with_headers)
        except asyncio.CancelledError:  # the server stops
            return

    def _without_token(self, scope: Scope) -> Scope:
        """The scope with the token taken off its path; an error if it is not there."""
        if self.token is None:
            return scope
        given, slash, rest = scope["path"].removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            raise BadRequest("open the address that the server printed: it contains a token", 403)
        path = f"/{rest}"
        return {**scope, "path": path, "raw_path": path.encode("utf-8", "replace")}

    def _check(self, scope: Scope) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not is_own_name(host, self.host, (scope.get("server") or ("",))[0]):
            raise BadRequest(f"this server does not go by the name {host!r}", 403)
        origin = headers.get("origin")
        if origin is not None and _name_in(origin) != host.lower():
            raise BadRequest(f"pages of {origin!r} may not call this server", 403)
        site = headers.get("sec-fetch-site", "none")
        opened = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if site not in ("none", "same-origin") and not opened:
            raise BadRequest("only the page itself may call this server", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise BadRequest(f"{scope['method']} is not answered here", 405)
        if scope["method"] == "POST" and headers.get("content-type", "").split(";")[0] != "application/json":
            raise BadRequest("a request must be of type application/json", 415)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self.most_bytes():
            raise self._too_large()

    async def _body(self, scope: Scope, receive: Any) -> bytes:
        body, more = b"", scope["method"] == "POST"
        clock = asyncio.get_running_loop().time
        began = clock()
        while more:
            message = await self._part(receive, began + self.body_seconds + len(body) / MIN_PACE - clock())
            if message["type"] == "http.disconnect":
                raise BadRequest("the request was cut short")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.most_bytes():
                raise self._too_large()
        return body

    async def _part(self, receive: Any, seconds: float) -> Message:
        """The next part of a body. The few that are waited for cannot hold up those that are there."""
        if self._slow_bodies >= MAX_SLOW_BODIES:
            seconds = min(seconds, 0.1)
        self._slow_bodies += 1
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                return await receive()
        except TimeoutError:
            raise BadRequest("the request came too slowly", 408) from None
        finally:
            self._slow_bodies -= 1

    def _too_large(self) -> BadRequest:
        return BadRequest(f"a request may have at most {self.most_bytes():,} bytes", 413)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to a host."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own_name(host: str, served: str, local_address: str = "") -> bool:
    """Whether a Host header, perhaps with a port, names this server; ports may differ, since a tunnel has its own.

    `served` is the name or address that the server was started with, `local_address` this end of the connection,
    which is what counts if all addresses are served.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return False
    names = {served.lower()}
    if is_loopback(served):
        names.update(LOOPBACK)
    elif served in WILDCARDS:
        hostname = socket.gethostname().lower()
        names = {*LOOPBACK, local_address.lower(), hostname, f"{hostname}.local"}
    return bool(name) and name in names


def _name_in(origin: str) -> str:
    """The host and port of an Origin header; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


async def _answer(send: Callable[[Message], Awaitable[None]], error: BadRequest) -> None:
    body = json.dumps({"error": str(error)}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
