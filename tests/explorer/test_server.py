"""What the server answers and what it refuses; covers `server.py`, `api.py`, `guard.py` and
`connections.py`."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest

from disentree.explorer.api import Api
from disentree.explorer.guard import is_own_name
from disentree.explorer.server import listen, make_app, serve

from .conftest import serving, settled


def ask(address, method, path, body=None, **headers):
    netloc = urlsplit(address).netloc
    connection = http.client.HTTPConnection(netloc, timeout=10)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and not isinstance(body, bytes | str):
        body = json.dumps(body)
    if body is not None:
        given.setdefault("content-type", "application/json")
    try:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def decode(address, codes, **headers):
    return ask(address, "POST", "/api/decode", {"codes": codes}, **headers)


def code_of(explored, row=0):
    values = zip(explored.models[0].hierarchy_.variables, explored.codes()[0][row], strict=True)
    return {v.name: float(value) for v, value in values if not np.isnan(value)}


# ------------------------------------------------------------------ what it is for


def test_decoding_is_inverse_transform(address, explored):
    Z = explored.codes()[0]
    status, body, headers = decode(address, [code_of(explored, i) for i in range(len(Z))])
    assert status == 200
    assert headers["x-dtype"] == "float64"
    X = np.frombuffer(body, "<f8").reshape(len(Z), -1)
    assert np.array_equal(X, explored.models[0].inverse_transform(Z))


def test_encoding_is_transform(address, explored):
    for row in (0, 5):
        request = {"row": explored.X[row].tolist()}
        status, body, _ = ask(address, "POST", "/api/encode", request)
        assert status == 200
        assert json.loads(body)["code"] == pytest.approx(code_of(explored, row))


def test_the_page_and_what_it_shows(address, explored):
    status, body, headers = ask(address, "GET", "/")
    assert status == 200
    for name in re.findall(rb'(?:src|href)="(assets/[^"]+)"', body):
        assert ask(address, "GET", "/" + name.decode())[0] == 200
    assert "script-src 'self'" in headers["content-security-policy"]
    content = json.loads(ask(address, "GET", "/content.json")[1])
    assert content["title"] == explored.title
    assert len(content["models"][0]["variables"]) == explored.models[0].hierarchy_.n_variables


# ------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"nobody": 1}, "there is no variable 'nobody'"),
        ({"c1": float("nan")}, "NaN is not a number that can be decoded"),
        ({"c1": float("inf")}, "Infinity is not a number that can be decoded"),
        ({"c1": 7}, "must be an option index 0..1, got 7"),
        ({"c1": None}, "the value of 'c1' must be a finite number, got None"),
        ({"c1": "0"}, "must be a finite number"),
        ({"c1": True}, "must be a finite number"),
        ({"c1": 1e300}, "must be a finite number"),
        ({"c1": 10**400}, "must be a finite number"),
    ],
)
def test_bad_values(address, explored, change, sentence):
    names = {"c1": explored.models[0].hierarchy_.variables[0].name}
    code = code_of(explored) | {names.get(name, name): value for name, value in change.items()}
    status, body, _ = decode(address, [code])
    assert status == 400
    assert sentence.replace("c1", names["c1"]) in json.loads(body)["error"]
    assert decode(address, [code_of(explored)])[0] == 200


def test_inactive_and_missing_variables(address, explored):
    code = code_of(explored)
    inactive = next(v.name for v in explored.models[0].hierarchy_.variables if v.name not in code)
    status, body, _ = decode(address, [{**code, inactive: 0.5}])
    assert status == 400
    assert "is inactive" in json.loads(body)["error"]
    code.popitem()
    assert "must have a value" in json.loads(decode(address, [code])[1])["error"]


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[]", b"\xff\xfe", b"{}", b'{"codes": []}', b'{"codes": 3}', b'{"codes": [3]}',
     b'{"codes": [{}]}', b'{"model": 1, "codes": [{}]}', b'{"model": "x", "codes": [{}]}', b"[" * 5000,
     b'{"codes": [{"\\ud800": 1}]}', b'{"codes": [{"\xed\xa0\x80": 1}]}', b'{"row": "\\udfff"}',
     json.dumps({"codes": [{}] * 300}).encode(), b'{"row": [1, 2]}', b'{"row": "x"}', b'{"row": null}'],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/decode", "/api/encode"])
def test_bad_requests_get_a_sentence(address, body, path):
    status, answer, headers = ask(address, "POST", path, body)
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert json.loads(answer)["error"]


def test_rows_must_be_finite(address, explored):
    row = explored.X[0].tolist()
    row[3] = float("nan")
    assert ask(address, "POST", "/api/encode", {"row": row})[0] == 400
    row[3] = "1"
    assert ask(address, "POST", "/api/encode", {"row": row})[0] == 400


def test_huge_bodies_are_not_read(address, explored):
    with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=10) as sock:
        head = (
            f"POST /api/decode HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nContent-Type: application/json\r\n"
        )
        sock.sendall(f"{head}Content-Length: 99999999999\r\n\r\n".encode())
        answer = b""  # before a byte of the body was sent; it may come in more than one packet
        while b"at most" not in answer and (packet := sock.recv(65536)):
            answer += packet
    assert b"413" in answer.splitlines()[0]
    assert b"at most" in answer
    with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=10) as sock:
        sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(200):
                sock.sendall(chunk)
        except OSError:
            pass  # it was closed in our face
        else:
            assert b"413" in sock.recv(65536).splitlines()[0]
    assert decode(address, [code_of(explored)])[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/config.json", "/../config.json", "/assets/../server.py", "/assets/..%2fserver.py", "/assets/%2e%2e/run.py",
     "/assets//etc/passwd", "/assets/server.py", "//etc/passwd", "/model.json", "/assets/"],
)  # fmt: skip
def test_no_other_file_can_be_read(address, path):
    status, body, _ = ask(address, "GET", path)
    assert status == 404
    assert set(json.loads(body)) == {"error"}


def test_only_the_page_itself_may_call(address, explored):
    own, codes = address.rstrip("/"), [code_of(explored)]
    assert decode(address, codes, origin=own)[0] == 200
    for origin in ("http://evil.example", "null", "https://127.0.0.1:1", "http://localhost:9", "http://["):
        status, body, headers = decode(address, codes, origin=origin)
        assert status == 403
        assert "may not call" in json.loads(body)["error"]
        assert "access-control-allow-origin" not in headers
    assert decode(address, codes, sec_fetch_site="cross-site")[0] == 403
    assert ask(address, "GET", "/content.json", sec_fetch_site="cross-site")[0] == 403
    assert ask(address, "GET", "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")[0] == 200  # a link
    assert decode(address, codes, content_type="text/plain")[0] == 415
    assert ask(address, "PUT", "/api/decode", b"{}")[0] == 405
    assert ask(address, "GET", "/api/decode")[0] == 405


def test_other_names_for_this_machine_are_refused(address):
    for host in ("evil.example", "localhost.evil.example", "evil.example:8765", "", "[", "192.168.1.7"):
        assert ask(address, "GET", "/content.json", host=host)[0] in (400, 403)
    for host in ("localhost:1234", "127.0.0.1", "[::1]:80"):
        assert ask(address, "GET", "/content.json", host=host)[0] == 200


@pytest.mark.parametrize(
    ("host", "served", "own"),
    [
        ("localhost:1234", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("192.168.1.7", "127.0.0.1", False),
        ("192.168.1.7:8765", "192.168.1.7", True),
        ("192.168.1.8:8765", "192.168.1.7", False),
        ("localhost", "192.168.1.7", False),
        ("Laptop.example", "laptop.example", True),
        ("evil.example", "laptop.example", False),
        ("10.0.0.5", "0.0.0.0", True),  # this end of the connection
        ("10.0.0.6", "0.0.0.0", False),
        ("evil.example", "0.0.0.0", False),
        ("", "0.0.0.0", False),
        ("[", "0.0.0.0", False),
    ],
)
def test_only_the_served_name_is_answered(host, served, own):
    assert is_own_name(host, served, "10.0.0.5") is own


# ------------------------------------------------------------------ beyond this machine


def test_beyond_this_machine_nothing_is_answered_without_the_token(explored):
    with serving(explored, "0.0.0.0", token="secret") as address:
        assert urlsplit(address).path == "/secret/"
        own = f"http://{urlsplit(address).netloc}"
        for path in ("/", "/content.json", "/secret", "/other/content.json", "/secre/", "/secrets/", "/%73ecre/"):
            status, body, _ = ask(own, "GET", path)
            assert status == 403
            assert "token" in json.loads(body)["error"]
        assert ask(own, "POST", "/api/decode", {"codes": [code_of(explored)]})[0] == 403
        assert ask(own, "GET", "/secret/")[0] == 200
        assert ask(own, "GET", "/secret/assets/main.js")[0] == 200
        assert ask(own, "POST", "/secret/api/decode", {"codes": [code_of(explored)]})[0] == 200
        assert ask(own, "GET", "/secret/../secret/content.json")[0] == 404
        assert ask(own, "GET", "/secret/", host="192.0.2.1")[0] == 403


def test_the_page_works_behind_its_token(browse, explored):
    with serving(explored, "0.0.0.0", token="secret") as address:
        settled(browse(address))


def test_the_command_makes_a_token_for_other_machines(explored, monkeypatch, capsys):
    served = []

    class Server:
        def __init__(self, app):
            self.app = app

        def run(self, sockets):
            served.append(self.app.token)

    monkeypatch.setattr("disentree.explorer.server.make_server", Server)
    for _ in range(2):
        serve(explored, "0.0.0.0", 0, browser=False)
    serve(explored, "127.0.0.1", 0, browser=False)
    printed = capsys.readouterr().out
    assert len(set(served)) == 3
    assert served[2] is None
    assert all(len(token) >= 20 and f"/{token}/" in printed for token in served[:2])
    assert "other machines can connect to 0.0.0.0" in printed


# ------------------------------------------------------------------ slow clients, many clients


def opened(address, text=""):
    sock = socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=10)
    sock.sendall(text.encode())
    return sock


def head_of(address, length):
    return (
        f"POST /api/decode HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )


def test_a_body_that_does_not_come_is_given_up(explored):
    with serving(explored, body_seconds=0.5) as address:
        began = time.monotonic()
        with opened(address, head_of(address, 100) + '{"codes"') as sock:
            assert decode(address, [code_of(explored)])[0] == 200  # others are not held up
            answer = sock.recv(65536)
            assert b"408" in answer.splitlines()[0]
            assert b"too slowly" in answer + sock.recv(65536)
        assert time.monotonic() - began < 5


def test_a_trickle_is_given_up_as_well(explored):
    with serving(explored, body_seconds=0.5) as address, opened(address, head_of(address, 1000)) as sock:
        began = time.monotonic()
        sock.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() - began < 8:
            sock.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                answer = sock.recv(65536)
        assert b"408" in answer.splitlines()[0]


def test_a_head_that_does_not_come_is_given_up(explored):
    with serving(explored, head_seconds=0.5) as address:
        for text in ("", "GET / HTTP/1.1\r\nHost: x"):
            with opened(address, text) as sock:
                assert sock.recv(65536) == b""
        with opened(
            address, f"GET /content.json HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\nGET /"
        ) as sock:
            assert b"200" in sock.recv(15)
            while sock.recv(65536):  # until it is closed, the second head unfinished
                pass


def test_slow_connections_do_not_lock_others_out(explored):
    with serving(explored, max_connections=20) as address, contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(opened(address, "GET / HTTP/1.1\r\n"))
        assert ask(address, "GET", "/")[0] == 200


def test_many_slow_bodies_do_not_hold_up_others(explored):
    with serving(explored) as address, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(opened(address, head_of(address, 100))) for _ in range(80)]
        began = time.monotonic()
        assert decode(address, [code_of(explored)])[0] == 200
        assert time.monotonic() - began < 5
        assert b"408" in slow[-1].recv(65536)  # more than are waited for


def in_a_loop(function):
    """What an asynchronous function returns; in a thread, since Playwright's loop may be running in this one."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(function())).result()


def test_decodes_that_wait_are_decoded_together(explored):
    calls = []

    class Slow:
        hierarchy_ = explored.models[0].hierarchy_

        def inverse_transform(self, Z):
            calls.append(len(Z))
            time.sleep(0.05)
            return explored.models[0].inverse_transform(Z)

    api = Api(dataclasses.replace(explored, models=(Slow(),)))
    codes = [code_of(explored, i) for i in range(len(explored.X))]
    wanted = explored.models[0].inverse_transform(explored.codes()[0])

    async def ask_all():
        requests = [{"codes": [codes[i % len(codes)]] * (1 + i % 2)} for i in range(1000)]
        return await asyncio.gather(*(api.decode(request) for request in requests))

    answers = in_a_loop(ask_all)
    for i, X in enumerate(answers):
        assert len(X) == 1 + i % 2
        np.testing.assert_allclose(X[0], wanted[i % len(codes)], atol=1e-6)  # float32
    assert sum(calls) == 1500
    assert max(calls) <= 1024
    assert len(calls) <= 4


def test_a_model_that_fails_fails_its_requests_only(explored):
    class Failing:
        hierarchy_ = explored.models[0].hierarchy_
        works = False

        def inverse_transform(self, Z):
            if not self.works:
                raise RuntimeError("out of memory")
            return Z

    api = Api(dataclasses.replace(explored, models=(Failing(),)))

    async def ask_twice():
        with pytest.raises(RuntimeError, match="out of memory"):
            await api.decode({"codes": [code_of(explored)]})
        Failing.works = True
        return await api.decode({"codes": [code_of(explored)]})

    assert len(in_a_loop(ask_twice)) == 1


# ------------------------------------------------------------------ the command


def test_a_free_port_if_the_asked_one_is_taken():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with listen("127.0.0.1", port) as other:
            assert other.getsockname()[1] != port
            assert other.getsockname()[0] == "127.0.0.1"


def test_the_command_serves_until_it_is_stopped(runs):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "disentree",
            "explore",
            runs[0].folder,
            "--no-browser",
            "--port",
            str(port),
        ]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes, preexec_fn=_own_interrupts) as process:
            try:
                address = process.stdout.readline().split()[0]
                assert ask(address, "GET", "/")[0] == 200
                assert urlsplit(address).port != port
                with opened(address, head_of(address, 100)), opened(address, "GET /"), opened(address):
                    time.sleep(0.3)
                    began = time.monotonic()
                    process.send_signal(signal.SIGINT)  # ends at once, though others are in the middle
                    _, stderr = process.communicate(timeout=20)
                    assert time.monotonic() - began < 3
            finally:
                process.kill()
    assert process.returncode == 0
    assert "Traceback" not in stderr
    assert f"port {port} is taken" in stderr


def _own_interrupts():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # runners may have it ignored


def test_another_tree_is_shown_with_the_same_thread_and_its_own_limit(explored):
    guard = make_app(explored)
    before, limit = guard.app.api, guard.most_bytes()
    guard.app.show(explored)
    assert guard.app.api is not before
    assert guard.app.api.worker is before.worker
    guard.app.api.most_bytes = limit + 1
    assert guard.most_bytes() == limit + 1
