"""Tokens from a server behind TLS, whose authority is named in each of librdkafka's ways."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.support.certificates import HOST, key_pair
from collectors.errors import SecurityError
from collectors.kafka.protocol.properties import connection_settings
from collectors.kafka.protocol.sasl.oidc import ask_server
from collectors.kafka.protocol.sasl.settings import OAuth
from collectors.kafka.protocol.sasl.token import Token
from tests.http_serving import serving

FILE = "server.pem"


class Issuer(BaseHTTPRequestHandler):
    """Gives everybody the same token."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"access_token": "token", "expires_in": 60}')

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("issuer")
    key_pair(made, "server", None)
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / FILE, folder / "server.key")
    server = ThreadingHTTPServer((HOST, 0), Issuer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as port:
        yield f"https://{HOST}:{port}"


def understood(url: str, **properties: str) -> OAuth:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    found = connection_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": url,
            "sasl.oauthbearer.client.credentials.client.id": "headroom",
            "sasl.oauthbearer.client.credentials.client.secret": "secret",
            **named,
        }
    )
    assert found.sasl is not None
    assert isinstance(found.sasl.oauth, OAuth)
    return found.sasl.oauth


def test_an_authority_in_a_file_or_as_text(url: str, folder: Path) -> None:
    given = Token(text="token", life_seconds=60.0)
    assert ask_server(understood(url, https_ca_location=str(folder / FILE)), 5.0) == given
    assert ask_server(understood(url, https_ca_pem=(folder / FILE).read_text()), 5.0) == given


@pytest.mark.parametrize("authority", ["", "/absent.pem"])
def test_an_authority_that_is_not_known_or_not_there(url: str, authority: str) -> None:
    with pytest.raises(SecurityError, match=r"token\.endpoint\.url: no token"):
        ask_server(understood(url, https_ca_location=authority), 5.0)
