"""A way to a server on which requests fail: what a client sees of it, and what the server."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.support.network import Failure, Network, Path
from tests.http_serving import serving


@pytest.fixture
def asked() -> list[bytes]:
    return []


@pytest.fixture
def path(asked: list[bytes]) -> Iterator[Path]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    network = Network()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield network.path(port)
        network.close()


def put(path: Path, body: bytes) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", path.port, timeout=20)
    connection.request("PUT", "/", body)
    return connection.getresponse()


def test_a_refused_request_is_answered_and_does_not_arrive(path: Path, asked: list[bytes]) -> None:
    path.failing = lambda _: Failure.REFUSED
    answer = put(path, b"one")
    assert (answer.status, answer.will_close, asked) == (503, True, [])


def test_a_request_that_is_cut_does_not_arrive(path: Path, asked: list[bytes]) -> None:
    path.failing = lambda _: Failure.CUT
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        put(path, b"one")
    assert asked == []


def test_a_request_whose_answer_is_lost_was_carried_out(path: Path, asked: list[bytes]) -> None:
    path.failing = lambda piece: Failure.ANSWER_LOST if piece.startswith(b"PUT ") else None
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        put(path, b"one")
    assert asked == [b"one"]
    path.failing = None
    assert put(path, b"two").status == 200
    assert asked == [b"one", b"two"]
