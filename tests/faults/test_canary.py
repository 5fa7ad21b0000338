"""Secrets that are easily found, in every field that takes one, while every source fails.

The servers answer with what they were sent, in every part of an answer. Nothing that Headroom
writes, serves, shows or is started with may hold one of the secrets.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import re
import socket
import socketserver
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest
import yaml
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from streamlit.testing.v1 import AppTest

from config.load import load
from lake.schemas.tables import TABLES
from lake.storage.store import Lake
from runtime.processes import free_ports
from tests.http_serving import serving
from tests.support import eventually

CANARY = "CANARYx7Qd"
MAIN = Path(__file__).resolve().parents[2] / "app" / "main.py"
KINDS = ("connect", "rabbitmq", "prometheus", "ditto", "schema_registry")
MODES = ("401", "403", "500", "reason", "header", "text", "odd", "redirect", "cut")
PATIENCE_SECONDS = 120.0

HANDSHAKE, AUTHENTICATE = 17, 36
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


class _Echo(BaseHTTPRequestHandler):
    """Answers with the credentials that it was sent, wherever a client may look."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        sent = self.headers.get("authorization", "")
        secret = sent.partition(" ")[2]
        if sent.lower().startswith("basic "):
            secret += " " + base64.b64decode(secret).decode()
        mode = urlsplit(self.path).path.split("/")[1]
        said = f"you sent {sent} that is {secret}"
        if mode == "reason":
            self.wfile.write(f"HTTP/1.1 500 {said}\r\ncontent-length: 0\r\n\r\n".encode())
        elif mode == "header":
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{said}\r\nx\x00y {said}\r\n\r\n".encode())
        elif mode == "cut":
            self.wfile.write(f"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{said}".encode())
        elif mode == "odd":
            entry = {"name": said, "id": said, "status": said, "error": said, secret: said}
            self._say(200, json.dumps([entry, said]).encode())
        else:
            status = {"text": 200, "redirect": 302}.get(mode) or int(mode)
            self._say(status, said.encode())
        self.close_connection = True

    do_POST = do_GET

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("location", f"/{body.decode()[:200]}")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _refuse(connection: socket.socket) -> None:
    """Answer as a broker that refuses each token and repeats it."""
    stream = connection.makefile("rb")
    while head := stream.read(4):
        body = stream.read(struct.unpack(">i", head)[0])
        header = RequestHeader.decode(io.BytesIO(body), flexible=False)
        response: Any
        if header.request_api_key == HANDSHAKE:
            response = SaslHandshakeResponse(error_code=0, mechanisms=["OAUTHBEARER"])
        elif header.request_api_key == AUTHENTICATE:
            said = f"refused: {body.decode('latin-1')}"
            response = SaslAuthenticateResponse(
                error_code=58, error_message=said, auth_bytes=said.encode()
            )
        else:
            known = {18: 3, HANDSHAKE: 1, AUTHENTICATE: 0}
            response = ApiVersionsResponse(
                error_code=0,
                api_keys=[
                    ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=version)
                    for key, version in known.items()
                ],
                throttle_time_ms=0,
                version=header.request_api_version,
            )
        response.API_VERSION = header.request_api_version
        response.with_header(correlation_id=header.correlation_id)
        connection.sendall(response.encode(header=True, framed=True))


@contextmanager
def _refusing_broker() -> Iterator[int]:
    """Run a broker that refuses each token and repeats it; give its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                _refuse(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(5)


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

    def __init__(self, folder: Path, port: int, broker: int) -> None:
        self.folder = folder
        (folder / "canary_tokens.py").write_text(CALLBACKS, encoding="utf-8")
        self.exporter = free_ports(1)[0]
        self.secrets = _Secrets(folder)
        self.config = folder / "headroom.yaml"
        content = _configuration(folder, port, broker, self.exporter, self.secrets)
        self.config.write_text(yaml.safe_dump(content), encoding="utf-8")
        path = {"PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        self._environment = {**os.environ, **path, **self.secrets.environment}

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", *command, "--config", str(self.config)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def output(self, *command: str) -> str:
        child = self.start(*command)
        said, _ = child.communicate(timeout=PATIENCE_SECONDS)
        return said.decode()

    def clean(self, what: str, text: str) -> None:
        for secret in self.secrets.looked_for:
            at = text.find(secret)
            assert at < 0, f"{what}: {text[max(0, at - 200) : at + 40]}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    echo = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    with serving(echo) as port, _refusing_broker() as broker:
        yield _World(tmp_path_factory.mktemp("canary"), port, broker)


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
    world.clean(name, said)


def test_the_service_writes_serves_and_shows_no_secret(
    world: _World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, secret in world.secrets.environment.items():
        monkeypatch.setenv(name, secret)
    child = world.start("collectors", "run")
    said: list[bytes] = []
    assert child.stdout is not None
    reader = threading.Thread(target=lambda: said.extend(child.stdout or ()), daemon=True)
    reader.start()
    try:
        metrics = _when_polled(world)
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    finally:
        child.terminate()
        child.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
    world.clean("log", b"".join(said).decode())
    world.clean("/metrics", metrics)
    world.clean("command lines", b"\n".join(commands).decode("utf-8", "replace"))
    for file in (world.folder / "lake").rglob("*"):
        if file.suffix == ".parquet":
            world.clean(str(file), json.dumps(pl.read_parquet(file).to_dicts(), default=str))
        elif file.is_file():
            world.clean(str(file), file.read_text("utf-8", "replace"))
    monkeypatch.setenv("HEADROOM_CONFIG", str(world.config))
    page = AppTest.from_file(str(MAIN), default_timeout=180).run()
    page.switch_page("views/health/page.py").run()
    shown = "\n".join(
        [*(str(element.value) for element in page.main if hasattr(element, "value")), str(page)]
    )
    assert "connect" in shown
    world.clean("page", shown)


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
