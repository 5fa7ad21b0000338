"""OAUTHBEARER against a real broker, with tokens and keys from a server of the test's own."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pydantic import SecretStr

from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from runtime.processes import free_ports
from tests.kafka.collecting import Poll, Poller, polling
from tests.support import Names, eventually

HOST = "127.0.0.1"
AUDIENCE = "kafka"
CLIENT, SECRET = "headroom", "a-secret-of-the-client"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"

CALLBACK = """
import base64, json, os, threading
import httpx

go_on = threading.Event()

def token(config):
    login = tuple(os.environ["TEST_TOKEN_LOGIN"].split(":"))
    form = {"grant_type": "client_credentials", "scope": "metrics"}
    answer = httpx.post(os.environ["TEST_TOKEN_URL"], data=form, auth=login).raise_for_status()
    given = answer.json()["access_token"]
    claims = json.loads(base64.urlsafe_b64decode(given.split(".")[1] + "=="))
    return given, claims["exp"]

def hang(config):
    go_on.wait(60)
    return token(config)
"""


class Issuer:
    """An OpenID Connect provider: a token endpoint and the keys that verify its tokens.

    Attributes:
        life_seconds: How long new tokens are valid.
        audience: What new tokens are for.
        answer: A status and a body instead of a token; None: tokens.
        given: How many tokens were given out.
    """

    def __init__(self) -> None:
        self.life_seconds = 3600.0
        self.audience = AUDIENCE
        self.answer: tuple[int, bytes] | None = None
        self.given = 0
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, issuer.keys())

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                form = parse_qs(self.rfile.read(size).decode())
                self._answer(*issuer.token(form, self.headers.get("Authorization", "")))

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()
        self.url = f"http://{HOST}:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def keys(self) -> bytes:
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "kid": "1",
            "use": "sig",
            "alg": "RS256",
            "n": encoded(numbers.n.to_bytes(256, "big")),
            "e": encoded(numbers.e.to_bytes(3, "big")),
        }
        return json.dumps({"keys": [key]}).encode()

    def token(self, form: dict[str, list[str]], authorization: str) -> tuple[int, bytes]:
        if self.answer is not None:
            return self.answer
        login = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {login}" or form.get("grant_type") != ["client_credentials"]:
            return 401, b'{"error": "invalid_client"}'
        self.given += 1
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": CLIENT,
            "aud": self.audience,
            "iat": now,
            "exp": now + int(self.life_seconds),
            "scope": " ".join(form.get("scope", [])),
        }
        head = {"alg": "RS256", "kid": "1", "typ": "JWT"}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        token = f"{signed}.{encoded(signature)}"
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.life_seconds}
        return 200, json.dumps(answer).encode()


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def provider() -> Iterator[Issuer]:
    made = Issuer()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def issuer(provider: Issuer) -> Iterator[Issuer]:
    yield provider
    provider.life_seconds, provider.audience, provider.answer = 3600.0, AUDIENCE, None


@pytest.fixture(scope="module")
def servers(
    kafka_java: Java, provider: Issuer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The OAUTHBEARER listener of a broker with a topic and a group."""
    folder: Path = tmp_path_factory.mktemp("oauth")
    client, controller, tokens = free_ports(3, HOST)
    listeners = [f"PLAINTEXT://{HOST}:{client}", f"TOKENS://{HOST}:{tokens}"]
    mechanism = "listener.name.tokens.oauthbearer"
    cluster = KafkaCluster(
        folder / "cluster",
        brokers=1,
        heap_mb=96,
        java=kafka_java,
        ports=[client],
        properties={
            "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{controller}"]),
            "advertised.listeners": ",".join(listeners),
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "TOKENS:SASL_PLAINTEXT",
            "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.tokens.connections.max.reauth.ms": "3600000",
            f"{mechanism}.sasl.jaas.config": LOGIN,
            f"{mechanism}.sasl.server.callback.handler.class": HANDLER,
            f"{mechanism}.sasl.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
            f"{mechanism}.sasl.oauthbearer.expected.audience": AUDIENCE,
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        # A broker asks no URL for keys that its operator has not allowed.
        allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"
        patch.setenv("JAVA_TOOL_OPTIONS", f"{allowed}={provider.url}/keys")
        cluster.start()
    try:
        names = Names(cluster)
        topic = names.topic("orders", partitions=1)
        names.produce(topic, 10)
        names.commit("billing", topic, {0: 4})
        yield f"{HOST}:{tokens}"
    finally:
        cluster.close(keep=False)


def properties(issuer: Issuer, **changes: str) -> dict[str, Any]:
    values = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": f"{issuer.url}/token",
        "sasl.oauthbearer.client.id": CLIENT,
        "sasl.oauthbearer.client.secret": SecretStr(SECRET),
        "sasl.oauthbearer.scope": "metrics",
    }
    return {**values, **changes}


def lag(poll: Poll) -> list[int | None]:
    return poll.table("group_offsets")["lag"].to_list()


def whole(poller: Poller) -> Poll:
    """Return the first poll without errors."""
    polls: list[Poll] = []

    def is_whole() -> bool:
        polls.append(poller.poll())
        return polls[-1].errors == {}

    eventually(is_whole, what=lambda: f"poll without errors: {polls[-1].errors}")
    return polls[-1]


def errors(poller: Poller) -> set[str]:
    poll = poller.poll()
    assert {result.status for result in poll.results.values()} == {"failed"}
    return {result.error or "" for result in poll.results.values()}


def test_with_a_token(servers: str, issuer: Issuer) -> None:
    with polling(servers, properties=properties(issuer)) as poller:
        # With the first token the broker fetches the keys, which may take longer than a poll.
        assert lag(whole(poller)) == [6]
        assert issuer.given > 0

        def no_new_token() -> bool:
            given = issuer.given
            poller.poll()
            return issuer.given == given

        # Connections stay, and so do their tokens; those that ran out of time begin once more.
        eventually(no_new_token, what="a poll with the tokens of the one before")


@pytest.fixture
def callback(issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module with a function ``token`` that asks the provider."""
    module = tmp_path / f"tokens_of_{tmp_path.name}.py"
    module.write_text(CALLBACK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TEST_TOKEN_URL", f"{issuer.url}/token")
    monkeypatch.setenv("TEST_TOKEN_LOGIN", f"{CLIENT}:{SECRET}")
    yield module
    sys.modules.pop(module.stem, None)


def by_callback(callback: Path, function: str = "token") -> dict[str, Any]:
    return {
        "properties": {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"},
        "oauth_callback": f"{callback.stem}:{function}",
    }


def test_with_the_token_of_a_callback(servers: str, issuer: Issuer, callback: Path) -> None:
    given = issuer.given
    with polling(servers, **by_callback(callback)) as poller:
        assert lag(whole(poller)) == [6]

        def follows_the_commits() -> bool:
            assert poller.poll().errors == {}
            return issuer.given == given + 2

        # One for the polls, one for the connections that read the log of commits.
        eventually(follows_the_commits, what="two tokens")


def test_a_callback_is_called_again_before_its_token_ends(
    servers: str, issuer: Issuer, callback: Path
) -> None:
    """The broker limits the session to the token's life; nothing is noticed in between."""
    issuer.life_seconds = 4.0
    with polling(servers, commit_log=False, **by_callback(callback)) as poller:
        assert poller.poll().errors == {}
        given = issuer.given

        def renewed_twice() -> bool:
            assert poller.poll().errors == {}
            return issuer.given >= given + 2

        eventually(renewed_twice, timeout_seconds=20, what="two more tokens")


def test_a_callback_that_fails_is_one_clear_line_and_recovers(
    servers: str, issuer: Issuer, callback: Path
) -> None:
    issuer.answer = (500, b"down")
    with polling(servers, commit_log=False, **by_callback(callback)) as poller:
        (error,) = errors(poller)
        assert error.startswith(f"oauth_callback: {callback.stem}:token raised HTTPStatusError at ")
        assert error.endswith(f" of {callback.name}")
        issuer.answer = None
        poll = poller.poll()
        assert poll.errors == {}
        assert lag(poll) == [6]


def test_a_token_of_a_callback_that_the_broker_refuses(
    servers: str, issuer: Issuer, callback: Path
) -> None:
    issuer.audience = "another"
    with polling(servers, commit_log=False, **by_callback(callback)) as poller:
        (error,) = errors(poller)
        assert "authentication failed (OAUTHBEARER); check the token" in error
        issuer.audience = AUDIENCE
        poll = poller.poll()
        assert poll.errors == {}
        assert lag(poll) == [6]


def test_a_callback_that_hangs_is_named(servers: str, callback: Path) -> None:
    with polling(servers, commit_log=False, **by_callback(callback, "hang")) as poller:
        (error,) = errors(poller)
        assert error.endswith(f"oauth_callback: {callback.stem}:hang has given no token yet")
        sys.modules[callback.stem].go_on.set()
        assert lag(whole(poller)) == [6]


def test_a_new_token_before_the_old_one_ends(servers: str, issuer: Issuer) -> None:
    """The broker limits the session to the token's life; nothing is noticed in between."""
    issuer.life_seconds = 4.0
    with polling(servers, properties=properties(issuer)) as poller:
        assert poller.poll().errors == {}
        given = issuer.given

        def renewed() -> bool:
            assert poller.poll().errors == {}
            return issuer.given > given

        eventually(renewed, timeout_seconds=20, what="new token")


@pytest.mark.parametrize(
    ("changes", "answer", "audience", "words"),
    [
        pytest.param(
            {"sasl.oauthbearer.client.secret": SecretStr("wrong")},
            None,
            AUDIENCE,
            ["token.endpoint.url", "401", "sasl.oauthbearer.client.id"],
            id="wrong secret",
        ),
        pytest.param(
            {"sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token"},
            None,
            AUDIENCE,
            ["token.endpoint.url", "no token"],
            id="no token server",
        ),
        pytest.param({}, (500, b"down"), AUDIENCE, ["token.endpoint.url", "500"], id="500"),
        pytest.param({}, (200, b"<html>"), AUDIENCE, ["endpoint.url", "not JSON"], id="garbage"),
        pytest.param({}, (200, b'{"token": 1}'), AUDIENCE, ["no access_token"], id="no token"),
        pytest.param(
            {}, None, "another", ["authentication failed", "the token"], id="another audience"
        ),
    ],
)
def test_a_refusal_is_one_clear_line_and_recovery_needs_no_restart(
    servers: str,
    issuer: Issuer,
    changes: dict[str, Any],
    answer: tuple[int, bytes] | None,
    audience: str,
    words: list[str],
) -> None:
    issuer.answer, issuer.audience = answer, audience
    with polling(servers, properties=properties(issuer, **changes)) as poller:
        (error,) = errors(poller)
        assert all(word in error for word in words), error
        assert "\n" not in error
        assert SECRET not in error
        issuer.answer, issuer.audience = None, AUDIENCE
        if not changes:
            poll = poller.poll()
            assert poll.errors == {}
            assert lag(poll) == [6]
