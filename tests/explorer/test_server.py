"""What the server answers and what it refuses; covers `server.py` and `guard.py`."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

from disentree.explorer.guard import is_own_name
from disentree.explorer.server import listen


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
    for origin in ("http://evil.example", "null", "https://127.0.0.1:1", "http://localhost:9"):
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


def test_names_when_others_are_served():
    assert is_own_name("192.168.1.7:8765", "0.0.0.0")  # an address cannot be rebound
    assert is_own_name("laptop.example", "laptop.example")
    assert not is_own_name("evil.example", "0.0.0.0")


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
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=20)
            finally:
                process.kill()
    assert process.returncode == 0
    assert "Traceback" not in stderr
    assert f"port {port} is taken" in stderr


def _own_interrupts():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # runners may have it ignored
