"""Servers over networks as they are."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.support.network import DEAD, HOST, network
from collectors.errors import NoAnswerError
from collectors.source.http_client import HttpClient
from config.integrations import HttpSettings
from tests.http_serving import serving


class Server(BaseHTTPRequestHandler):
    """Answers with an object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"a": 1}')

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_an_address_that_cannot_be_reached_is_named_so() -> None:
    with network() as names, serving(ThreadingHTTPServer((HOST, 0), Server)) as port:
        names.dead_first.add("server.test")
        names.lookup("server.test", port)  # from now on nothing answers at the dead address
        settings = HttpSettings(name="main", url=f"http://{DEAD}:{port}")
        client = HttpClient(settings)
        client.begin_poll(0.5)
        with pytest.raises(NoAnswerError, match=r"127\.0\.0\.9.*: no connection in time"):
            client.get("/")
        client.close()


def test_a_name_whose_first_address_is_dead() -> None:
    with network() as names, serving(ThreadingHTTPServer((HOST, 0), Server)) as port:
        names.dead_first.add("server.test")
        settings = HttpSettings(name="main", url=f"http://server.test:{port}")
        client = HttpClient(settings)
        try:
            client.begin_poll(settings.request_timeout_seconds)
            assert client.get("/") == {"a": 1}
        finally:
            client.close()
