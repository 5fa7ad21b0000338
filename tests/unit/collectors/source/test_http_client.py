"""Servers over networks as they are."""

from __future__ import annotations

import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.support.certificates import key_pair
from bench.support.network import DEAD, HOST, network
from collectors.errors import CollectorError, NoAnswerError
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


def test_a_certificate_that_was_renewed_is_shown_without_a_restart(tmp_path: Path) -> None:
    authorities = [key_pair(tmp_path, name, None) for name in ("first", "second")]
    key_pair(tmp_path, "server", authorities[0])
    key_pair(tmp_path, "client", authorities[0])
    server = ThreadingHTTPServer((HOST, 0), Server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "second.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as port:
        settings = HttpSettings(
            name="main",
            url=f"https://{HOST}:{port}",
            ca_file=tmp_path / "first.pem",
            certificate_file=tmp_path / "client.pem",
            key_file=tmp_path / "client.key",
        )
        client = HttpClient(settings)
        with pytest.raises(CollectorError):
            client.get("/")
        (tmp_path / "client.key").write_text("half of a new pair")
        client.begin_poll(5.0)
        key_pair(tmp_path, "client", authorities[1])
        client.begin_poll(5.0)
        assert client.get("/") == {"a": 1}
        client.close()


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
