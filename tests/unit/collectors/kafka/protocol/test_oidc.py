"""Tokens from servers that are well, ill or odd, behind each authority that may be named."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

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
    """Gives everybody what ``answer`` says, in pieces of a second where it trickles."""

    answer = b'{"access_token": "token", "expires_in": 60}'
    statuses: ClassVar[list[int]] = []
    trickles = False

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.statuses.pop(0) if self.statuses else 200)
        self.end_headers()
        for _ in range(20 if self.trickles else 0):
            self.wfile.write(b" ")
            time.sleep(0.2)
        self.wfile.write(self.answer)

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


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuth]:
    for name in ("answer", "statuses", "trickles"):
        monkeypatch.setattr(Issuer, name, getattr(Issuer, name))
    with serving(ThreadingHTTPServer((HOST, 0), Issuer)) as port:
        yield understood(f"http://{HOST}:{port}/oauth2/token?tenant=shop")


@pytest.mark.parametrize(
    "text", ["null", '""', '"two words"', '"half\\nother"', "5", "{}", "[]", '"\\u0000"']
)
def test_what_is_no_token_is_taken_for_none(issuer: OAuth, text: str) -> None:
    Issuer.answer = b'{"access_token": %s, "expires_in": 60}' % text.encode()
    with pytest.raises(SecurityError, match=r"endpoint\.url: its answer has no access_token"):
        ask_server(issuer, 5.0)


@pytest.mark.parametrize("life", ["1e400", "NaN", "-1", '"soon"', "true", "{}", "9" * 400])
def test_a_life_that_is_no_number_of_seconds_is_refused(issuer: OAuth, life: str) -> None:
    Issuer.answer = b'{"access_token": "token", "expires_in": %s}' % life.encode()
    with pytest.raises(SecurityError, match="expires_in that is no number of seconds"):
        ask_server(issuer, 5.0)


@pytest.mark.parametrize(
    ("more", "seconds"), [("", 0.0), (', "expires_in": null', 0.0), (', "expires_in": "60"', 60.0)]
)
def test_a_life_that_nobody_says_or_that_is_a_text(
    issuer: OAuth, more: str, seconds: float
) -> None:
    Issuer.answer = b'{"access_token": "token"%s}' % more.encode()
    assert ask_server(issuer, 5.0).life_seconds == seconds


def test_a_server_that_trickles_costs_the_time_that_there_is(issuer: OAuth) -> None:
    Issuer.trickles = True
    start = time.monotonic()
    with pytest.raises(SecurityError, match="not done in time"):
        ask_server(issuer, 0.5)
    assert time.monotonic() - start < 2.0


def test_an_answer_without_end_is_not_kept(issuer: OAuth) -> None:
    Issuer.answer = b" " * 2**21
    with pytest.raises(SecurityError, match="answered more than 1 MB"):
        ask_server(issuer, 5.0)


def test_a_server_that_is_busy_is_asked_again(issuer: OAuth) -> None:
    Issuer.statuses = [503, 429]
    assert ask_server(issuer, 5.0).text == "token"


def test_a_refusal_names_what_to_check(issuer: OAuth) -> None:
    Issuer.statuses = [401]
    with pytest.raises(SecurityError, match=r"answered 401; check sasl\.oauthbearer\.client\.id"):
        ask_server(issuer, 5.0)
