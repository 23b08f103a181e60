"""Requests to the explorer's server, over sockets: an answer of ours to each, and nobody else is held up."""

from __future__ import annotations

import json
import logging
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np

from disentree.explorer import from_run
from disentree.explorer.connections import limited_connections
from disentree.explorer.content import variables
from disentree.explorer.server import address_of, listen, make_app, make_server
from fuzz.driver import Failure, damaged
from fuzz.folders import STRANGE, Folders

TIMEOUT = 8.0  # seconds without a byte
ANSWERS = (200, 400, 403, 404, 405, 408, 413, 415, 431)
HEADERS = [
    "Host: evil.example",
    "Host: localhost:1",
    "Host:",
    "Host: 127.0.0.1, evil",
    "Origin: http://evil.example",
    "Origin: null",
    "Content-Type: text/plain",
    "Content-Type: application/json; x=1",
    "Sec-Fetch-Site: cross-site",
    "Content-Length: -1",
    "Content-Length: 99999999999",
    "Content-Length: ٣",
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "Connection: close",
    "X: " + "y" * 5000,
    "Bad header",
    "X: \x01",
    "Content-Length: 5",
    "Accept-Encoding: gzip",
    "Host: [::1]",
    "Host: [",
    "Origin: http://[",
    "Cookie: a=b",
]
PATHS = [
    "/",
    "/content.json",
    "/assets/style.css",
    "/assets/../server.py",
    "/assets/%2e%2e/x",
    "/config.json",
    "//",
    "*",
    "http://evil.example/",
    "/api/decode?x=1",
    "/%00",
    "/api",
    "/api/decode/",
    "/" + "a" * 9000,
    "/é",
    "/%ff",
    "",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "G E T", "\x00"]


class Requests(Folders):
    """The server of a run of a quick model."""

    name = "requests"

    def __init__(self, folder: Path) -> None:
        from disentree.runs import Run

        super().__init__(folder)
        explored = from_run(Run.open(self.good), device="cpu")
        self.model, self.rows_shown = explored.models[0], explored.X
        self.codes = explored.codes()[0]
        self.ids = [v["id"] for v in variables(self.model.hierarchy_)]
        logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())  # its line for what is not HTTP
        self.sock = listen("127.0.0.1", 0)
        self.host = address_of(self.sock).split("/")[2]
        app = make_app(explored)
        app.body_seconds = 1.0  # as in a hurry: the tries are many
        self.server = make_server(app)
        self.server.config.http = limited_connections(head_seconds=1.0)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.sock]}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.sock.close()

    def attempt(self, rng: np.random.Generator, folder: Path) -> bool:
        status = self._strange(rng)
        if status not in (*ANSWERS, None):  # None: the server hung up on what is not HTTP
            raise Failure(f"answered with {status}")
        self._good(rng)
        return status == 200

    def _strange(self, rng: np.random.Generator) -> int | None:
        body = self._body(rng)
        method, path = ("POST", str(rng.choice(["/api/decode", "/api/encode"])))
        headers = [f"Host: {self.host}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        if rng.random() < 0.2:
            path = PATHS[rng.integers(len(PATHS))]
        if rng.random() < 0.2:
            method = METHODS[rng.integers(len(METHODS))]
        for _ in range(int(rng.choice([0, 0, 0, 1, 2]))):
            if rng.random() < 0.5:
                headers[rng.integers(len(headers))] = HEADERS[rng.integers(len(HEADERS))]
            else:
                headers.append(HEADERS[rng.integers(len(HEADERS))])
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers]) + "\r\n\r\n"
        request = head.encode() + body
        if rng.random() < 0.2:
            request = damaged(request, rng)
        return self._send(request)[0]

    def _body(self, rng: np.random.Generator) -> bytes:
        code: dict[str, Any] = {
            name: value for name, value in zip(self.ids, self._code(rng).tolist(), strict=True) if value == value
        }
        request: Any = {"codes": [code]} if rng.random() < 0.6 else {"row": [0.0] * 64}
        strange = STRANGE[rng.integers(len(STRANGE))]
        kind = rng.integers(8)
        if kind == 0:
            code[str(rng.choice([*self.ids, "x", "#0", "__proto__"]))] = strange
        elif kind == 1:
            request[str(rng.choice(["codes", "model", "row", "new"]))] = strange
        elif kind == 2:
            request = strange
        elif kind == 3:
            request = {"codes": [code] * int(rng.choice([2, 256, 257, 2000]))}
        elif kind == 4:
            return str(
                rng.choice(["[" * 50_000, '{"codes":' * 9000, "NaN", '{"row": [1e999]}', '"\\ud800"', ""])
            ).encode()
        elif kind == 5:
            return damaged(json.dumps(request).encode(), rng)
        return json.dumps(request).encode()

    def _code(self, rng: np.random.Generator) -> np.ndarray:
        return self.codes[rng.integers(len(self.codes))]

    def _good(self, rng: np.random.Generator) -> None:
        """After it, another client must get the right answer."""
        code = self._code(rng)
        named = {name: value for name, value in zip(self.ids, code.tolist(), strict=True) if value == value}
        body = json.dumps({"codes": [named]}).encode()
        head = f"POST /api/decode HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        status, answer = self._send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        if status != 200:
            raise Failure(f"then a good request was answered with {status}: {answer[:200]!r}")
        got = np.frombuffer(answer, "<f8" if len(answer) == 8 * 64 else "<f4")
        if not np.allclose(got, self.model.inverse_transform(code[None])[0].reshape(-1), rtol=1e-5, atol=1e-6):
            raise Failure("then a good request got a wrong answer")

    def _send(self, request: bytes) -> tuple[int | None, bytes]:
        """The status and body of the answer; None if the server hung up without one."""
        host, port = self.host.split(":")
        with socket.create_connection((host, int(port)), timeout=TIMEOUT) as connection:
            data = b""
            try:
                connection.sendall(request)
                while part := connection.recv(1 << 16):
                    data = (data + part).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
                    head, end, body = data.partition(b"\r\n\r\n")
                    if end and (request.startswith(b"HEAD") or len(body) >= _length(head)):
                        break
            except (ConnectionError, BrokenPipeError):  # it need not listen to nonsense until its end
                pass
            except TimeoutError:
                raise Failure(f"no answer within {TIMEOUT:g} s to {request[:200]!r}") from None
        if not data.startswith(b"HTTP/1.1 "):
            return None, b""
        return int(data[9:12]), data.partition(b"\r\n\r\n")[2]


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
