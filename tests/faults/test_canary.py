"""Secrets that are easily found, in every field that takes one, while every source fails.

The servers answer with what they were sent, in every part of an answer. Nothing that Headroom
writes, serves, shows or is started with may hold one of the secrets.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from streamlit.testing.v1 import AppTest

from bench.support.certificates import key_pair
from config.load import load
from lake.schemas.tables import TABLES
from lake.storage.store import Lake
from runtime.processes import free_ports
from tests.faults.echoing import Echo, refusing_broker
from tests.http_serving import serving
from tests.support import eventually

CANARY = "CANARYx7Qd"
MAIN = Path(__file__).resolve().parents[2] / "app" / "main.py"
KINDS = ("connect", "rabbitmq", "prometheus", "ditto", "schema_registry")
MODES = ("401", "403", "500", "reason", "header", "text", "odd", "redirect", "cut")
PATIENCE_SECONDS = 120.0

CALLBACKS = f"""
import time

TOKEN = "{CANARY}callback"

def token(config):
    return TOKEN + config, time.time() + 60

def raises(config):
    raise ValueError(TOKEN + config)

def rubbish(config):
    return TOKEN + config + " ", time.time() + 60

def expired(config):
    return TOKEN + config, time.time() - 60
"""
"""Functions that give tokens, or should."""


class _Secrets:
    """Hands out secrets, by turns in the environment and in files with a line's end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment: dict[str, str] = {}
        self.looked_for: set[str] = {CANARY}

    def new(self, username: str | None = None) -> dict[str, str]:
        number = len(self.looked_for)
        secret = f"{CANARY}{number:03d}"
        # Base64 depends on what stands before.
        for text in (secret, f"{username}:{secret}"):
            self.looked_for.add(base64.b64encode(text.encode()).decode().rstrip("=")[:-1])
        if number % 2:
            self.environment[f"SECRET_{number}"] = f" {secret}\n"
            return {"env": f"SECRET_{number}"}
        path = self._folder / f"secret-{number}"
        path.write_text(f"{secret}\r\n", encoding="utf-8")
        return {"file": str(path)}

    def key_store(self) -> dict[str, Any]:
        """Write a key store with a password; return the properties that name them."""
        named = self.new()
        key, certificate = key_pair(self._folder, "store", None)
        password = BestAvailableEncryption(resolved(named, self.environment).encode())
        location = self._folder / "store.p12"
        location.write_bytes(
            pkcs12.serialize_key_and_certificates(b"me", key, certificate, None, password)
        )
        return {"ssl.keystore.location": str(location), "ssl.keystore.password": named}

    def pem(self) -> dict[str, Any]:
        """Write a key; return the properties that hold it, and the certificate."""
        key_pair(self._folder, "text", None)
        path = self._folder / "text.key"
        self.looked_for |= {line for line in path.read_text().splitlines() if "-" not in line}
        certificate = (self._folder / "text.pem").read_text()
        return {"ssl.certificate.pem": certificate, "ssl.key.pem": {"file": str(path)}}

    def keytab(self) -> str:
        """Write what is no table of keys, with a secret in it."""
        path = self._folder / "me.keytab"
        path.write_text(f"{CANARY}keytab", encoding="utf-8")
        return str(path)


def resolved(named: dict[str, str], environment: dict[str, str]) -> str:
    """Return a secret that is named."""
    text = environment[named["env"]] if "env" in named else Path(named["file"]).read_text()
    return text.strip()


def _configuration(
    folder: Path, port: int, broker: int, exporter: int, secrets: _Secrets
) -> dict[str, Any]:
    urls = {mode: f"http://127.0.0.1:{port}/{mode}" for mode in MODES}
    urls["refused"] = f"http://127.0.0.1:{free_ports(1)[0]}"
    urls["tls"] = f"https://127.0.0.1:{port}"
    sources: dict[str, list[dict[str, Any]]] = {}
    for kind in KINDS:
        for number, (mode, url) in enumerate(urls.items()):
            one: dict[str, Any] = {"name": f"{kind}-{mode}", "url": url}
            if number % 2:
                one["token"] = secrets.new()
            else:
                one |= {"username": "me", "password": secrets.new("me")}
            if kind != "rabbitmq":
                one["cluster"] = "plain"
            sources.setdefault(kind, []).append(one)
    plain = {"sasl.username": "me", "sasl.password": secrets.new("me")}
    oauth = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": secrets.new("me"),
        "sasl.oauthbearer.token.endpoint.url": urls["401"],
    }
    kafka = {
        "plain": {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **plain},
        "scram": {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", **plain},
        "oauth": {"security.protocol": "SASL_PLAINTEXT", **oauth},
    }
    of_brokers = {
        **{
            f"repeated-{mechanism}": {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": "me",
                "sasl.password": secrets.new("me"),
            }
            for mechanism in ("PLAIN", "SCRAM-SHA-256")
        },
        "gssapi": {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.principal": "me@EXAMPLE.ORG",
            "sasl.kerberos.keytab": secrets.keytab(),
        },
        "key-store": {"security.protocol": "SSL", **secrets.key_store()},
        "pem": {"security.protocol": "SSL", **secrets.pem()},
    }
    refused = free_ports(1)[0]
    return {
        "clusters": [
            {
                "name": name,
                "bootstrap_servers": f"127.0.0.1:{refused if name == 'plain' else port}",
                "properties": {**properties, "ssl.key.password": secrets.new()},
                "request_timeout_seconds": 1,
            }
            for name, properties in kafka.items()
        ]
        + [
            {
                "name": name,
                "bootstrap_servers": f"127.0.0.1:{broker}",
                "properties": properties,
                "request_timeout_seconds": 1,
            }
            for name, properties in of_brokers.items()
        ]
        + [
            {
                "name": f"callback-{function}",
                "bootstrap_servers": f"127.0.0.1:{broker}",
                "properties": {
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.config": secrets.new(),
                },
                "oauth_callback": f"canary_tokens:{function}",
                "request_timeout_seconds": 1,
            }
            for function in ("token", "raises", "rubbish", "expired")
        ],
        **sources,
        "lake": {
            "uri": str(folder / "lake"),
            "storage_options": {"aws_secret_access_key": secrets.new()},
        },
        "collectors": {"poll_interval_seconds": 3, "exporter": {"port": exporter}},
        "alerting": {
            "state": str(folder / "alerts.sqlite"),
            "targets": [
                {"name": "hook", "kind": "webhook", "url": urls["500"], "secret": secrets.new()},
                {"name": "am", "kind": "alertmanager", "url": urls["401"], "token": secrets.new()},
                {"name": "chat", "kind": "apprise", "address": secrets.new()},
            ],
        },
    }


class _World:
    """A configuration full of secrets, and everything that was written because of it."""

    def __init__(self, folder: Path, port: int, broker: int, logins: list[bytes]) -> None:
        self.folder = folder
        self.logins = logins
        (folder / "canary_tokens.py").write_text(CALLBACKS, encoding="utf-8")
        self.exporter = free_ports(1)[0]
        self.secrets = _Secrets(folder)
        self.config = folder / "headroom.yaml"
        content = _configuration(folder, port, broker, self.exporter, self.secrets)
        self.config.write_text(yaml.safe_dump(content), encoding="utf-8")
        path = {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        self._environment = {**os.environ, **path, **self.secrets.environment}

    def start(self, *command: str, config: Path | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", *command, "--config", str(config or self.config)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def output(self, *command: str, config: Path | None = None) -> str:
        child = self.start(*command, config=config)
        said, _ = child.communicate(timeout=PATIENCE_SECONDS)
        return said.decode()

    def clean(self, what: str, text: str) -> None:
        for secret in self.secrets.looked_for:
            at = text.find(secret)
            assert at < 0, f"{what}: {text[max(0, at - 200) : at + 40]}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    echo = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    with serving(echo) as port, refusing_broker() as (broker, logins):
        yield _World(tmp_path_factory.mktemp("canary"), port, broker, logins)


def test_a_sample_to_every_target_prints_no_secret(world: _World) -> None:
    said = world.output("alerting", "test-notify")
    assert "hook" in said
    world.clean("test-notify", said)


@pytest.mark.parametrize(
    "properties",
    [
        {"ssl.keystore.location": "SECRET", "ssl.keystore.password": {"file": "PASSWORD"}},
        {"ssl.certificate.pem": "public", "ssl.key.pem": {"file": "SECRET"}},
        {"ssl.certificate.location": "SECRET", "ssl.key.password": {"file": "PASSWORD"}},
    ],
)
def test_what_cannot_be_read_as_a_key_is_not_printed(
    world: _World, properties: dict[str, Any], tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"-----BEGIN PRIVATE KEY-----\n{CANARY}key\n-----END PRIVATE KEY-----\n")
    password = tmp_path / "password"
    password.write_text(f"{CANARY}password")
    text = json.dumps(properties).replace("SECRET", str(secret)).replace("PASSWORD", str(password))
    cluster = {
        "name": "odd",
        "bootstrap_servers": "127.0.0.1:1",
        "properties": {"security.protocol": "SSL", **json.loads(text)},
    }
    config = tmp_path / "headroom.yaml"
    config.write_text(yaml.safe_dump({"clusters": [cluster], "lake": {"uri": "lake"}}))
    said = world.output("collectors", "check", config=config)
    assert "cannot be used" in re.sub(r"\s+", " ", said)
    world.clean("check", said)


@pytest.mark.parametrize("option", [(), ("--json",)])
@pytest.mark.parametrize("name", ["check", "once"])
def test_commands_print_no_secret(world: _World, name: str, option: tuple[str, ...]) -> None:
    said = world.output("collectors", name, *option)
    squeezed = re.sub(r"\s", "", said)
    for kind in KINDS:
        assert f"{kind}/{kind}-refused" in squeezed, "it was asked"
    if option:
        for words in ("(OAUTHBEARER)", "raised ValueError at line", "returned no token", "expired"):
            assert words in said, "the callback was asked"
    sent = b"\n".join(world.logins)
    assert f"\0me\0{CANARY}".encode() in sent and b"c=biws,r=" in sent, "PLAIN and SCRAM logged in"
    world.clean(name, said)


def test_the_service_writes_serves_and_shows_no_secret(
    world: _World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, secret in world.secrets.environment.items():
        monkeypatch.setenv(name, secret)
    with _running(world, "collectors"):
        metrics = _when_polled(world)
        with _running(world, "alerting"):
            evaluated = world.folder / "lake" / "current"
            eventually(lambda: list(evaluated.rglob("*.parquet")), timeout_seconds=PATIENCE_SECONDS)
            commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    world.clean("/metrics", metrics)
    world.clean("command lines", b"\n".join(commands).decode("utf-8", "replace"))
    for file in (world.folder / "lake").rglob("*"):
        if file.suffix == ".parquet":
            world.clean(str(file), json.dumps(pl.read_parquet(file).to_dicts(), default=str))
        elif file.is_file():
            world.clean(str(file), file.read_text("utf-8", "replace"))
    for file in world.folder.glob("alerts.sqlite*"):
        world.clean(str(file), file.read_bytes().decode("utf-8", "replace"))
    monkeypatch.setenv("HEADROOM_CONFIG", str(world.config))
    page = AppTest.from_file(str(MAIN), default_timeout=180).run()
    for view in sorted(MAIN.parent.glob("views/*/page.py")):
        page.switch_page(str(view.relative_to(MAIN.parent))).run()
        shown = "\n".join(
            [*(str(element.value) for element in page.main if hasattr(element, "value")), str(page)]
        )
        assert view.parent.name != "health" or "connect" in shown
        world.clean(f"page {view.parent.name}", shown)


@contextmanager
def _running(world: _World, service: str) -> Iterator[None]:
    """Run a service, and look at its log in the end."""
    child = world.start(service, "run")
    said: list[bytes] = []
    assert child.stdout is not None
    reader = threading.Thread(target=lambda: said.extend(child.stdout or ()), daemon=True)
    reader.start()
    try:
        yield
    finally:
        child.terminate()
        child.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
    world.clean(f"log of {service}", b"".join(said).decode())


def _when_polled(world: _World) -> str:
    """Return what /metrics says once every source was polled and written down."""
    lake = Lake(load(world.config).lake)

    def is_done() -> bool:
        rows = lake.read(TABLES["collections"])
        failed = rows.filter(pl.col("status") != "ok")["source"].n_unique()
        return failed > len(KINDS) * len(MODES)

    eventually(is_done, timeout_seconds=PATIENCE_SECONDS)
    connection = http.client.HTTPConnection("127.0.0.1", world.exporter, timeout=60)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()
